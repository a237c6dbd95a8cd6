"""Rules of the workload: jobs and slices arrive, and slices are released at their end.

Arrivals and rows of a trace bring a job, and are released when it is finished. A slice that an operator
requests is released after its duration, counted from its start, regardless of later events.
"""

from heapq import heapify, heappop, heappush

from schemas.envelope import Envelope
from schemas.messages.jobs import JobFinished
from schemas.messages.operator import RekeyDraws, ReleaseSlice, RequestSlice
from schemas.messages.scheduler import SliceAdmitted, SliceCompleted, SliceEvicted, SliceRefused, SliceStarted
from schemas.messages.sequencer import Tick
from schemas.messages.workload import PodAsked, ReleaseRefused, SliceReleased, SliceRequested
from schemas.names import number_of
from services.workload.slice_requests import (
    next_slice_name,
    play_trace,
    record_request,
    redraw_arrivals,
    request_filler,
    request_multipod,
    submit_arrivals,
)
from services.workload.state import WantedSlice, WorkloadState, next_row_us
from shared.basics.fast_replace import replace
from shared.basics.units import US_PER_HOUR
from shared.engine.service import CausedBy, Output

FILLER_AGAIN_US = US_PER_HOUR
"""Delay after a refusal until filler is requested again."""


def due(state: WorkloadState) -> int | None:
    """The time of the next end, arrival, trace row or filler request."""
    ends = _ends(state)
    times = [ends[0][0]] if ends else []
    arrival_us = next_row_us(state) if state.trace else state.next_arrival_us
    times += [at_us for at_us in (arrival_us, state.filler_due_us) if at_us is not None]
    return min(times, default=None)


def on_tick(state: WorkloadState, _tick: Tick, _message: Envelope) -> list[Output]:
    """Release ended slices first, to make room. Then request due trace rows or arrivals, and filler last."""
    emitted = [*_release_ended(state), *(play_trace(state) if state.trace else submit_arrivals(state))]
    if state.filler_due_us is not None and state.filler_due_us <= state.now_us:
        state.filler_due_us = None
        emitted += request_filler(state)
    return emitted


def on_request_slice(state: WorkloadState, body: RequestSlice, _message: Envelope) -> list[Output]:
    """Request a slice for an operator, or one in each of several pods. The scheduler checks whether it is
    legal."""
    request = SliceRequested(
        slice=next_slice_name(state),
        owner=body.owner,
        tier=body.tier,
        shape=body.shape,
        twisted=body.twisted,
        priority=body.priority,
        duration_us=body.duration_us,
        job=None,
        estimate_us=body.duration_us,
        requested_by="operator",
        recovery=body.recovery,
        multislice=None,
    )
    others = [pod for pod in dict.fromkeys(body.pods or ()) if pod != state.fabric]
    return request_multipod(state, request, others)


def on_rekey(state: WorkloadState, body: RekeyDraws, _message: Envelope) -> list[Output]:
    redraw_arrivals(state, body.salt)
    return []


def on_pod_asked(state: WorkloadState, body: PodAsked, _message: Envelope) -> list[Output]:
    """Request a slice of a multi-pod job in this pod."""
    wanted = {name: getattr(body, name) for name in SliceRequested.field_names}
    return [record_request(state, SliceRequested(**wanted | {"slice": next_slice_name(state)}))]


def on_release_slice(state: WorkloadState, body: ReleaseSlice, _message: Envelope) -> list[Output]:
    """Release a slice for an operator; refused if the slice does not exist or has ended."""
    name = body.slice
    fabric, _, digits = name.rpartition("/slice-")
    number = int(digits)
    if fabric != state.fabric:
        return [
            ReleaseRefused(
                slice=name, reason=f"slice: {name!r} is not allowed; must be a slice of {state.fabric}"
            )
        ]
    if number >= state.requested:
        return [ReleaseRefused(slice=name, reason=f"slice: {name!r} has never been requested")]
    if number not in state.wanted:
        return [ReleaseRefused(slice=name, reason=f"slice: {name!r} has already ended")]
    _forget(state, number)
    return [SliceReleased(slice=name, reason="operator")]


def on_slice_started(state: WorkloadState, body: SliceStarted, message: Envelope) -> list[Output]:
    """Start the duration of a slice at its first start."""
    number = number_of(body.slice)
    wanted = state.wanted.get(number)
    if wanted is None or wanted.duration_us is None or wanted.ends_us is not None:
        return []
    ends_us = state.now_us + wanted.duration_us
    heappush(_ends(state), (ends_us, number))
    state.wanted[number] = replace(wanted, ends_us=ends_us, started=message.id)
    return []


def on_job_finished(state: WorkloadState, body: JobFinished, _message: Envelope) -> list[Output]:
    """Release the slice of a finished job."""
    if _forget(state, number_of(body.slice)) is None:
        return []
    return [SliceReleased(slice=body.slice, reason="finished")]


def on_slice_admitted(state: WorkloadState, body: SliceAdmitted, _message: Envelope) -> list[Output]:
    """Record that a slice has cubes. If it is filler, queue the next."""
    number = number_of(body.slice)
    wanted = state.wanted.get(number)
    if wanted is None or wanted.had_cubes:
        return []
    state.wanted[number] = replace(wanted, had_cubes=True)
    if not wanted.filler_cubes:
        return []
    state.fillers_waiting[wanted.filler_cubes] -= 1
    return request_filler(state)


def on_slice_ended(
    state: WorkloadState, body: SliceRefused | SliceEvicted | SliceCompleted, _message: Envelope
) -> list[Output]:
    """Forget a slice that has ended.

    Refused filler is requested again later, because an immediate request would be refused again.
    """
    wanted = _forget(state, number_of(body.slice))
    if wanted is not None and wanted.filler_cubes and not wanted.had_cubes:
        state.filler_due_us = state.now_us + FILLER_AGAIN_US
    return []


def _forget(state: WorkloadState, number: int) -> WantedSlice | None:
    """Remove a wanted slice and return it; None if it is not wanted."""
    wanted = state.wanted.pop(number, None)
    if wanted is not None and wanted.filler_cubes and not wanted.had_cubes:
        state.fillers_waiting[wanted.filler_cubes] -= 1
    return wanted


def _release_ended(state: WorkloadState) -> list[Output]:
    ends = _ends(state)
    emitted: list[Output] = []
    while ends and ends[0][0] <= state.now_us:
        _, number = heappop(ends)
        wanted = state.wanted.pop(number)
        body = SliceReleased(slice=f"{state.fabric}/slice-{number}", reason="finished")
        emitted.append(CausedBy(wanted.started, body))
        _ends(state)
    return emitted


def _ends(state: WorkloadState) -> list[tuple[int, int]]:
    """The heap of ends, whose first entry is of a wanted slice."""
    if state.ends is None:
        state.ends = [(row.ends_us, n) for n, row in state.wanted.items() if row.ends_us is not None]
        heapify(state.ends)
    while state.ends and state.ends[0][1] not in state.wanted:
        heappop(state.ends)
    return state.ends
