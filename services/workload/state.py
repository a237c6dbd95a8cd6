"""What the workload remembers of one fabric: the next arrival, its place in the trace, and every slice that
somebody still wants."""

from dataclasses import dataclass, field

from schemas.config import TraceRow, WorkloadConfig
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
    the arrival's own number, so that a request by hand does not change what arrives by itself.

    `ends` is a heap of (end, slice number), made from `wanted` when it is missing; an entry whose slice is
    no longer wanted is skipped.
    """

    config: WorkloadConfig
    cubes: int
    trace: tuple[TraceRow, ...]
    trace_played: int = 0
    requested: int = 0
    arrivals: int = 0
    next_arrival_us: int | None = None
    wanted: dict[int, WantedSlice] = field(default_factory=dict)
    ends: list[tuple[int, int]] | None = field(default=None, metadata=TRANSIENT, kw_only=True)
