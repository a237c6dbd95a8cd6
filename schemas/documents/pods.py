"""Status documents of pods, each a pure function of one service's state.

Desired and actual state are separate fields. `changed_us` is the simulated time of the last change.
"""

from typing import Literal

from pydantic import Field

from schemas.body import Model, is_empty, is_none
from schemas.config.parameter import ParameterName, ParameterValue
from schemas.documents.repairs import DiagnosisSummary, RepairDocument, RepairsSummary, VerdictDocument
from schemas.messages.jobs import JobTerms, OwnerUse
from schemas.names import FaultKind, Shape, Tier

# --- link ends ---


class EndImpairment(Model):
    """The optical impairments of the link end with this number. `unpowered`: its cube has no power.
    `worked_on`: a technician works on it. `dirt_db` is loss that also reflects light. By strand: `lost_db` is
    loss without reflection, and `launch_loss_db` is lost launch power. `sensitivity_loss_db` is the extra
    power that the receivers need, `leak_db` the extra crosstalk of the circulator, and `excess_temperature_k`
    the temperature above that of a healthy module in the same hall."""

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
    """A replacement module at a link end. `generation` counts replacements (1 is the first), `since_us` is
    when it was installed."""

    end: int
    generation: int
    since_us: int


# --- parameters that changed at run time ---


class ParameterRow(Model):
    """A parameter whose value differs from the one at commissioning, since `changed_us`. `changed_by` is the
    id of the request, null for callers who may not see it. If a drill has changed it, `drill` is its name,
    and the value before is back at `expires_us` at the latest."""

    name: ParameterName
    value: ParameterValue
    commissioned: ParameterValue
    changed_us: int
    changed_by: str | None
    drill: str | None = Field(default=None, exclude_if=is_none)
    expires_us: int | None = Field(default=None, exclude_if=is_none)


class ParametersDocument(Model):
    """Written by `failures`, which accepts or refuses changes; kind `parameters`, name `pod-0`."""

    name: str
    changed: tuple[ParameterRow, ...]


LinkState = Literal["up", "degraded", "down", "dark"]
"""`dark`: no circuit is desired for this link end."""

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
    """A fibre that was moved from its `port` to a `spare` port, such as from N24 to N131."""

    port: str
    spare: str


class ManualCircuitStatus(Model):
    """A circuit that an operator made: its North port, and the id of the request."""

    north: int
    request: str


class OcsDocument(Model):
    """Written by `ocs`; name `pod-0/ocs-17`.

    By North port: `wanted` is the South port commanded (−1: none), `made` whether the mirrors make the
    circuit, `slices` the number of the slice that it belongs to (−1: none), and `losses_db` the factory
    insertion loss between the two ports (null if none is commanded). `unaligned` lists desired circuits that
    are missing because their mirrors failed to align, as North port and reason.

    `held`: circuits stay, but none can be made. `circuits_stale` counts circuits that were released and still
    stand. `parts_down` are the failed parts, such as `supply-1`; `power` means the power feed of the chassis.
    `ports_down` wait for repair. `ports_dead` are ports whose fibres were moved for good; `patches` shows
    where to. `spares_left` are the free spare ports, North and South. `manual_circuits` are circuits that an
    operator made and that belong to no slice.
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

    `far_ends` are link-end numbers, −1 unless both strands have a circuit. `losses_db` is the loss of fibre
    and OCS on the worse strand, null without a far end. `bers` is the bit error rate of the worst received
    lane before the outer code, also null if the module at either end has failed. `impaired` lists ends with
    optical impairments, `replaced` ends whose module is not the one of `commissioned_us`, both in order of
    the ends.
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
    """Written by `cubes`; name `pod-0/cube-12`. `powered` is false if all its hosts went silent at the same
    time. `throttled`: its hosts report that the chips are too hot and run slower. The drain under way, or
    else the planned one, is from `drain_from_us`, null once it has begun, until `drain_until_us`, null if it
    has no known end. `next_drain_from_us` and `next_drain_until_us` are of one that is planned after the one
    under way."""

    name: str
    health: Literal["healthy", "unhealthy"]
    reasons: tuple[str, ...]
    drained: bool
    powered: bool = True
    throttled: bool = False
    hosts: tuple[HostStatus, ...]
    changed_us: int
    drain_from_us: int | None = None
    drain_until_us: int | None = None
    next_drain_from_us: int | None = Field(default=None, exclude_if=is_none)
    next_drain_until_us: int | None = Field(default=None, exclude_if=is_none)


class CubeUseDocument(Model):
    """Written by `scheduler`, kind `cube-uses`; name `pod-0/cube-12`: the slices that use the cube. The
    gateway joins it to the cube's document."""

    name: str
    slices: tuple[str, ...]
    chips_used: int


