"""`lightwave clock`: the twin's simulated time and speed."""

from typing import Any

import click

from ops.cli.groups import Group
from ops.cli.output import output_option, rendered, show, watch_option, watched
from ops.cli.words import Speed
from ops.common.client import Client
from ops.common.tables import columns
from ops.common.times import moment, span

FIELDS = ("now_us", "speed", "paused", "achieved_speed", "lag_us")


@click.group(cls=Group)
def clock() -> None:
    """Look at the simulated clock, stop it, change its speed."""


@clock.command(name="show")
@output_option
@watch_option
def show_clock(output: str, watch: bool) -> None:
    """Show simulated time and speed."""
    client = Client()

    def look() -> str:
        content = client.thing("/v1/clock", *FIELDS)
        with client.reading():
            return rendered(content, output, lambda: _table(content))

    watched(look, watch)


@clock.command()
@output_option
def pause(output: str) -> None:
    """Let simulated time stand still."""
    client = Client()
    _changed(client, client.post("/v1/clock/pause", *FIELDS), output)


@clock.command()
@output_option
def resume(output: str) -> None:
    """Let simulated time go on."""
    client = Client()
    _changed(client, client.post("/v1/clock/resume", *FIELDS), output)


# Every word is an argument here, so that -5 is a wrong speed and not an unknown option.
@clock.command(context_settings={"ignore_unknown_options": True})
@click.argument("times", type=Speed(), metavar="X")
@output_option
def speed(times: float, output: str) -> None:
    """Run X times as fast as wall time."""
    client = Client()
    _changed(client, client.put("/v1/clock/speed", {"speed": times}, *FIELDS), output)


def _changed(client: Client, content: dict[str, Any], output: str) -> None:
    with client.reading():
        show(content, output, lambda: _table(content))


def _table(content: dict[str, Any]) -> str:
    held = content["achieved_speed"]
    row = [
        moment(content["now_us"]),
        f"× {content['speed']:g}",
        content["paused"],
        f"× {held:.0f}" if held >= 10 else f"× {held:.2f}",
        span(content["lag_us"]),
    ]
    return columns(("TIME", "SPEED", "PAUSED", "HELD", "BEHIND"), [row])
