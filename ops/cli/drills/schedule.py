"""`lightwave drill schedule` and `unschedule`: run a drill again and again."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click
import typer

from ops.cli.common.name_completion import NameParam
from ops.cli.common.options import Comment, Fabric, OutputOption, RequestKey, seed_option
from ops.cli.common.output import show
from ops.cli.common.param_types import FILE, DurationParam, TimeAheadParam
from ops.cli.operate.actions import RequestNote, request_answer
from ops.client.http_client import Client, escape_path
from ops.drills.running_drill import scheduled_drill
from ops.requests.object_names import expand_name
from shared.basics.errors import InvalidInput
from shared.basics.time_format import format_duration, format_time
from shared.basics.time_grammar import TimeAhead
from shared.basics.units import US_PER_S

if TYPE_CHECKING:
    from schemas.drill_plan import DailyWindow, DrillPlan


class WindowParam(click.ParamType):
    """A window of the simulated day, `09:00-16:00`."""

    name = "window"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> "DailyWindow":
        from ops.drills.extension import WINDOW_ALLOWED, read_window

        found = read_window(value) if isinstance(value, str) else value
        if found is None:
            self.fail(f"{value!r} is not a valid window; must be {WINDOW_ALLOWED}", param, ctx)
        return found


def schedule(
    file: Annotated[
        Path, typer.Argument(click_type=FILE, metavar="FILE", help="the document, or its plan (-o json)")
    ],
    every_s: Annotated[
        int | None,
        typer.Option(
            "--every",
            click_type=DurationParam(),
            metavar="7d",
            help="interval, at least 10m [default: that of the document]",
        ),
    ] = None,
    window: Annotated[
        Any,
        typer.Option(
            "--between",
            click_type=WindowParam(),
            metavar="09:00-16:00",
            help="window of each simulated day [default: that of the document, or any time]",
        ),
    ] = None,
    first: Annotated[
        TimeAhead | None,
        typer.Option(
            "--first",
            click_type=TimeAheadParam(),
            metavar="TIME",
            help="when the first run is due: 3d or 3d02:15:04 since the start, or +3h from now "
            "[default: one interval from now]",
        ),
    ] = None,
    seed: Annotated[int, seed_option("each run draws its own seed from this one")] = 0,
    variables: Annotated[
        list[str] | None,
        typer.Option("--var", metavar="NAME=VALUE", help="value of the document's configuration; repeatable"),
    ] = None,
    fabric: Fabric = None,
    key: RequestKey = None,
    comment: Comment = None,
    output: OutputOption = "table",
) -> None:
    """Run a drill again and again, within a window of the day.

    Each run starts and ends in the window. A run that would overlap another drill of the site, or that is due
    while drills are held, is skipped with its reason on the log, and does not happen later.
    `lightwave drill list --schedules` shows the next run and the last outcome.
    """
    from ops.drills.plan_file import read_plan

    plan = _with_timing(file, read_plan(file, variables or ()), every_s, window)
    client = Client()
    body: dict[str, object] = {"plan": plan.model_dump(mode="json"), "seed": seed, "fabric": fabric}
    if first is not None:
        body |= {"first_after_s": first.us // US_PER_S} if first.is_after_now else {"first_us": first.us}
    answer = request_answer(client, "/v1/schedules", RequestNote(key, comment), body, output)

    def text() -> str:
        found = scheduled_drill(answer)
        if found is None:
            return f"{answer.id} is accepted; `lightwave drill list --schedules` shows the schedule"
        name, next_us = found
        interval = format_duration(plan.schedule.every_us if plan.schedule else None)
        return f"{name} runs every {interval}, first at {format_time(next_us)}"

    show(answer, output, text)


def _with_timing(
    file: Path, plan: "DrillPlan", every_s: int | None, window: "DailyWindow | None"
) -> "DrillPlan":
    """The plan with the interval and the window of the options, if they are given."""
    from schemas.drill_plan import EVERY_US_MIN, PlannedSchedule

    least_s = EVERY_US_MIN // US_PER_S
    if every_s is not None and every_s < least_s:
        raise InvalidInput(
            f"--every: {format_duration(every_s * US_PER_S)} is too short; must be at least 10m"
        )
    timing = plan.schedule
    if every_s is None and timing is None:
        raise InvalidInput(
            f"{file}: has no schedule; give --every, or `schedule: {{every: 7d}}` in the document"
        )
    every_us = every_s * US_PER_S if every_s is not None else timing.every_us if timing else EVERY_US_MIN
    kept = window if window is not None or timing is None else timing.window
    return plan.model_copy(update={"schedule": PlannedSchedule(every_us=every_us, window=kept)})


def unschedule(
    name: Annotated[
        str,
        typer.Argument(
            click_type=NameParam("schedules"), metavar="SCHEDULE", help="such as pod-0/schedule-1"
        ),
    ],
    key: RequestKey = None,
    comment: Comment = None,
    output: OutputOption = "table",
) -> None:
    """End a schedule. A run that has begun continues."""
    client = Client()
    full_name = expand_name(client, name)
    path = f"/v1/schedules/{escape_path(full_name)}/cancel"
    answer = request_answer(client, path, RequestNote(key, comment), None, output)
    show(answer, output, lambda: f"{full_name} has ended")
