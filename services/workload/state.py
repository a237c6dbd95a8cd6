"""State of the workload of one fabric: next requests, position in the trace, and wanted slices."""

from dataclasses import dataclass, field

from schemas.config.pods import AnyPodConfig
from schemas.config.workload import TraceRow, WorkloadConfig
from schemas.names import Tier
from services.workload.campaigns import Campaign, ShapeDemand, Stream, demand_of, initial_stream
from services.workload.filler import filler_backlog
from shared.engine.state import TRANSIENT, State
from shared.models.superpod.wiring import CHIPS_PER_CUBE


@dataclass(frozen=True)  # without slots: `fast_replace.replace`
class WantedSlice:
    """A slice that waits or runs."""

    tier: Tier
    chips: int
    duration_us: int | None
    estimate_us: int
    """The owner's estimate of the run time; 0 if there is none."""
    filler_cubes: int = 0
    """Size of a filler job; 0 for other jobs."""
    had_cubes: bool = False
    """Whether it has had cubes, even if it waits again."""
    ends_us: int | None = None
    """Set once it runs, if it has a duration."""
    started: str = ""
    """Id of the message that reported its start."""


@dataclass(frozen=True, slots=True)
class OtherPod:
    """Another pod of the site."""

    kind: str
    cubes: int


@dataclass
class WorkloadState(State):
    """State of the workload of one fabric."""

    config: WorkloadConfig
    kind: str
    cubes: int
    commissioned_us: int
    trace: tuple[TraceRow, ...]
    """Recorded trace, with times from `commissioned_us`. With one there are no drawn arrivals."""
    trace_played: int = 0
    """Number of rows of `trace` that were submitted."""
    trace_dropped: int = 0
    """Number of submitted rows that are no longer in `trace`, because a further part of it came."""
    requested: int = 0
    """Number of slices requested so far, which is the number of the next slice."""
    balked: int = 0
    """Number of requests that were not made because of the queue."""
    streams: dict[int, Stream] = field(default_factory=dict)
    """By index of the shape in the pod's mix."""
    campaigns: dict[int, Campaign] = field(default_factory=dict)
    """Running campaigns, by order of their start."""
    campaigns_begun: int = 0
    next_arrival_us: int | None = None
    """Time of the next arrival. With a trace, set only if a Tick has left due rows for a later time."""
    fillers_drawn: int = 0
    fillers_waiting: dict[int, int] = field(default_factory=dict)
    """Number of queued filler jobs, by cubes."""
    filler_due_us: int | None = None
    """Time of the next filler requests that do not follow a placement."""
    wanted: dict[int, WantedSlice] = field(default_factory=dict)
    other_pods: dict[str, OtherPod] = field(default_factory=dict)
    networks: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Networks of the site → pods that they join with this one, including it."""
    ends: list[tuple[int, int]] | None = field(default=None, metadata=TRANSIENT, kw_only=True)
    """Heap of (end, slice number), built from `wanted` if missing. Entries of slices no longer wanted
    are skipped."""

    @property
    def demand(self) -> tuple[ShapeDemand, ...]:
        """The demand for slices of the pod, by shape."""
        return demand_of(self.seed, self.fabric, self.config, self.cubes)

    @property
    def chips(self) -> int:
        return self.cubes * CHIPS_PER_CUBE


def commission(fabric: str, config: AnyPodConfig, at_us: int) -> WorkloadState:
    """A workload without requests. A recorded trace replaces arrivals and filler."""
    state = WorkloadState(
        fabric=fabric,
        seed=config.seed,
        now_us=at_us,
        config=config.workload,
        kind=config.kind,
        cubes=config.pod.cubes,
        commissioned_us=at_us,
        trace=tuple(sorted(config.trace or (), key=lambda row: row.submit_us)),
    )
    if config.workload.enabled and config.trace is None:
        for shape, shape_demand in enumerate(state.demand):
            state.streams[shape], under_way = initial_stream(shape_demand, shape, at_us)
            for campaign in under_way:
                state.campaigns[state.campaigns_begun] = campaign
                state.campaigns_begun += 1
        state.next_arrival_us = next_arrival_us(state)
        if filler_backlog(state.config, state.cubes):
            state.filler_due_us = at_us
    return state


def next_arrival_us(state: WorkloadState) -> int:
    """The time of the next start or next job of a campaign."""
    begins_us = min([stream.next_us for stream in state.streams.values()])
    return min([begins_us, *[campaign.next_us for campaign in state.campaigns.values()]])


def next_row_us(state: WorkloadState) -> int | None:
    """The time of the next trace row; None if none is left."""
    if state.trace_played == len(state.trace):
        return None
    own_us = state.commissioned_us + state.trace[state.trace_played].submit_us
    return max(own_us, state.next_arrival_us or 0)
