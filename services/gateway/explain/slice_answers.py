"""Explanations of slices and plans of requests: answers of the twin's rules, with history from the log."""

import re

from schemas.api.explain import ExpectedStart, Obstacle, SliceEvent, SliceExplanation, SlicePlan
from schemas.api.requests import SliceRequest
from schemas.documents.pods import CubeDocument
from schemas.envelope import Envelope
from schemas.messages.operator import PlanTopology, RequestSlice
from schemas.messages.scheduler import SliceCompleted, SliceOverran, SliceRecovering, SliceRequeued
from schemas.messages.workload import SliceRequested
from schemas.names import FABRIC_PATTERN, NUMBER
from schemas.resource_kinds import SLICES
from services.gateway.fabrics import accepts, check_living, fabric_of, retired_us, site_fabrics, site_of
from services.gateway.log.history import STATE_MESSAGES, outage_before_start
from services.gateway.requests.operator_requests import slice_request
from services.gateway.requests.request_status import request_report
from services.gateway.resources.missing_object import missing_error
from services.gateway.resources.status_documents import read_one
from services.gateway.runtime_ports import TwinPorts
from services.gateway.text.messages import log_message
from shared.basics.errors import InvalidInput, NotFound, OperationFailed
from shared.basics.spelling import truncated
from shared.basics.time_format import format_time
from shared.basics.units import US_PER_DAY
from shared.storage.log.log_reader import LogQuery

ENDED = ("completed", "evicted", "refused")
"""States of a slice that never change."""
RECENT_DAYS = 7
RECENT_US = RECENT_DAYS * US_PER_DAY
RECENT_MESSAGES_MAX = 5_000
"""Maximum number of recent messages that are read, newest first."""
HISTORY_MAX = 500
"""Maximum number of messages of a slice's history, newest first."""
HISTORY = (
    *STATE_MESSAGES["slice"],
    *("SlicePreflight", "SliceOverran", "SliceReleased"),
    *("JobFailed", "JobCheckpointed", "JobFinished"),
)
"""Message types of a slice's history."""
_SLICE = re.compile(rf"{FABRIC_PATTERN}/slice-{NUMBER}")
_REQUESTED = re.compile(rf"workload@({FABRIC_PATTERN})/{NUMBER}")
"""The id of a SliceRequested message."""


def plan_slice(twin: TwinPorts, request: SliceRequest) -> SlicePlan:
    """What the scheduler would do with this request now; raise InvalidInput as for a real request, or if the
    fabric has retired."""
    fabric, body = slice_request(twin, request)
    if not isinstance(body, RequestSlice):
        raise TypeError(f"a request for a slice must be a RequestSlice, is {type(body).__name__}")
    check_living(twin, fabric)
    plan = twin.queries.plan(fabric, body, twin.clock.show().now_us)
    return plan.model_copy(update={"start": _with_record(twin, fabric, plan.start)})


def explain_slice(twin: TwinPorts, name: str) -> SliceExplanation:
    """Why a slice is in its state, and its history; raise NotFound if it is unknown."""
    fabric = fabric_of(twin, name)
    if not _SLICE.fullmatch(name):
        raise NotFound(f"slice {truncated(repr(name))}: no such slice; names are like {fabric}/slice-42")
    site = site_fabrics(twin, site_of(twin, fabric))
    networks = [name for name in site if accepts(twin, name, PlanTopology)]
    explanation = twin.queries.explain(fabric, name, twin.clock.show().now_us, networks)
    if explanation is None:
        raise missing_error(twin, SLICES, name, fabric)
    ended_us = retired_us(twin, fabric)
    if ended_us is not None:
        explanation = explanation.model_copy(update=_retired(explanation, fabric, ended_us))
        return explanation.model_copy(update={"history": _history(twin, fabric, name)})
    outage = _early_outage(twin, fabric, explanation)
    additions = {
        "history": _history(twin, fabric, name),
        "start": _with_record(twin, fabric, explanation.start),
        "obstacles": (
            *[_with_outage(one, outage) for one in explanation.obstacles],
            *_throttled_cubes(twin, fabric, explanation),
        ),
    }
    return explanation.model_copy(update=additions)


def _early_outage(twin: TwinPorts, fabric: str, explanation: SliceExplanation) -> tuple[str, Envelope] | None:
    """(OCS, the message that took it out of use) if a degraded slice started so because of it."""
    if explanation.state != "degraded":
        return None
    site, query = site_of(twin, fabric), LogQuery(types=("SliceDegraded",), about=(explanation.name,))
    rows = twin.log.find(site, query, 1, newest=True)
    return outage_before_start(twin, site, *rows[0]) if rows else None