class MultisliceDocument(Model):
    """The multislice job that a slice is a part of. By pod, in ring order: `slices` is the name of the pod's
    slice (empty: not known), and `status` its status. `waits`: it waits for cubes; `holds`: it keeps cubes
    until the other slices have theirs; `joined`: it runs; `stopped`: it is stopped by a fault or a move."""

    job: str
    pods: tuple[str, ...]
    slices: tuple[str, ...]
    status: tuple[Literal["nothing", "waits", "holds", "joined", "stopped"], ...]


class SliceDocument(Model):
    """Written by `scheduler`; name `pod-0/slice-42`. `reason` is why it waits, does not make progress, or
    ended. `duration_us` is the requested run time, null if it runs until released. For a waiting slice,
    `queue_position` counts from 1, and `promised_us` is the latest start by the current estimates, null
    without a reservation. `estimate_us` is its owner's estimate of the run time, doubled each time it proves
    too short. `since_us` has the time of the last entry into each state so far. `restarts` counts returns to
    the queue. `recovery` lists the allowed recoveries from hardware faults, in order of preference.
    `multislice` is left out for a single slice."""

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
    """Written by `jobs`, kind `jobs`; name `pod-0/slice-42`: the job of a slice, as of `since_us`.

    `spent_us` is the time spent in the current `phase` at this speed. `kept_us` is work that a checkpoint
    keeps, `uncommitted_us` work since the last checkpoint. `starts` counts starts of the job. `used_us` is
    its time by category. `finishes_us` is the end if no fault happens. `terms` is null for a slice without a
    job. `ended`: the slice has ended, and the document shows what it used. Its chip-time is charged to
    `owner`.
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
    """Written by `failures`; name `pod-0/fault-7`. `severity` is in `unit`, null for kinds without a
    severity; the fault reaches it `onset_us` after it began. `how` tells how the fault ended. `comment` is
    that of the request that injected it, `asked_by` the name of its sender,
    `drill` the drill that injected it."""

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
    comment: str | None = None
    asked_by: str | None = Field(default=None, exclude_if=is_none)
    drill: str | None = Field(default=None, exclude_if=is_none)


class WorkloadSummary(Model):
    """Kind `summaries`, name `pod-0/workload`. `commissioned_us` is when the fabric started. `balked` counts
    requests that owners did not make because too much work was waiting."""

    name: str
    commissioned_us: int
    requested: int
    balked: int


class QueuedSince(Model):
    """Times since which production and research slices wait: the slice with the median wait, and the one with
    the 95th percentile (nearest rank). Filler does not count: it has no reservation."""

    median: int
    p95: int


class SchedulerSummary(Model):
    """Kind `summaries`, name `pod-0/scheduler`. `running` counts all slices that have cubes, including those
    that are programming, in preflight, degraded or recovering. `chips_by_category` is the current use of the
    chips, since `at_us`; `chip_us` is its integral up to then."""

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

    @property
    def running_undisturbed(self) -> int:
        """Slices in the state `running`: those with cubes that are in no other state."""
        return self.running - self.programming - self.preflight - self.degraded - self.recovering


class JobsSummary(Model):
    """Kind `summaries`, name `pod-0/jobs`: the chip-time of slices that have ended."""

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
    """Kind `summaries`, name `pod-0/transceivers`: link ends by state."""

    name: str
    up: int
    degraded: int
    down: int
    dark: int


class CubesSummary(Model):
    """Kind `summaries`, name `pod-0/cubes`. `healthy_cube_us` is the integral of healthy cubes up to
    `at_us`."""

    name: str
    at_us: int
    cubes: int
    healthy: int
    drained: int
    hosts_down: int
    healthy_cube_us: int


class FailuresSummary(Model):
    """Kind `summaries`, name `pod-0/failures`: active faults, and the number of faults since the start for
    each kind that the fabric can have."""

    name: str
    active: int
    begun: dict[FaultKind, int]


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
"""Document kind → the models of its documents."""
