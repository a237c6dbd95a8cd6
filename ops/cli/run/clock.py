"""`lightwave clock`: shows and changes simulated time and speed."""

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from ops.cli.common.command_groups import RequestCommand, TimedRequestCommand, command_app, examples
from ops.cli.common.options import OutputOption, Watch
from ops.cli.common.output import Form, render, show, watch_loop
from ops.cli.common.param_types import DurationParam, SpeedParam, TimeAheadParam
from ops.cli.common.progress import ProgressLine
from ops.client.answers import CLOCK, ApiPath
from ops.client.http_client import Client, RequestFailed
from ops.client.waiting import WaitTerms, missed_time_text, wait_until
from ops.report.tables import text_table
from shared.basics.errors import Interrupted
from shared.basics.time_format import format_duration, format_time
from shared.basics.time_grammar import TimeAhead
from shared.basics.units import US_PER_S

if TYPE_CHECKING:
    from schemas.api.rows import ClockReport

FIELDS = ("now_us", "speed", "paused", "achieved_speed", "lag_us", "until_us")
PAUSE: "ApiPath[ClockReport]" = ApiPath("/v1/clock/pause")
RESUME: "ApiPath[ClockReport]" = ApiPath("/v1/clock/resume")
SPEED: "ApiPath[ClockReport]" = ApiPath("/v1/clock/speed")
RUN: "ApiPath[ClockReport]" = ApiPath("/v1/clock/run")
POLL_S = 0.2
UNLIMITED_RATIO = 1.05
"""Maximum ratio of a twin's actual speed to a finite speed setting."""

app = command_app("clock")


@app.callback()
def clock() -> None:
    """Show or change simulated time and its speed."""


@app.command("show", epilog=examples("clock show", "clock show --watch"))
def show_clock(output: OutputOption = "table", watch: Watch = False) -> None:
    """Show simulated time and speed."""
    client = Client()

    def look() -> str:
        content = client.resource(CLOCK, *FIELDS)
        with client.reading():
            return render(content, output, lambda: _table(content))

    watch_loop(look, watch)


@app.command(cls=RequestCommand, epilog=examples("clock pause", "clock pause -o json"))
def pause(output: OutputOption = "table") -> None:
    """Pause simulated time."""
    client = Client()
    _show_clock(client, client.post(PAUSE, *FIELDS), output)


@app.command(cls=RequestCommand, epilog=examples("clock resume", "clock resume -o json"))
def resume(output: OutputOption = "table") -> None:
    """Resume simulated time."""
    client = Client()
    _show_clock(client, client.post(RESUME, *FIELDS), output)


# Every word is an argument here, so that -5 is a wrong speed and not an unknown option.
@app.command(
    cls=RequestCommand,
    context_settings={"ignore_unknown_options": True},
    epilog=examples("clock speed 600", "clock speed 1"),
)
def speed(
    times: Annotated[
        float, typer.Argument(click_type=SpeedParam(), metavar="X", help="simulated time over wall time")
    ],
    output: OutputOption = "table",
) -> None:
    """Set the speed to X times wall time."""
    client = Client()
    _show_clock(client, client.put(SPEED, {"speed": times}, *FIELDS), output)


RunSpeed = Annotated[
    float | None,
    typer.Option(
        click_type=SpeedParam(),
        metavar="X",
        help="simulated time over wall time [default: as fast as possible]",
    ),
]
Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="wait until the time is reached")]


@app.command(cls=RequestCommand, epilog=examples("clock advance 2h", "clock advance 1d --speed 5000"))
def advance(
    by: Annotated[
        int,
        typer.Argument(
            click_type=DurationParam(), metavar="DURATION", help="span of simulated time, such as 2h"
        ),
    ],
    speed: RunSpeed = None,
    wait: Wait = True,
    output: OutputOption = "table",
) -> None:
    """Run for a span of simulated time, then pause."""
    _run({"for_s": by}, speed, wait, output)


@app.command(
    cls=TimedRequestCommand,
    epilog=examples("clock until 3d02:15:04", "clock until 5d --no-wait", "clock until +2h"),
)
def until(
    at: Annotated[
        TimeAhead,
        typer.Argument(
            click_type=TimeAheadParam(),
            metavar="MOMENT",
            help="simulated time since the twin's start, such as 3d or 3d02:15:04, or +2h from now",
        ),
    ],
    speed: RunSpeed = None,
    wait: Wait = True,
    output: OutputOption = "table",
) -> None:
    """Run to a point in simulated time, then pause."""
    _run({"for_s": at.us // US_PER_S} if at.is_after_now else {"until_us": at.us}, speed, wait, output)


def _run(target: dict[str, object], speed: float | None, wait: bool, output: Form) -> None:
    """Let the twin run to a time, and wait until its clock has reached it; the twin continues if this command
    is interrupted. Raises RequestFailed if another command changes the clock first."""
    client = Client()
    content = client.put(RUN, {**target, "speed": speed}, *FIELDS, "run_until_us")
    with client.reading():
        wanted_us = content.run_until_us
        if wait and wanted_us is not None:
            content = _wait_for_time(client, content, wanted_us)
    _show_clock(client, content, output)


def _wait_for_time(client: Client, started: "ClockReport", wanted_us: int) -> "ClockReport":
    """Return the clock once it has reached the time to which it was set to run."""
    began_us = started.now_us

    def look() -> "ClockReport | None":
        content = client.resource(CLOCK, *FIELDS, "run_until_us")
        progress.report_progress(content.now_us - began_us)
        if content.run_until_us != wanted_us:
            raise RequestFailed(missed_time_text(client, content, wanted_us))
        return content if content.until_us is None and content.now_us == wanted_us else None

    text_of = partial(_progress_text, began_us, wanted_us)
    try:
        with ProgressLine(text_of, wanted_us - began_us) as progress:
            found = wait_until(client, look, WaitTerms(poll_s=POLL_S))
    except KeyboardInterrupt:
        hint = f"the twin continues to {format_time(wanted_us)}; `lightwave clock pause` stops it"
        raise Interrupted(hint) from None
    return started if found is None else found  # a wait without a timeout has found it


def _progress_text(began_us: int, wanted_us: int | None, done_us: float, pace: float) -> str:
    """Describe the current simulated time, its target and its speed."""
    return f"{format_time(began_us + round(done_us))} of {format_time(wanted_us)}, × {pace / US_PER_S:,.0f}"


def _show_clock(client: Client, content: "ClockReport", output: Form) -> None:
    with client.reading():
        show(content, output, lambda: _table(content))


def _table(content: "ClockReport") -> str:
    """The clock as a table. A twin that runs to a time without a speed limit shows its speed as unlimited; a
    paused one has no actual speed."""
    held = content.achieved_speed
    is_free = content.until_us is not None and held > UNLIMITED_RATIO * content.speed
    row = [
        format_time(content.now_us),
        "unlimited" if is_free else f"× {content.speed:g}",
        content.paused,
        None if content.paused else f"× {held:.0f}" if held >= 10 else f"× {held:.2f}",
        format_duration(content.lag_us),
        format_time(content.until_us),
    ]
    return text_table(("TIME", "SPEED", "PAUSED", "ACTUAL-SPEED", "BEHIND-CLOCK", "UNTIL"), [row])
