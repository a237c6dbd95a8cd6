"""`lightwave clock`: the twin's simulated time and speed."""

import time
from functools import partial
from typing import Annotated, Any

import typer

from ops.cli.groups import application
from ops.cli.options import Output, Watch
from ops.cli.output import Form, rendered, show, watched
from ops.cli.progress import Progress
from ops.cli.types import Duration, MomentAhead, Speed
from ops.common.client import Client
from ops.common.tables import columns
from shared.basics.errors import Interrupted
from shared.basics.times import moment, span
from shared.basics.units import US_PER_S

FIELDS = ("now_us", "speed", "paused", "achieved_speed", "lag_us", "until_us")
LOOK_S = 0.2
FREE = 1.05
"""So much faster than it was told no twin goes that keeps to a speed."""

app = application("clock")


@app.callback()
def clock() -> None:
    """Look at the simulated clock, stop it, change its speed, let it run to a moment."""


@app.command("show")
def show_clock(output: Output = "table", watch: Watch = False) -> None:
    """Show simulated time and speed."""
    client = Client()

    def look() -> str:
        content = client.thing("/v1/clock", *FIELDS)
        with client.reading():
            return rendered(content, output, lambda: _table(content))

    watched(look, watch)


@app.command()
def pause(output: Output = "table") -> None:
    """Let simulated time stand still."""
    client = Client()
    _changed(client, client.post("/v1/clock/pause", *FIELDS), output)


@app.command()
def resume(output: Output = "table") -> None:
    """Let simulated time go on."""
    client = Client()
    _changed(client, client.post("/v1/clock/resume", *FIELDS), output)


# Every word is an argument here, so that -5 is a wrong speed and not an unknown option.
@app.command(context_settings={"ignore_unknown_options": True})
def speed(
    times: Annotated[float, typer.Argument(click_type=Speed(), metavar="X", help="simulated over wall time")],
    output: Output = "table",
) -> None:
    """Run X times as fast as wall time."""
    client = Client()
    _changed(client, client.put("/v1/clock/speed", {"speed": times}, *FIELDS), output)


RunSpeed = Annotated[
    float | None,
    typer.Option(click_type=Speed(), metavar="X", help="times wall time [default: as fast as it can]"),
]
Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="until the moment has come")]


@app.command()
def advance(
    by: Annotated[
        int,
        typer.Argument(click_type=Duration(), metavar="DURATION", help="simulated time from now, such as 2h"),
    ],
    speed: RunSpeed = None,
    wait: Wait = True,
    output: Output = "table",
) -> None:
    """Let time run so much further, and stand still there."""
    _run({"for_s": by}, speed, wait, output)


@app.command()
def until(
    at: Annotated[
        int,
        typer.Argument(
            click_type=MomentAhead(),
            metavar="MOMENT",
            help="simulated time since the twin's beginning, such as 3d or 3d02:15:04",
        ),
    ],
    speed: RunSpeed = None,
    wait: Wait = True,
    output: Output = "table",
) -> None:
    """Let time run to a moment, and stand still there."""
    _run({"until_us": at}, speed, wait, output)


def _run(asked: dict[str, object], speed: float | None, wait: bool, output: Form) -> None:
    """The twin has the moment: whoever asked may go away meanwhile."""
    client = Client()
    content = client.put("/v1/clock/run", {**asked, "speed": speed}, *FIELDS)
    with client.reading():
        wanted_us = content["until_us"]
        began_us = content["now_us"]
        try:
            with Progress(
                partial(_come, began_us, wanted_us), (wanted_us or began_us) - began_us
            ) as progress:
                while wait and content["until_us"] is not None and content["until_us"] == wanted_us:
                    progress.tell(content["now_us"] - began_us)
                    time.sleep(LOOK_S)
                    content = client.thing("/v1/clock", *FIELDS)
        except KeyboardInterrupt:
            told = f"the twin goes on to {moment(wanted_us)}; `lightwave clock pause` stops it"
            raise Interrupted(told) from None
    _changed(client, content, output)


def _come(began_us: int, wanted_us: int, done_us: float, pace: float) -> str:
    """Where simulated time is on its way, and how fast it goes."""
    return f"{moment(began_us + round(done_us))} of {moment(wanted_us)}, × {pace / US_PER_S:,.0f}"


def _changed(client: Client, content: dict[str, Any], output: Form) -> None:
    with client.reading():
        show(content, output, lambda: _table(content))


def _table(content: dict[str, Any]) -> str:
    """A twin that runs to a moment may go as fast as it can, which is its speed then; one that stands has
    none that it could hold."""
    held = content["achieved_speed"]
    is_free = content["until_us"] is not None and held > FREE * content["speed"]
    row = [
        moment(content["now_us"]),
        "as it can" if is_free else f"× {content['speed']:g}",
        content["paused"],
        None if content["paused"] else f"× {held:.0f}" if held >= 10 else f"× {held:.2f}",
        span(content["lag_us"]),
        moment(content["until_us"]),
    ]
    return columns(("TIME", "SPEED", "PAUSED", "SPEED-HELD", "BEHIND-CLOCK", "UNTIL"), [row])
