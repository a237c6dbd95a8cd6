"""What the workload remembers of one fabric: who asks for slices next, its place in the trace, and every
slice that somebody still wants."""

from dataclasses import dataclass, field

from schemas.config.pods import AnyPodConfig
from schemas.config.workload import TraceRow, WorkloadConfig
from schemas.names import Tier
from services.workload.campaigns import Campaign, ShapeDemand, Stream, demand_of, initial_stream
from services.workload.filler import filler_backlog
from shared.engine.state import TRANSIENT, State
from shared.models.superpod.wiring import CHIPS_PER_CUBE


@dataclass(frozen=True)  # without slots: `records.replace`
class WantedSlice:
    """A slice that waits or runs. `ends_us` is set once it runs and has a duration; `started` is the id of
    the message that said so. `estimate_us` is how long its owner thinks that it will run, 0 where nobody
    said; `filler_cubes` the size of a filler job, 0 for any other. `has_waited`: it had cubes once, even if
    it waits again."""

    tier: Tier
    chips: int
    duration_us: int | None
    estimate_us: int
    filler_cubes: int = 0
    had_cubes: bool = False
    ends_us: int | None = None
    started: str = ""


@dataclass(frozen=True, slots=True)
class OtherPod:
    """Another pod of the site."""

    kind: str
    cubes: int


@dataclass
class WorkloadState(State):
    """`requested` slices so far; the next one gets this number. `balked` are requests that were not made.

    `streams` are by number of their shape in the pod's mix, `campaigns` by the order in which they began, of
    which `begun` did. Times of the `trace` count from `commissioned_us`; with a trace nothing arrives by
    itself. `next_arrival_us` is the earliest of all of them; with a trace it is set only where a Tick left
    rows that were due: they are submitted from then on.

    `fillers` were drawn so far, and so many wait by their cubes; `filler_due_us` is when the next are asked
    for without one being placed. `ends` is a heap of (end, slice number), made from `wanted` when it is
    missing; an entry whose slice is no longer wanted is skipped. `neighbours` are the other pods of the site.
    `networks` are those of the site: name → the pods that it joins with this one, itself among them.
    """

    config: WorkloadConfig
    kind: str
    cubes: int
    commissioned_us: int
    trace: tuple[TraceRow, ...]
    trace_played: int = 0
    requested: int = 0
    balked: int = 0
    streams: dict[int, Stream] = field(default_factory=dict)
    campaigns: dict[int, Campaign] = field(default_factory=dict)
    campaigns_begun: int = 0
    next_arrival_us: int | None = None
    fillers_drawn: int = 0
    fillers_waiting: dict[int, int] = field(default_factory=dict)
    filler_due_us: int | None = None
    wanted: dict[int, WantedSlice] = field(default_factory=dict)
    other_pods: dict[str, OtherPod] = field(default_factory=dict)
    networks: dict[str, tuple[str, ...]] = field(default_factory=dict)
    ends: list[tuple[int, int]] | None = field(default=None, metadata=TRANSIENT, kw_only=True)

    @property
    def demand(self) -> tuple[ShapeDemand, ...]:
        """What is asked of the pod, by shape."""
        return demand_of(self.seed, self.fabric, self.config, self.cubes)

    @property
    def chips(self) -> int:
        return self.cubes * CHIPS_PER_CUBE


def commission(fabric: str, config: AnyPodConfig, at_us: int) -> WorkloadState:
    """Nothing was requested yet. A recorded trace takes the place of arrivals and filler."""
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
    """When the next campaign begins or goes on."""
    begins_us = min([stream.next_us for stream in state.streams.values()])
    return min([begins_us, *[campaign.next_us for campaign in state.campaigns.values()]])


def next_row_us(state: WorkloadState) -> int | None:
    """When the next row of the trace is submitted; None where there is none left."""
    if state.trace_played == len(state.trace):
        return None
    own_us = state.commissioned_us + state.trace[state.trace_played].submit_us
    return max(own_us, state.next_arrival_us or 0)
