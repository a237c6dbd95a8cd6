"""Status documents: what people read of the twin, each a pure function of one service's state.

Wanted and reported are separate fields, and `changed_us` (when it changed) is simulated time.
"""

from typing import Literal

from pydantic import Field

from schemas.body import Model, is_empty, is_none
from schemas.config.parameter import ParameterName, ParameterValue
from schemas.documents.repairs import DiagnosisSummary, RepairDocument, RepairsSummary, VerdictDocument
from schemas.messages.jobs import JobTerms, OwnerUse
from schemas.names import FaultKind, Shape, Tier

# What the status documents of links say of one end.


class EndImpairment(Model):
    """What is wrong with the light of a link end. It has none where its cube is `unpowered`, or it is
    `worked_on`: a technician has it in hand. `dirt_db` is loss that reflects, `lost_db` by strand loss
    that does not, `dimmed_db` by strand launched power lost; `deaf_db` light that the receivers need more,
    `leak_db` crosstalk of the circulator more, `hotter_k` warmer than the hall makes it. `end` is its number.
    """

    end: int
    unpowered: bool
    worked_on: bool = False
    dirt_db: float
    lost_db: tuple[float, float]
    launch_loss_db: tuple[float, float]
    sensitivity_loss_db: float
    leak_db: float
    excess_temperature_k: float


class EndModule(Model):
    """A module that took the place of another at a link end, by its number: the how manieth there, and since
    when."""

    end: int
    generation: int
    since_us: int


# The status document of what was changed of a fabric's configuration while it lives.


class ParameterRow(Model):
    """A parameter that is not as the fabric was commissioned, since `changed_us`; `changed_by` is the id of
    the request."""

    name: ParameterName
    value: ParameterValue
    commissioned: ParameterValue
    changed_us: int
    changed_by: str


class ParametersDocument(Model):
    """Written by `failures`, which says yes or no to changes; kind `parameters`, name `pod-0`."""

    name: str
    changed: tuple[ParameterRow, ...]


LinkState = Literal["up", "degraded", "down", "dark"]
"""`dark`: no circuit is wanted through this link end."""

SliceState = Literal[
    "queued",
    "waiting-for-pods",
    "programming",
    "preflight",
    "running",
    "degraded",
    "recovering",
    "completed",
    "evicted",
    "refused",
]


class PatchStatus(Model):
    """A fibre that is not at the port where it was wired, but at a spare one, such as N24 at N131."""

    port: str
    spare: str


class ManualCircuitStatus(Model):
    """A circuit that somebody made by hand: its North port, and the id of the message that asked for it."""

    north: int
    request: str


class OcsDocument(Model):
    """Written by `ocs`; name `pod-0/ocs-17`.

    By North port: `wanted` is the South port commanded (−1 none), `made` whether the mirrors do it, `slices`
    the number of the slice that wants it (−1 none), `losses_db` the insertion loss with which the OCS was
    made between the two ports (null where none is commanded). `unaligned` has the circuits that are wanted
    and missing because mirrors did not find their places, as North port and reason. `held`: its circuits
    stand, none can be made; `circuits_stale` are those that its mirrors still make although they were given
    up. `parts_down` are its broken parts, such as `supply-1`; `power` is that of the chassis. `ports_down`
    are those that wait for repair, `ports_dead` those that a fibre was moved from for good, `patches` where
    to; `spares_left` are the ports, North and South, that fibres can still be moved to. `by_hand` are those
    of the circuits that somebody made by hand, which no slice wants.
    """

    name: str
    state: Literal["up", "held", "down"]
    radix: int
    circuits_wanted: int
    circuits_made: int
    circuits_stale: int = 0
    parts_down: tuple[str, ...] = ()
    ports_down: tuple[str, ...]
    patches: tuple[PatchStatus, ...] = ()
    ports_dead: tuple[str, ...] = ()
    spares_left: tuple[int, int]
    wanted: tuple[int, ...]
    made: tuple[bool, ...]
    slices: tuple[int, ...]
    losses_db: tuple[float | None, ...]
    unaligned: tuple[str, ...] = ()
    manual_circuits: tuple[ManualCircuitStatus, ...] = ()
    changed_us: int


