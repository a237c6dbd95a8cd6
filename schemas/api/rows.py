"""What the HTTP API gives: rows of things, descriptions, messages, the clock.

Rows are joined from status documents (`schemas.documents.pods`); faults, verdicts and repairs are shown as
their documents are. Losses are in dB. Times (`now_us`, `commissioned_us`, …) are the simulated time of the
site, in microseconds: a fabric that joined a site later began at its `commissioned_us`, and not at 0.
"""

from typing import Annotated, Any, Literal, TypeVar, Union

from pydantic import Field, GetJsonSchemaHandler, SerializeAsAny, TypeAdapter
from pydantic.json_schema import JsonSchemaValue

from schemas.api.network_rows import NetworkFigures
from schemas.body import Body, Model, is_none
from schemas.config.fabric_kinds import FabricKindName
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

# What the HTTP API counts of a fabric: how much of what there is, and how much there has been.


class LinkCounts(Model):
    """Link ends by state."""

    up: int
    degraded: int
    down: int
    dark: int


class SliceCounts(Model):
    """Slices since the start. Those of now are `queued`, and `running`: all on cubes, of which some are
    `programming`, in `preflight`, `degraded` or `recovering`. `balked` were not requested, for too much work
    waited."""

    requested: int
    balked: int
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


class WaitTimes(Model):
    """For how long the production and research has waited that waits now."""

    median_us: int
    p95_us: int


class RepairCounts(Model):
    """Open repairs, `tested` those whose part is burnt in; and since the start those that ended; of the
    completed ones, `in_vain` were those after which there still was what they were to mend."""

    queued: int
    begun: int
    tested: int
    completed: int
    cancelled: int
    failed: int
    ineffective: int


class VerdictCounts(Model):
    """Open verdicts, and since the start those that were given; and of these that ended, whether by the
    repair of the part, of which so many were `in_vain`, or because the readings were as they should be
    again."""

    open: int
    given: int
    repaired: int
    ineffective: int
    withdrawn: int


ModuleCondition = Literal["ok", "failed"]
FaultRow = FaultDocument
RepairRow = RepairDocument


RowT = TypeVar("RowT", bound=Model)
RelatedT = TypeVar("RelatedT", bound=Model)


# --- things -------------------------------------------------------------------------------------------------


class FabricRow(Model):
    """One fabric at a glance. `utilisation_now` is what slices hold of the chips that are healthy and not
    drained; `utilisation` and `cube_availability` are means over all time since it was commissioned. `waits`
    are those of now, null where nobody waits; `drained` counts cubes that take nothing new. `position` is the
    number of messages on its site's log, `faults_begun` has each kind that can strike something. Where there
    are no OCSes, their numbers are 0. A fabric that has retired is shown as it stood at `retired_us`, null
    while it lives."""

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
    cube_availability: float | None
    network: NetworkFigures | None
    faults_active: int
    faults_begun: dict[FaultKind, int]
    verdicts: VerdictCounts | None
    repairs: RepairCounts


class Circuit(Model):
    """One circuit that is wanted of an OCS, from North port to South port; `made` says whether the mirrors do
    it. In a network, whose circuits are its trunks', there is no slice, but the blocks whose fibres enter the
    two ports; of a pod they are null."""

    north: int
    south: int
    slice: str | None
    north_block: str | None
    south_block: str | None
    made: bool
    loss_db: float | None


class OcsSummaryRow(Model):
    """An OCS without its circuits. `held`: they stand, and none can be made; `circuits_stale` were given up
    meanwhile. `parts_down` are its broken parts, such as `supply-1`. Fibres in `patches` are at a spare port,
    for the mirror of their own is among `ports_dead`; `spares_left` are free and sound, North and South."""

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
    """An OCS with every circuit that is wanted of it, by North port."""

    circuits: tuple[Circuit, ...]


class CubeRow(Model):
    """A cube and who uses it; its hosts have rows of their own. `draining`: it takes nothing new, and slices
    are still there; `drained`: it takes nothing new, and nothing is there any more. Not `powered`: no host
    of it is heard; `throttled`: it is too hot, and its chips run slower."""

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


class HostRow(Model):
    """`reason` says what is wrong with a host that is down."""

    name: str
    state: Literal["up", "down"]
    reason: str | None


class LinkRow(Model):
    """One link end. Loss and bit error rate are null where there is no light to measure, the OCS where the
    fibres lead straight to the far end. Its module is the one of commissioning (`generation` 0) or has taken
    the place of that many before it; it is there since `installed_us`."""

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
    """A verdict. Where it suspects a module, `batch` is that of which the module was made, by inventory: null
    of one that was put in later; `alike` is how many open verdicts hold the same of modules of this batch,
    itself among them. No fault enters either: that many fail alike says that a batch is bad."""

    batch: str | None = None
    batch_verdicts: int = 0


