"""Rows and reports of the HTTP API: resources, light paths, messages, the clock.

Rows are joined from status documents (`schemas.documents.pods`); faults, verdicts and repairs are shown as
their documents are. Losses are in dB. Times (`now_us`, `commissioned_us`, …) are simulated microseconds of
the site: a fabric that joined its site later starts at its `commissioned_us` and not at 0.
"""

from typing import Annotated, Any, Literal, TypeVar, Union

from pydantic import Field, GetJsonSchemaHandler, SerializeAsAny, TypeAdapter
from pydantic.json_schema import JsonSchemaValue

from schemas.api.network_rows import NetworkFigures
from schemas.body import Body, Model, is_none
from schemas.config.fabric_configs import FabricKindName
from schemas.documents.drills import DrillDocument, ScheduleDocument
from schemas.documents.pods import (
    EndImpairment,
    FaultDocument,
    LinkState,
    MultisliceDocument,
    PatchStatus,
    SliceState,
)
from schemas.documents.repairs import RepairDocument, VerdictDocument
from schemas.envelope import Envelope
from schemas.names import FaultKind, SiteName, Tier
from schemas.registry import TYPES

# --- counts of a fabric: current numbers, and totals since the start ---


class LinkCounts(Model):
    """Link ends by state."""

    up: int
    degraded: int
    down: int
    dark: int


class SliceCounts(Model):
    """Slices since the start, and current ones by state. Every current slice has one state: `queued`,
    `programming`, `preflight`, `running`, `degraded` or `recovering`; `active` counts all with cubes, which
    are in the last five. `balked` counts requests that owners did not make because too much work was
    waiting."""

    requested: int
    balked: int
    admitted: int
    completed: int
    evicted: int
    refused: int
    running: int
    active: int
    queued: int
    swapped: int
    programming: int
    preflight: int
    degraded: int
    recovering: int


class WaitTimes(Model):
    """How long the production and research slices in the queue have waited so far."""

    median_us: int
    p95_us: int


class RepairCounts(Model):
    """Open repairs, of which `tested` are in burn-in; and since the start, repairs by outcome. `ineffective`
    counts completed repairs that did not remove the fault."""

    queued: int
    begun: int
    tested: int
    completed: int
    cancelled: int
    failed: int
    ineffective: int


class VerdictCounts(Model):
    """Open verdicts, and since the start all that were given, and those that ended: `repaired` (of which
    `ineffective` did not remove the fault), or `withdrawn` because the readings became normal again."""

    open: int
    given: int
    repaired: int
    ineffective: int
    withdrawn: int


ModuleCondition = Literal["ok", "failed"]
FaultRow = FaultDocument
RepairRow = RepairDocument
DrillRow = DrillDocument
ScheduleRow = ScheduleDocument


RowT = TypeVar("RowT", bound=Model)
RelatedT = TypeVar("RelatedT", bound=Model)


# --- resources ---------------------------------------------------------------------------------------------


class FabricRow(Model):
    """Key figures of a fabric. `utilisation_now` is the share of healthy, undrained chips that slices have
    now; `utilisation` and `cube_availability` are means since commissioning. `productive_share` is the share
    of the same chip-time as `utilisation` whose work was kept, null while services are read at different
    times. `waits` is null if no production or research slice waits. `drained` counts cubes that take no new
    slices. `position` is the number of messages on its site's log. `faults_begun` has each kind of fault that
    the fabric can have; it and `faults_active` are null for callers who may not see faults. Numbers of OCSes
    are 0 in a fabric without OCSes. A retired fabric is shown as of `retired_us`, null while it runs."""

    name: str
    kind: FabricKindName
    site: str
    commissioned_us: int
    retired_us: int | None
    now_us: int
    position: int
    cubes: int | None
    healthy: int | None
    drained: int | None
    hosts_down: int | None
    links: LinkCounts | None
    ocs: int
    ocs_down: int
    ocs_held: int
    ocs_parts_down: int
    cross_connects: int
    chips: int | None
    chips_used: int | None
    slices: SliceCounts | None
    waits: WaitTimes | None
    utilisation_now: float | None
    utilisation: float | None
    productive_share: float | None
    cube_availability: float | None
    network: NetworkFigures | None
    faults_active: int | None
    faults_begun: dict[FaultKind, int] | None
    verdicts: VerdictCounts | None
    repairs: RepairCounts


class Circuit(Model):
    """One desired circuit of an OCS, from a North port to a South port; `made` shows whether the mirrors make
    it. In a network, `north_block` and `south_block` are the blocks whose fibres enter the two ports, and
    `slice` is null; in a pod it is the other way round."""

    north: int
    south: int
    slice: str | None
    north_block: str | None
    south_block: str | None
    made: bool
    loss_db: float | None