class LinkGroupDocument(Model):
    """Written by `transceivers`; name `pod-0/cube-12`: the 96 link ends of one cube, in order of face and
    index.

    `far_ends` are link-end numbers, −1 where no circuit is made on both strands. `losses_db` are those of the
    worse strand's fibre and OCS, null there, too; `bers` those of the worst lane received, before the outer
    code, null also where this or the far end's module has failed. `impaired` has the ends whose light is not
    as made, `replaced` those whose module is not the one of when all were new (`commissioned_us`), in order.
    """

    name: str
    states: tuple[LinkState, ...]
    conditions: tuple[Literal["ok", "failed"], ...]
    far_ends: tuple[int, ...]
    losses_db: tuple[float | None, ...]
    bers: tuple[float | None, ...]
    changed_us: int
    commissioned_us: int = 0
    impaired: tuple[EndImpairment, ...] = Field(default=(), exclude_if=is_empty)
    replaced: tuple[EndModule, ...] = Field(default=(), exclude_if=is_empty)


class HostStatus(Model):
    host: int
    state: Literal["up", "down"]
    reason: str | None


class CubeDocument(Model):
    """Written by `cubes`; name `pod-0/cube-12`. Not `powered`: all its hosts fell silent together;
    `throttled`: its hosts say that its chips are too hot, and run slower."""

    name: str
    health: Literal["healthy", "unhealthy"]
    reasons: tuple[str, ...]
    drained: bool
    powered: bool = True
    throttled: bool = False
    hosts: tuple[HostStatus, ...]
    changed_us: int


class CubeUseDocument(Model):
    """Written by `scheduler`, kind `cube-uses`; name `pod-0/cube-12`: who uses the cube. The gateway joins it
    to the cube's document."""

    name: str
    slices: tuple[str, ...]
    chips_used: int


class MultisliceDocument(Model):
    """The job over several pods that a slice is a part of. By pod, in the order of its ring, `slices` has the
    name of its slice, empty where none is known, and `says` how that stands: `waits` for cubes, `holds` some
    until the others have theirs, has `joined` them, or `stands` because of a fault or a move."""

    job: str
    pods: tuple[str, ...]
    slices: tuple[str, ...]
    status: tuple[Literal["nothing", "waits", "holds", "joined", "stands"], ...]


class SliceDocument(Model):
    """Written by `scheduler`; name `pod-0/slice-42`. `reason` says what it waits for, why it stalls or ended;
    `duration_us` how long it is to run, null until it is released. Of one that waits, `queue_position` counts
    from 1, and `promised_us` is when it starts at the latest by the estimates of the moment, null for those
    to whom nothing is promised. `estimate_us` is how long it has cubes by its owner's estimate, doubled
    whenever that proved too short. `since_us` has when it last came into each state that it has been in,
    `restarts` how often it went back to the queue. `recovery` is what may be done when hardware fails under
    it, the choice preferred at equal cost first. `multislice` is left out for a slice of one pod."""

    name: str
    state: SliceState
    since_us: dict[SliceState, int]
    owner: str
    tier: Tier
    shape: Shape
    twisted: bool
    chips: int
    priority: int
    cubes: tuple[str, ...]
    corner: tuple[int, int, int] | None
    links_down: int
    links_degraded: int
    swaps: int
    restarts: int
    reason: str | None
    queue_position: int | None
    promised_us: int | None
    requested_us: int
    started_us: int | None
    ended_us: int | None
    duration_us: int | None
    estimate_us: int | None
    recovery: str
    changed_us: int
    multislice: MultisliceDocument | None = Field(default=None, exclude_if=is_none)


class JobDocument(Model):
    """Written by `jobs`, kind `jobs`; name `pod-0/slice-42`: the job of a slice as it stood at `since_us`.

    `phase` says what it does, `spent_us` for how long it has started, written, or stepped at this speed,
    `kept_us` what work checkpoints keep, `fresh_us` what none keeps yet, `starts` how often it was started,
    `used_us` what its time went to, `finishes_us` when it is done if nothing happens to it. `terms` is null
    for a slice without a job. Of one that `ended` it says what it used; `owner` is under whom that is booked.
    """

    name: str
    owner: str
    tier: Tier
    chips: int
    terms: JobTerms | None
    since_us: int
    phase: Literal["queued", "preparing", "starting", "stepping", "writing", "hung", "standing", "finished"]
    speed_ppm: int
    spent_us: int
    kept_us: int
    uncommitted_us: int
    leaving: bool
    starts: int
    used_us: dict[str, int]
    finishes_us: int | None
    ended: bool


