"""The workload's rules: slices arrive, run for their time, and are released.

A run time counts from the start of the slice, whatever happens to it later.
"""

from heapq import heapify, heappop, heappush
from typing import Literal

from schemas.envelope import Envelope
from schemas.names import Shape, number_of
from schemas.operator import ReleaseSlice, RequestSlice
from schemas.scheduler import SliceCompleted, SliceEvicted, SliceRefused, SliceStarted
from schemas.sequencer import Tick
from schemas.workload import ReleaseRefused, SliceReleased, SliceRequested
from services.workload.mix import draw_duration_us, draw_kind
from services.workload.state import WantedSlice, WorkloadState, next_gap_us, next_row_us
from shared.engine.service import CausedBy, Output

ROWS_PER_TICK_MAX = 500
"""Rows of a trace that one Tick submits, for what follows from one root message has a bound
(`shared/engine/site.py`). Those that were due as well come a microsecond later, in their order."""


def due(state: WorkloadState) -> int | None:
    """The next end, arrival or row of the trace."""
    ends = _ends(state)
    times = [ends[0][0]] if ends else []
    arrival_us = next_row_us(state) if state.trace else state.next_arrival_us
    if arrival_us is not None:
        times.append(arrival_us)
    return min(times, default=None)


def on_tick(state: WorkloadState, _tick: Tick, _message: Envelope) -> list[Output]:
    """Release what has ended, so that there is room; then request what is due by trace or arrival."""
    return [*_release_ended(state), *(_play_trace(state) if state.trace else _arrive(state))]


def on_request_slice(state: WorkloadState, body: RequestSlice, _message: Envelope) -> list[Output]:
    """An operator wants a slice; whether it is legal is the scheduler's to say."""
    return [_request(state, body.shape, body.twisted, body.priority, body.duration_us, "operator")]


def on_release_slice(state: WorkloadState, body: ReleaseSlice, _message: Envelope) -> list[Output]:
    """An operator is done with a slice; refused with the reason if there is no such slice any more."""
    name = body.slice
    fabric, _, digits = name.rpartition("/slice-")
    number = int(digits)
    if fabric != state.fabric:
        return [ReleaseRefused(slice=name, reason=f"{name} is no slice of {state.fabric}")]
    if number >= state.requested:
        return [ReleaseRefused(slice=name, reason=f"{name} has never been requested")]
    if number not in state.wanted:
        return [ReleaseRefused(slice=name, reason=f"{name} has already ended")]
    del state.wanted[number]
    return [SliceReleased(slice=name, reason="operator")]


def on_slice_started(state: WorkloadState, body: SliceStarted, message: Envelope) -> list[Output]:
    """The run time of the slice begins."""
    number = number_of(body.slice)
    wanted = state.wanted.get(number)
    if wanted is None or wanted.duration_us is None:
        return []
    ends_us = state.now_us + wanted.duration_us
    heappush(_ends(state), (ends_us, number))
    state.wanted[number] = WantedSlice(wanted.duration_us, ends_us, message.id)
    return []


def on_slice_ended(
    state: WorkloadState, body: SliceRefused | SliceEvicted | SliceCompleted, _message: Envelope
) -> list[Output]:
    """Refused, evicted or completed: nobody waits for it any more."""
    state.wanted.pop(number_of(body.slice), None)
    return []


def _release_ended(state: WorkloadState) -> list[Output]:
    ends = _ends(state)
    said: list[Output] = []
    while ends and ends[0][0] <= state.now_us:
        _, number = heappop(ends)
        wanted = state.wanted.pop(number)
        body = SliceReleased(slice=f"{state.fabric}/slice-{number}", reason="finished")
        said.append(CausedBy(wanted.started, body))
        _ends(state)
    return said


def _play_trace(state: WorkloadState) -> list[Output]:
    said: list[Output] = []
    while (row_us := next_row_us(state)) is not None and row_us <= state.now_us:
        if len(said) == ROWS_PER_TICK_MAX:
            state.next_arrival_us = state.now_us + 1
            break
        row = state.trace[state.trace_played]
        state.trace_played += 1
        said.append(_request(state, row.shape, row.twisted, row.priority, row.duration_us, "trace"))
    return said


def _arrive(state: WorkloadState) -> list[Output]:
    said: list[Output] = []
    while state.next_arrival_us is not None and state.next_arrival_us <= state.now_us:
        shape, twisted = draw_kind(state.seed, state.fabric, state.arrivals, state.cubes)
        duration_us = draw_duration_us(state.seed, state.fabric, state.arrivals, state.config)
        state.arrivals += 1
        state.next_arrival_us += next_gap_us(state)
        said.append(_request(state, shape, twisted, 0, duration_us, "arrival"))
    return said


def _request(
    state: WorkloadState,
    shape: Shape,
    twisted: bool,
    priority: int,
    duration_us: int | None,
    requested_by: Literal["arrival", "trace", "operator"],
) -> SliceRequested:
    number = state.requested
    state.requested += 1
    state.wanted[number] = WantedSlice(duration_us, None, "")
    state.touched.add(("summaries", f"{state.fabric}/workload"))
    return SliceRequested(
        slice=f"{state.fabric}/slice-{number}",
        shape=shape,
        twisted=twisted,
        priority=priority,
        duration_us=duration_us,
        requested_by=requested_by,
    )


def _ends(state: WorkloadState) -> list[tuple[int, int]]:
    """The heap of ends, its first entry that of a slice still wanted."""
    if state.ends is None:
        state.ends = [(row.ends_us, n) for n, row in state.wanted.items() if row.ends_us is not None]
        heapify(state.ends)
    while state.ends and state.ends[0][1] not in state.wanted:
        heappop(state.ends)
    return state.ends
