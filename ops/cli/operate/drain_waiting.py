"""Wait until a drained cube is empty, and report how its drain went if it is over by then."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ops.cli.common.waiting import after_text, retired_us, waiting_terms
from ops.cli.operate.outcome_text import still_running_text
from ops.client.answers import ApiPath
from ops.client.http_client import Client, RequestFailed, row_path
from ops.client.waiting import condition_look, origin_text, wait_for_outcome, wait_until
from schemas.name_parts import fabric_part
from schemas.resource_kinds import CUBES
from shared.basics.errors import LightwaveError
from shared.basics.time_format import format_time

if TYPE_CHECKING:
    from schemas.api.conditions import ConditionReport
    from schemas.api.requests import RequestReceipt
    from schemas.api.rows import LogMessage

EVENTS: "ApiPath[LogMessage]" = ApiPath("/v1/events")
DRAIN_EVENTS = ("DrainPlanned", "CubeDrained", "CubeUndrained", "PlannedDrainCancelled")
EVENTS_READ = 1_000
"""Number of messages about drains of one cube that are searched for a request's own drain."""


@dataclass(frozen=True, slots=True)
class DrainCourse:
    """A drain that is over. It began at `from_us`, None if it was cancelled before, and ended with the
    message `end` at `until_us`."""

    from_us: int | None
    until_us: int
    end: str


def wait_until_drained(client: Client, name: str, answer: "RequestReceipt", timeout_s: int | None) -> str:
    """Wait until nothing runs on a cube that is being drained, and return a sentence about it. It counts if
    that was so at the end of a drain that is over. RequestFailed at the timeout, and at once if another
    client cancels the drain, or if the cube is back in use or its pod retired before it was empty."""
    terms, path = waiting_terms(timeout_s), row_path(CUBES, name)
    if answer.status == "received" and wait_for_outcome(client, str(answer.id), terms) is None:
        raise RequestFailed(f"{name}: the drain has not begun{after_text(timeout_s)}")

    def left() -> str:
        return still_running_text(client.resource(path, "slices").slices)

    def impossible(report: "ConditionReport") -> str:
        return f"{name}: cannot be drained any more: {'; '.join(report.reasons)}; {left()}"

    drained = f"cubes.{name}.drained == true"
    condition = f"{drained} or cubes.{name}.draining == false and cubes.{name}.drain_from_us == null"
    report = wait_until(client, condition_look(client, condition, None, impossible), terms)
    if report is None:
        row = client.resource(path, "slices")
        begin_us = getattr(row, "drain_from_us", None)
        if begin_us is not None:
            raise RequestFailed(
                f"{name}: its drain begins at {format_time(begin_us)}, not yet{after_text(timeout_s)}"
            )
        raise RequestFailed(f"{name}: {left()}{after_text(timeout_s)}; it accepts no new slices")
    if report.terms[0].holds:
        row = client.resource(path, "slices")
        if getattr(row, "drained", True):
            until_us = getattr(row, "drain_until_us", None)
            until = "" if until_us is None else f" until {format_time(until_us)}"
            return f"{name} is drained{until}, nothing runs there"
    course = _course(client, name, answer)
    if course is None:
        if report.terms[0].holds:
            return f"{name} was drained, and is in use again"
        if (ended_us := retired_us(client, fabric_part(name))) is not None:
            at = format_time(ended_us)
            raise RequestFailed(f"{name}: {fabric_part(name)} retired at {at}, before it was drained")
        origin = origin_text(client, name)
        by = f" by {origin}" if origin else ""
        raise RequestFailed(f"{name}: was put back into use{by} before it was drained; {left()}")
    return _past_text(client, name, course)


def _past_text(client: Client, name: str, course: DrainCourse) -> str:
    """The sentence about a drain that is over; RequestFailed if the cube was not empty during it."""
    origin = origin_text(client, course.end)
    if course.from_us is None:
        by = f" by {origin}" if origin else ""
        raise RequestFailed(
            f"{name}: its planned drain was cancelled{by} at {format_time(course.until_us)}, before it "
            "began; the cube stays in use"
        )
    before_end = client.at_time(f"{max(course.until_us - 1, course.from_us)}us")
    slices = before_end.resource(row_path(CUBES, name), "slices").slices
    span = f"from {format_time(course.from_us)} to {format_time(course.until_us)}"
    if not slices:
        return f"{name} was drained {span}" + (f", until {origin}" if origin else "")
    if origin:
        raise RequestFailed(
            f"{name}: was put back into use by {origin} before it was drained; "
            f"{still_running_text(slices)}, {span}"
        )
    raise RequestFailed(
        f"{name}: its drain {span} ended before the cube was empty; {', '.join(slices)} ran there until "
        "the end"
    )


def _course(client: Client, name: str, answer: "RequestReceipt") -> DrainCourse | None:
    """How the drain of a request went, from the log; None if it is not over, or cannot be read."""
    query = {"for": name, "type": list(DRAIN_EVENTS), "fabric": fabric_part(name), "limit": EVENTS_READ}
    try:
        rows = client.rows(EVENTS, "id", "type", "at_us", "cause", **query)
    except LightwaveError:
        return None
    return _course_of(rows, str(answer.id))


def _course_of(rows: "Sequence[LogMessage]", request: str) -> DrainCourse | None:
    """The drain that a request planned or began; otherwise, for one that joined another, the last one."""
    own = [place for place, row in enumerate(rows) if row.cause == request]
    ends = [place for place, row in enumerate(rows) if row.type in DRAIN_EVENTS[2:]]
    if not own and not ends:
        return None
    begins = [place for place in range(ends[-1] if ends else 0) if rows[place].type in DRAIN_EVENTS[:2]]
    start = own[0] if own else max(begins, default=0)
    from_us: int | None = None
    for row in rows[start:]:
        if row.type == "CubeDrained":
            from_us = row.at_us if from_us is None else from_us
        elif row.type == "CubeUndrained" or (row.type == "PlannedDrainCancelled" and from_us is None):
            return DrainCourse(from_us, row.at_us, str(row.id))
    return None
