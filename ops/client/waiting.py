"""Waiting for the twin, the same way in every command and method.

A wait ends in one of three ways. If the awaited value is available, it returns it. If another client or an
event has made the value impossible, it raises RequestFailed at once with the cause. Otherwise it ends at the
timeout.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from ops.client.answers import CLOCK, ApiPath
from ops.client.http_client import Client, ConnectionLost, RequestFailed, TwinBusy, TwinSilent, escape_path
from ops.report.wall_time import format_wall_time
from shared.basics.errors import LightwaveError, NotFound
from shared.basics.time_format import format_gap, format_time, format_time_ms

if TYPE_CHECKING:
    from schemas.api.conditions import ConditionReport
    from schemas.api.requests import RequestReport
    from schemas.api.rows import ClockReport
    from schemas.files.operations_log import NumberedOperation

PolledT = TypeVar("PolledT")
POLL_S = 0.3
POLL_GROWTH = 1.5
"""Factor by which the time between polls grows, if it grows."""
RETRY_S = 0.5
"""A lost connection is retried once, after this time in seconds."""
CONDITIONS: "ApiPath[ConditionReport]" = ApiPath("/v1/conditions")
CONDITION_FIELDS = ("condition", "now_us", "holds", "can_hold", "reasons", "terms")
OPERATOR_SOURCE = "operator@"
"""Prefix of the ids of operators' requests."""
REPORT_FIELDS = ("complete", "status", "reason", "outcome")


@dataclass(frozen=True, slots=True)
class WaitTerms:
    """How to wait: up to `timeout_s` of wall time (None: without limit; 0: poll once), with a poll every
    `poll_s`. The time between polls grows up to `poll_s_max`, if that is longer.

    `note` receives one sentence if simulated time is stopped meanwhile; None if the wait does not depend on
    simulated time.
    """

    timeout_s: float | None = None
    poll_s: float = POLL_S
    poll_s_max: float = 0.0
    note: Callable[[str], None] | None = None


def wait_until(client: Client, look: Callable[[], PolledT | None], terms: WaitTerms) -> PolledT | None:
    """Call `look` until it returns a value; return None at the timeout.

    `look` raises RequestFailed if the value can no longer come. Also raises RequestFailed if the polled
    object disappears, or if the twin stops. Errors of the first poll are raised unchanged.
    """
    end_s = None if terms.timeout_s is None else time.monotonic() + terms.timeout_s
    found = _first_look(look)
    noted, poll_s = terms.note is None, terms.poll_s
    while found is None:
        left_s = poll_s if end_s is None else end_s - time.monotonic()
        if left_s <= 0:
            return None
        if not noted and terms.note is not None:
            noted = _note_if_time_stands(client, terms.note)
        time.sleep(min(poll_s, left_s))
        poll_s = max(poll_s, min(poll_s * POLL_GROWTH, terms.poll_s_max))
        found = _next_look(client, look)
    return found


def _first_look(look: Callable[[], PolledT | None]) -> PolledT | None:
    try:
        return look()
    except TwinBusy:
        return None


def _next_look(client: Client, look: Callable[[], PolledT | None]) -> PolledT | None:
    try:
        try:
            return look()
        except ConnectionLost:
            time.sleep(RETRY_S)
            return look()
    except TwinSilent:
        return None  # it is there, and busy; the timeout of the wait ends this
    except ConnectionLost as error:
        raise RequestFailed(f"the twin at {client.url} stopped while this command waited ({error})") from None
    except NotFound as error:
        raise RequestFailed(f"{error}; it existed when this command began to wait") from None
    except TwinBusy as error:
        time.sleep(error.retry_after_s)
        return None


def _note_if_time_stands(client: Client, note: Callable[[str], None]) -> bool:
    """Report that simulated time is stopped, if it is; return whether it is."""
    try:
        clock = client.resource(CLOCK, "now_us", "paused", "until_us")
    except LightwaveError:
        return False  # the next poll raises it
    if not clock.paused or clock.until_us is not None:
        return False
    note(f"time stands still at {format_time(clock.now_us)}: `lightwave clock resume` lets it run")
    return True