def _with_outage(obstacle: Obstacle, outage: tuple[str, Envelope] | None) -> Obstacle:
    """The obstacle; that of an OCS which was out of use before the slice started, with the time."""
    if outage is None or obstacle.name != outage[0]:
        return obstacle
    why = f"{obstacle.why}; already so when the slice started, since {format_time(outage[1].at_us)}"
    return obstacle.model_copy(update={"why": why})


def _retired(explanation: SliceExplanation, fabric: str, ended_us: int) -> dict[str, object]:
    """The fields that change because the fabric of a slice has retired: the slice never starts, and nothing
    is in its way. One that had not ended has the retirement as its reason."""
    nothing: dict[str, object] = {
        "start": None,
        "queue_position": None,
        "largest_now": None,
        "recovery": None,
        "obstacles": (),
    }
    if explanation.state in ENDED:
        return nothing
    reason = f"{fabric} retired at {format_time(ended_us)}, so the slice remains {explanation.state}"
    return nothing | {"reason": reason}


def _throttled_cubes(twin: TwinPorts, fabric: str, explanation: SliceExplanation) -> list[Obstacle]:
    """The overheated cubes that slow down a slice, as reported by their hosts. The scheduler ignores this."""
    if explanation.state not in ("running", "degraded"):
        return []
    documents = [read_one(twin, fabric, "cubes", cube, CubeDocument) for cube in explanation.cubes]
    return [
        Obstacle(kind="cube", name=cube.name, why="too hot: its chips are throttled")
        for cube in documents
        if cube is not None and cube.throttled
    ]


def explain_request(twin: TwinPorts, name: str) -> SliceExplanation:
    """The explanation of a request's slice, by idempotency key, message id, or the slice's name."""
    if _SLICE.fullmatch(name):
        return explain_slice(twin, name)
    return explain_slice(twin, _slice_of(twin, name))


def _slice_of(twin: TwinPorts, name: str) -> str:
    """The slice of this request."""
    match = _REQUESTED.fullmatch(name)
    if match is not None:
        site = site_of(twin, match[1])
        place = twin.log.position_of(site, name)
        message = None if place is None else next(twin.log.read(site, place))[1]
        if message is None or not isinstance(message.body, SliceRequested):
            raise NotFound(f"request {truncated(repr(name))}: no such slice request")
        return message.body.slice
    report = request_report(twin, name)
    if report.type != RequestSlice.__name__:
        raise InvalidInput(
            f"request {truncated(repr(name))}: is a {report.type}, not a slice request; "
            "use `lightwave requests` or `lightwave why`"
        )
    for message in report.outcome:
        if isinstance(message.body, SliceRequested):
            return message.body.slice
    raise OperationFailed(
        f"request {truncated(repr(name))}: is {report.status}, but its slice is not known yet; try again"
    )


def _with_record(twin: TwinPorts, fabric: str, start: ExpectedStart | None) -> ExpectedStart | None:
    """The start with the recent accuracy of estimates, if it is computed from estimates."""
    if start is None or not start.depends_on or start.basis == "claim":
        return start
    site = site_of(twin, fabric)
    begin = twin.log.position_at(site, max(0, twin.clock.show().now_us - RECENT_US))
    query = LogQuery(fabric=fabric, types=("SliceOverran", "SliceCompleted"), start=begin)
    overran: set[str] = set()
    ended: set[str] = set()
    for _, message in twin.log.find(site, query, RECENT_MESSAGES_MAX, newest=True):
        if isinstance(message.body, SliceOverran):
            overran.add(message.body.slice)
        elif isinstance(message.body, SliceCompleted):
            ended.add(message.body.slice)
    if not ended:
        return start
    slices, longer = "slice" if len(ended) == 1 else "slices", len(overran & ended)
    record = (
        f"of {len(ended)} {slices} that ended in the last {RECENT_DAYS} days, {longer} overran the estimate"
    )
    return start.model_copy(update={"recent_estimates": record})


def _history(twin: TwinPorts, fabric: str, name: str) -> tuple[SliceEvent, ...]:
    """The messages about a slice, oldest first."""
    query = LogQuery(types=HISTORY, about=(name,))
    explanation = twin.log.find(site_of(twin, fabric), query, HISTORY_MAX, newest=True)
    return tuple([_slice_event(twin, message, name) for _, message in explanation])


def _slice_event(twin: TwinPorts, message: Envelope, name: str) -> SliceEvent:
    body = message.body
    recovering = body if isinstance(body, SliceRecovering) else None
    return SliceEvent(
        at_us=message.at_us,
        type=message.type,
        text=log_message(twin, message, name).text,
        message=message.id,
        choice=None if recovering is None else recovering.choice,
        costs_chip_us=None if recovering is None else recovering.costs_chip_us,
        lost_chip_us=body.lost_chip_us if isinstance(body, SliceRequeued) else None,
    )