class FaultDocument(Model):
    """Written by `failures`; name `pod-0/fault-7`. `severity` is how bad it is or becomes, in `unit`; null
    for kinds that have none. It is so after `onset_us`."""

    name: str
    kind: FaultKind
    target: str
    state: Literal["active", "ended"]
    injected: bool
    severity: float | None
    unit: str | None
    onset_us: int
    began_us: int
    expires_us: int | None
    ended_us: int | None
    how: str | None


class WorkloadSummary(Model):
    """Kind `summaries`, name `pod-0/workload`. `commissioned_us` is when the fabric began; `balked` are
    requests that were not made, for their owners saw too much work waiting."""

    name: str
    commissioned_us: int
    requested: int
    balked: int


class QueuedSince(Model):
    """When those slices came into the queue whose waits are the median and the 95th percentile of all
    production and research that waits (nearest rank). Filler waits for holes, which nobody promises it."""

    median: int
    p95: int


class SchedulerSummary(Model):
    """Kind `summaries`, name `pod-0/scheduler`. `running` counts all slices on cubes, of which some are
    programming, in preflight, degraded or recovering. `chips_by_place` is what its chips are for since
    `at_us`, `chip_us` the integral of that up to then."""

    name: str
    at_us: int
    admitted: int
    completed: int
    evicted: int
    refused: int
    running: int
    queued: int
    swapped: int
    programming: int
    preflight: int
    degraded: int
    recovering: int
    queued_since_us: QueuedSince | None
    chips: int
    chips_by_category: dict[str, int]
    chip_us: dict[str, int]


class JobsSummary(Model):
    """Kind `summaries`, name `pod-0/jobs`: what the slices used that ended."""

    name: str
    ended: tuple[OwnerUse, ...]


class OcsSummary(Model):
    """Kind `summaries`, name `pod-0/ocs`. `cross_connects` counts circuits made since the start."""

    name: str
    ocs_down: int
    ocs_held: int = 0
    ocs_parts_down: int = 0
    circuits_made: int
    cross_connects: int


class LinksSummary(Model):
    """Kind `summaries`, name `pod-0/transceivers`; link ends by state."""

    name: str
    up: int
    degraded: int
    down: int
    dark: int


class CubesSummary(Model):
    """Kind `summaries`, name `pod-0/cubes`. Cube-time is the integral of healthy cubes up to `at_us`."""

    name: str
    at_us: int
    cubes: int
    healthy: int
    drained: int
    hosts_down: int
    healthy_cube_us: int


class FailuresSummary(Model):
    """Kind `summaries`, name `pod-0/failures`: faults that are active, and those begun since the start, of
    each kind that can strike something there."""

    name: str
    active: int
    begun: dict[FaultKind, int]


Document = (
    OcsDocument
    | LinkGroupDocument
    | CubeDocument
    | CubeUseDocument
    | SliceDocument
    | JobDocument
    | FaultDocument
    | ParametersDocument
    | RepairDocument
    | VerdictDocument
    | WorkloadSummary
    | SchedulerSummary
    | JobsSummary
    | OcsSummary
    | LinksSummary
    | CubesSummary
    | RepairsSummary
    | DiagnosisSummary
    | FailuresSummary
)

POD_DOCUMENTS: dict[str, tuple[type[Model], ...]] = {
    "ocs": (OcsDocument,),
    "links": (LinkGroupDocument,),
    "cubes": (CubeDocument,),
    "cube-uses": (CubeUseDocument,),
    "slices": (SliceDocument,),
    "jobs": (JobDocument,),
    "faults": (FaultDocument,),
    "parameters": (ParametersDocument,),
    "repairs": (RepairDocument,),
    "verdicts": (VerdictDocument,),
    "summaries": (
        WorkloadSummary,
        SchedulerSummary,
        JobsSummary,
        OcsSummary,
        LinksSummary,
        CubesSummary,
        RepairsSummary,
        DiagnosisSummary,
        FailuresSummary,
    ),
}
"""Document kind → models stored under it."""