def condition_look(
    client: Client, condition: str, fabric: str | None, impossible: Callable[["ConditionReport"], str]
) -> "Callable[[], ConditionReport | None]":
    """Return a poll function for a condition: it returns the condition's report once it is true. It raises
    RequestFailed with the sentence `impossible` if it can no longer become true."""

    def look() -> "ConditionReport | None":
        report = report_condition(client, condition, fabric)
        if not report.holds and not report.can_hold:
            raise RequestFailed(impossible(report))
        return report if report.holds else None

    return look


def report_condition(client: Client, condition: str, fabric: str | None = None) -> "ConditionReport":
    """Return a condition's current report."""
    return client.resource(CONDITIONS, *CONDITION_FIELDS, condition=condition, fabric=fabric)


def wait_for_outcome(client: Client, request: str, terms: WaitTerms) -> "RequestReport | None":
    """Return the report of a request once its whole outcome is known; None at the timeout. Raises
    RequestFailed if another client cancels it, if its fabric retires first, or if it is refused."""

    def look() -> "RequestReport | None":
        path: ApiPath[RequestReport] = ApiPath(f"/v1/requests/{escape_path(request)}")
        report = client.resource(path, *REPORT_FIELDS)
        return report if report.complete else None

    report = wait_until(client, look, terms)
    if report is not None and report.status == "refused":
        raise RequestFailed(f"{report.reason} ({request})")
    return report


# --- the origin of a change ---------------------------------------------------------------------------------


def origin_text(client: Client, name: str) -> str | None:
    """Return the request that caused the last state of an object, as `alice's ReleaseSlice
    (operator@pod-0/7)`; None if no request did, or if it cannot be read now."""
    path: ApiPath[Any] = ApiPath(f"/v1/why/{escape_path(name)}")
    try:
        chain = client.rows(path, "id", "type", "body")
    except LightwaveError:
        return None
    root = chain[-1] if chain else None
    if root is None or not str(root.id).startswith(OPERATOR_SOURCE):
        return None
    who = root.body.get("asked_by") if isinstance(root.body, dict) else None
    return f"{who or 'another client'}'s {root.type} ({root.id})"


def missed_time_text(client: Client, clock: "ClockReport", wanted_us: int) -> str:
    """Describe who changed the clock, where it is, and where it was meant to stop."""
    how = _clock_change_text(client, wanted_us)
    gap_us = wanted_us - clock.now_us
    side = "before" if gap_us >= 0 else "after"
    moves = "is stopped at" if clock.paused and clock.until_us is None else "is at"
    return (
        f"clock: {how}; it {moves} {format_time_ms(clock.now_us)}, {format_gap(gap_us)} {side} "
        f"{format_time_ms(wanted_us)}, where it was to stop"
    )


def _clock_change_text(client: Client, wanted_us: int) -> str:
    """Describe who changed the clock so that it does not run to a time, and how, from the operations log."""
    path: ApiPath[NumberedOperation] = ApiPath("/v1/operations")
    try:
        rows: list[Any] = [*client.rows(path, "wall_us", "who", "type", "body", limit=20)]
    except LightwaveError:
        rows = []
    changes = [row for row in rows if row.type == "ClockChanged" and row.body.get("until_us") != wanted_us]
    if not changes:
        return "another command changed it"
    last = changes[-1]
    return f"{last.who} {clock_setting_text(last.body)} at {format_wall_time(last.wall_us)}"


def clock_setting_text(body: Any) -> str:
    """Return a new setting of the clock, as a sentence without its subject."""
    if body.get("until_us") is not None:
        speed = body.get("run_speed")
        how = "as fast as possible" if speed is None else f"at × {speed:g}"
        return f"let it run to {format_time(body['until_us'])} {how}"
    if body["paused"]:
        return f"paused it at {format_time(body['anchor_us'])}"
    return f"let it run at × {body['speed']:g}"