class SliceCondition(Model):
    """A state of a slice, and since when it is in it, or when it last came into it."""

    state: SliceState
    since_us: int


class SliceRow(Model):
    """A slice as its document has it, its shape in words (`4x4x8`), and as it is now.

    `conditions` has every state that it was in, in order of time, the one of now last. `waited_us` is how
    long it has waited for its start since it last came into the queue, or waited there; `ran_us` how long it
    has been running since its start, `left_us` how long it still will, null where nobody knows. Of one that
    waits, `queue_position` counts from 1, and `promised_us` is when it starts at the latest by the estimates
    of the moment; null for those to whom nothing is promised. `job` is the job over several pods that it is a
    part of, by the name of its slice in the first of them; left out for a slice of one pod.
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
    """A chip by its cube and its place there, each of 0 to 3."""

    cube: str
    x: int
    y: int
    z: int


class StrandPath(Model):
    """One strand's way through an OCS; the port of the other side is null where no circuit is made. Where the
    fibre leads straight to the far end, there are no OCS and no ports: all are null. A fibre that was patched
    is not at its port, but at the spare one told."""

    strand: int
    ocs: str | None
    north: int | None
    south: int | None
    north_spare: int | None = Field(default=None, exclude_if=is_none)
    south_spare: int | None = Field(default=None, exclude_if=is_none)


class LightPath(Model):
    """The way of the light from one link end, by the circuits that are made, or along fixed fibres.
    `wanted_end` is where it would lead if all circuits that are wanted were made; `far_condition` is that of
    the module there. `impairment` and `far_impairment` are what is wrong with the light of both ends, if it
    is not as made; `generation` and `far_generation` tell how many modules were at the ends before those of
    now, if any."""

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


# --- what hangs on a part -----------------------------------------------------------------------------------


class ImpactLink(Model):
    """A link in use, by its two link ends."""

    end: str
    far_end: str


class ImpactReport(Model):
    """What hangs on a part, with the links and slices of now.

    `domain` goes out of use as a whole. `cubes`, `hosts` and `chips` are in the part, or have one of its
    links; `link_ends` are in it, or their fibres lead to it or to those that are. `links` in use end at it or
    run through it. `slices` hold what goes out of use, or have such a link between cubes of their own.
    `note` says why less hangs on the part than its place lets expect, or other things.
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
    """Lets the API's page show the body as one of all message types; a reader goes by the field `type`."""

    def __get_pydantic_json_schema__(self, _schema: Any, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        bodies: Any = Union[tuple(TYPES.values())]  # noqa: UP007 -- as many as there are
        return handler(TypeAdapter(bodies).core_schema)


class LogMessage(Envelope):
    """A message as it stands on the log; `type` says of which type its body is. Its body names hardware by
    number; `about` are the names of all that it is about, and `text` is what it says in one short line."""

    body: Annotated[SerializeAsAny[Body], _AnyMessageBody()]
    about: tuple[str, ...]
    text: str


# --- the twin itself ----------------------------------------------------------------------------------------


class ClockReport(Model):
    """The simulated clock: up to when all is done, the speed asked for and the speed held, how far the twin
    is behind, and the moment at which time will stand still, where one is ahead."""

    now_us: int
    speed: float
    paused: bool
    achieved_speed: float
    lag_us: int
    until_us: int | None


class ForkInfo(Model):
    """Of what a fork is one: of the twin that was kept in `place`, from the moment `at_us` on. `positions` is
    how many messages of each site's log it has from there. `draws` is the future of `lightwave forecast`
    whose draws it has, null where it has its parent's own, `settings` what was set at its first moment."""

    name: str
    parent: str
    place: str
    at_us: int
    positions: dict[SiteName, int]
    draws: int | None
    settings: tuple[str, ...]


class TwinInfo(Model):
    """Which twin this is: `runtime` says what it runs on, `place` where it is kept, an embedded one in a
    folder, a live one under an id in its Redis and Kafka. `fork` is null unless it is one."""

    runtime: Literal["embedded", "live"]
    version: str
    place: str
    fork: ForkInfo | None = None


class HealthReport(Model):
    """Whether all is well; if not, why, one sentence each. `notes` are sentences on what is a help and fails,
    without which the twin is well."""

    healthy: bool
    problems: tuple[str, ...]
    notes: tuple[str, ...] = ()


class ErrorReport(Model):
    """What was wrong, in one sentence."""

    error: str
