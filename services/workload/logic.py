"""The workload's rules: jobs and slices arrive, and slices that are held for a time are released after it.

Who arrives by itself or in a trace brings a job, and is released when that is done. What an operator asks for
is held for its time from the start of the slice, whatever happens to it later.
"""

from heapq import heapify, heappop, heappush

from schemas.envelope import Envelope
from schemas.jobs import JobFinished, JobTerms
from schemas.names import SliceName, number_of
from schemas.operator import ReleaseSlice, RequestSlice
from schemas.scheduler import SliceCompleted, SliceEvicted, SliceRefused, SliceStarted
from schemas.sequencer import Tick
from schemas.workload import ReleaseRefused, SliceReleased, SliceRequested
from services.workload.mix import draw_kind, draw_work_us
from services.workload.state import WantedSlice, WorkloadState, next_gap_us, next_row_us
from shared.basics.units import US_PER_S
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
    return [
        SliceRequested(
            slice=_next_slice(state, body.duration_us),
            owner=body.owner,
            tier=body.tier,
            shape=body.shape,
            twisted=body.twisted,
            priority=body.priority,
            duration_us=body.duration_us,
            job=None,
            estimate_us=body.duration_us,
            requested_by="operator",
        )
    ]


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
    """The run time of the slice begins, the first time that it starts."""
    number = number_of(body.slice)
    wanted = state.wanted.get(number)
    if wanted is None or wanted.duration_us is None or wanted.ends_us is not None:
        return []
    ends_us = state.now_us + wanted.duration_us
    heappush(_ends(state), (ends_us, number))
    state.wanted[number] = WantedSlice(wanted.duration_us, ends_us, message.id)
    return []


def on_job_finished(state: WorkloadState, body: JobFinished, _message: Envelope) -> list[Output]:
    """What was to be done is done: its owner is done with the slice."""
    if state.wanted.pop(number_of(body.slice), None) is None:
        return []
    return [SliceReleased(slice=body.slice, reason="finished")]


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
        job = _job(state, row.duration_us)
        said.append(
            SliceRequested(
                slice=_next_slice(state),
                owner="trace",
                tier="research",
                shape=row.shape,
                twisted=row.twisted,
                priority=row.priority,
                duration_us=None,
                job=job,
                estimate_us=row.duration_us,
                requested_by="trace",
            )
        )
    return said


def _arrive(state: WorkloadState) -> list[Output]:
    said: list[Output] = []
    while state.next_arrival_us is not None and state.next_arrival_us <= state.now_us:
        shape, twisted = draw_kind(state.seed, state.fabric, state.arrivals, state.cubes)
        job = _job(state, draw_work_us(state.seed, state.fabric, state.arrivals, state.config))
        state.arrivals += 1
        state.next_arrival_us += next_gap_us(state)
        said.append(
            SliceRequested(
                slice=_next_slice(state),
                owner="fleet",
                tier="research",
                shape=shape,
                twisted=twisted,
                priority=0,
                duration_us=None,
                job=job,
                estimate_us=job.work_us,
                requested_by="arrival",
            )
        )
    return said


def _job(state: WorkloadState, work_us: int) -> JobTerms:
    config = state.config
    return JobTerms(
        work_us=work_us,
        checkpoint_every_us=config.checkpoint_every_s * US_PER_S,
        write_us=config.checkpoint_write_s * US_PER_S,
        startup_us=config.startup_s * US_PER_S,
    )


def _next_slice(state: WorkloadState, duration_us: int | None = None) -> SliceName:
    """The name of the next slice that somebody wants."""
    number = state.requested
    state.requested += 1
    state.wanted[number] = WantedSlice(duration_us, None, "")
    state.touched.add(("summaries", f"{state.fabric}/workload"))
    return f"{state.fabric}/slice-{number}"


def _ends(state: WorkloadState) -> list[tuple[int, int]]:
    """The heap of ends, its first entry that of a slice still wanted."""
    if state.ends is None:
        state.ends = [(row.ends_us, n) for n, row in state.wanted.items() if row.ends_us is not None]
        heapify(state.ends)
    while state.ends and state.ends[0][1] not in state.wanted:
        heappop(state.ends)
    return state.ends