class OcsSummaryRow(Model):
    """An OCS without its circuits. `held`: its circuits stay, but none can be made; `circuits_stale` counts
    circuits that were released meanwhile. `parts_down` are failed parts, such as `supply-1`. `patches` are
    fibres that were moved to a spare port, away from the `ports_dead`. `spares_left` are the free, working
    spare ports, North and South."""

    name: str
    state: Literal["up", "held", "down"]
    radix: int
    circuits_wanted: int
    circuits_made: int
    circuits_stale: int
    parts_down: tuple[str, ...]
    ports_down: tuple[str, ...]
    patches: tuple[PatchStatus, ...]
    ports_dead: tuple[str, ...]
    spares_left: tuple[int, int]
    changed_us: int


class OcsRow(OcsSummaryRow):
    """An OCS with every desired circuit, by North port."""

    circuits: tuple[Circuit, ...]


class CubeRow(Model):
    """A cube and the slices on it; its hosts have rows of their own. `draining`: it takes no new slices, but
    still has some; `drained`: it takes none and has none. `powered` is false if all its hosts are silent.
    `throttled`: it is too hot, and its chips run slower. The drain under way, or else the planned one, begins
    at `drain_from_us`, null once it has begun, and ends at `drain_until_us`, null without a known end.
    `next_drain_from_us` and `next_drain_until_us` are of one that is planned after the one under way."""

    name: str
    health: Literal["healthy", "unhealthy"]
    reasons: tuple[str, ...]
    drained: bool
    draining: bool
    powered: bool = True
    throttled: bool = False
    changed_us: int
    hosts_down: int
    slices: tuple[str, ...]
    chips_used: int
    drain_from_us: int | None = None
    drain_until_us: int | None = None
    next_drain_from_us: int | None = None
    next_drain_until_us: int | None = None


class HostRow(Model):
    """A host; `reason` is why it is down."""

    name: str
    state: Literal["up", "down"]
    reason: str | None


class LinkRow(Model):
    """One link end. Loss and bit error rate (`ber`) are null without light to measure; `ocs` is null if
    fibres lead directly to the far end. `generation` counts replacements of its module (0: the original), and
    `installed_us` is when the current one was installed."""

    name: str
    state: LinkState
    condition: ModuleCondition
    far_end: str | None
    loss_db: float | None
    ber: float | None
    ocs: str | None
    slice: str | None
    generation: int = 0
    installed_us: int = 0


class VerdictRow(VerdictDocument):
    """A verdict. If it suspects a module, `batch` is the production batch of that module, null for one
    installed later. `batch_verdicts` counts the open verdicts with the same suspicion about modules of this
    batch, including this one. No true fault is used: many equal verdicts suggest a bad batch."""

    batch: str | None = None
    batch_verdicts: int = 0


class SliceCondition(Model):
    """A state of a slice, and the time of the last entry into it."""

    state: SliceState
    since_us: int


class SliceRow(Model):
    """A slice as its document has it, with derived fields; `shape` is text, such as `4x4x8`.

    `conditions` lists every state so far in order of time, the current one last. `waited_us` is the time in
    the queue since it last entered it, `ran_us` the time since its start, and `left_us` the remaining run
    time, null if unknown. For a waiting slice, `queue_position` counts from 1, and `promised_us` is the
    latest start by the current estimates, null without a reservation. `job` is the multislice job that it is
    a part of, named after its slice in the first pod; it is left out for a single slice.
    """

    name: str
    state: SliceState
    owner: str
    tier: Tier
    shape: str
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
    requested_us: int
    started_us: int | None
    ended_us: int | None
    duration_us: int | None
    estimate_us: int | None
    recovery: str
    changed_us: int
    queue_position: int | None
    promised_us: int | None
    waited_us: int
    ran_us: int | None
    left_us: int | None
    conditions: tuple[SliceCondition, ...]
    job: str | None = Field(default=None, exclude_if=is_none)
    multislice: MultisliceDocument | None = Field(default=None, exclude_if=is_none)


# --- light paths --------------------------------------------------------------------------------------------


class ChipLocation(Model):
    """A chip by its cube and its coordinates there, each from 0 to 3."""

    cube: str
    x: int
    y: int
    z: int


