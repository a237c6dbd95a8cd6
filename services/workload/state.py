"""What the workload remembers of one fabric: the next arrival, its place in the trace, and every slice that
somebody still wants."""

from dataclasses import dataclass, field

from schemas.config import AnyPodConfig, TraceRow, WorkloadConfig
from services.workload.mix import draw_gap_us
from shared.engine.state import TRANSIENT, State


@dataclass(frozen=True, slots=True)
class WantedSlice:
    """A slice that waits or runs. `ends_us` is set once it runs and has a duration; `started` is the id of
    the message that said so."""

    duration_us: int | None
    ends_us: int | None
    started: str


@dataclass
class WorkloadState(State):
    """`requested` slices so far; the next one gets this number. `arrivals` drawn so far: draws are keyed by
    the arrival's own number, so that a request by hand does not change what arrives by itself. Times of the
    `trace` count from `commissioned_us`; with a trace nothing arrives by itself, and `next_arrival_us` is set
    only where a Tick left rows that were due: they are submitted from then on.

    `ends` is a heap of (end, slice number), made from `wanted` when it is missing; an entry whose slice is
    no longer wanted is skipped.
    """

    config: WorkloadConfig
    cubes: int
    commissioned_us: int
    trace: tuple[TraceRow, ...]
    trace_played: int = 0
    requested: int = 0
    arrivals: int = 0
    next_arrival_us: int | None = None
    wanted: dict[int, WantedSlice] = field(default_factory=dict)
    ends: list[tuple[int, int]] | None = field(default=None, metadata=TRANSIENT, kw_only=True)


def commission(fabric: str, config: AnyPodConfig, at_us: int) -> WorkloadState:
    """Nothing was requested yet. A recorded trace takes the place of arrivals."""
    state = WorkloadState(
        fabric=fabric,
        seed=config.seed,
        now_us=at_us,
        config=config.workload,
        cubes=config.pod.cubes,
        commissioned_us=at_us,
        trace=tuple(sorted(config.trace or (), key=lambda row: row.submit_us)),
    )
    if config.workload.enabled and config.trace is None:
        state.next_arrival_us = at_us + next_gap_us(state)
    return state


def next_row_us(state: WorkloadState) -> int | None:
    """When the next row of the trace is submitted; None where there is none left."""
    if state.trace_played == len(state.trace):
        return None
    own_us = state.commissioned_us + state.trace[state.trace_played].submit_us
    return max(own_us, state.next_arrival_us or 0)


def next_gap_us(state: WorkloadState) -> int:
    """Time from the last arrival (or the commissioning) to the next."""
    return draw_gap_us(state.seed, state.fabric, state.arrivals, state.config, state.cubes)