class StrandPath(Model):
    """The path of one strand through an OCS. The port of the other side is null without a circuit. If fibres
    lead directly to the far end, the OCS and both ports are null. `north_spare` and `south_spare` are the
    spare ports of fibres that were moved."""

    strand: int
    ocs: str | None
    north: int | None
    south: int | None
    north_spare: int | None = Field(default=None, exclude_if=is_none)
    south_spare: int | None = Field(default=None, exclude_if=is_none)


class LightPath(Model):
    """The light path from one link end, through the circuits that are made or along fixed fibres.
    `wanted_end` is the end that it would reach if all desired circuits were made. `far_condition` is the
    condition of the module at the far end. `impairment` and `far_impairment` are the optical impairments of
    both ends, left out if there are none; `generation` and `far_generation` count replaced modules, left out
    for original ones."""

    end: str
    chip: ChipLocation
    far_end: str | None
    far_chip: ChipLocation | None
    wanted_end: str | None
    state: LinkState
    condition: ModuleCondition
    far_condition: ModuleCondition | None
    loss_db: float | None
    ber: float | None
    slice: str | None
    strands: tuple[StrandPath, ...]
    impairment: EndImpairment | None = Field(default=None, exclude_if=is_none)
    far_impairment: EndImpairment | None = Field(default=None, exclude_if=is_none)
    generation: int | None = Field(default=None, exclude_if=is_none)
    far_generation: int | None = Field(default=None, exclude_if=is_none)


# --- impact of a part -----------------------------------------------------------------------------------


class ImpactLink(Model):
    """A link in use, by its two link ends."""

    end: str
    far_end: str


class ImpactReport(Model):
    """Everything that depends on a part, with the current links and slices.

    `domain` is the part that goes out of use as a whole. `cubes`, `hosts` and `chips` are in it, or have one
    of its links. `link_ends` are in it, or have a fibre through it, or are joined to such an end. `links` in
    use end in it or run through it. `slices` use a part that goes out of use, or have such a link between
    their own cubes. `note` explains a result that differs from what the part's place suggests.
    """

    target: str
    domain: str
    cubes: tuple[str, ...]
    hosts: tuple[str, ...]
    chips: tuple[str, ...]
    link_ends: tuple[str, ...]
    links: tuple[ImpactLink, ...]
    slices: tuple[SliceRow, ...]
    note: str | None = None


# --- messages -----------------------------------------------------------------------------------------------


class _AnyMessageBody:
    """Shows the body in the API's schema as one of all message types; `type` selects which."""

    def __get_pydantic_json_schema__(self, _schema: Any, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        bodies: Any = Union[tuple(TYPES.values())]  # noqa: UP007 -- as many as there are
        return handler(TypeAdapter(bodies).core_schema)


class LogMessage(Envelope):
    """A message of the log; `type` is the type of its body. The body names hardware by number; `about` has
    the names of everything that it is about, and `text` is a one-line summary."""

    body: Annotated[SerializeAsAny[Body], _AnyMessageBody()]
    about: tuple[str, ...]
    text: str


# --- the twin itself ----------------------------------------------------------------------------------------


class ClockReport(Model):
    """The simulated clock. `now_us` is the time up to which everything is simulated. `speed` is the requested
    ratio of simulated to wall time, and `achieved_speed` the measured one. `lag_us` is how far the twin is
    behind the requested speed. `until_us` is when it will pause, null if it will not. `run_until_us` is
    the time that the last run was to reach, reached or not; null if another change of the clock ended that
    run."""

    now_us: int
    speed: float
    paused: bool
    achieved_speed: float
    lag_us: int
    until_us: int | None
    run_until_us: int | None = None


class ForkInfo(Model):
    """The origin of a fork: a copy of the twin stored in `place`, from the simulated time `at_us` on.
    `positions` is the number of messages that it took from each site's log. `draws` is the future of
    `lightwave forecast` whose random draws it has, null for its parent's own. `settings` are the parameters
    that were set when it started."""

    name: str
    parent: str
    place: str
    at_us: int
    positions: dict[SiteName, int]
    draws: int | None
    settings: tuple[str, ...]


class TwinInfo(Model):
    """Which twin this is. `runtime` is where it runs, and `place` where it is stored: an embedded twin in a
    folder, a live one under an id in Redis and Kafka. `fork` is null unless the twin is a fork."""

    runtime: Literal["embedded", "live"]
    version: str
    place: str
    fork: ForkInfo | None = None


class HealthReport(Model):
    """Whether the twin is healthy; `problems` explains why not, one sentence each. `notes` are failures of
    optional parts, without which the twin is still healthy."""

    healthy: bool
    problems: tuple[str, ...]
    notes: tuple[str, ...] = ()


class ErrorReport(Model):
    """The error, in one sentence."""

    error: str
