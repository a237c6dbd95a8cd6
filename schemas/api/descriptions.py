"""Descriptions in the HTTP API: a resource, related resources, and the last messages about it."""

from typing import Generic

from pydantic import Field

from schemas.api.network_rows import (
    BlockRow,
    BundleRow,
    DemandRow,
    DomainRow,
    RackRow,
    RewiringRow,
    TrunkRow,
)
from schemas.api.rows import (
    CubeRow,
    DrillRow,
    FabricRow,
    FaultRow,
    HostRow,
    LinkRow,
    LogMessage,
    OcsRow,
    OcsSummaryRow,
    RelatedT,
    RepairRow,
    RowT,
    ScheduleRow,
    SliceRow,
    StrandPath,
    VerdictRow,
)
from schemas.api.sensor_readings import FieldReading, OcsFieldReading
from schemas.body import Model, is_empty, is_none
from schemas.documents.pods import ParameterRow


class OcsFaultyLinks(Model):
    """An OCS and how many of a slice's link ends through it are down or degraded."""

    name: str
    links: int


class FabricRelated(Model):
    """Everything in the fabric that needs attention: resources that are down, degraded, drained or have
    failed. Null for kinds of resources that the fabric does not have. `rewirings` are those that have not
    ended. `parameters` differ from the values at commissioning; they are left out if none does."""

    ocs: tuple[OcsSummaryRow, ...]
    cubes: tuple[CubeRow, ...] | None
    slices: tuple[SliceRow, ...] | None
    blocks: tuple[BlockRow, ...] | None
    trunks: tuple[TrunkRow, ...] | None
    rewirings: tuple[RewiringRow, ...] | None
    faults: tuple[FaultRow, ...]
    verdicts: tuple[VerdictRow, ...] | None
    repairs: tuple[RepairRow, ...]
    parameters: tuple[ParameterRow, ...] = Field(default=(), exclude_if=is_empty)


class PartRelated(Model):
    """Active faults and open repairs of a part and of everything in it. For an OCS of a network this includes
    its rack and domains, for a fibre bundle the parts at both ends. In a pod there are also the open verdicts
    that name any of these."""

    faults: tuple[FaultRow, ...]
    verdicts: tuple[VerdictRow, ...] | None = Field(default=None, exclude_if=is_none)
    repairs: tuple[RepairRow, ...]


class OcsRelated(PartRelated):
    """As for any part, and the sensor readings of the OCS."""

    readings: tuple[OcsFieldReading, ...]


class DrainRequestRow(Model):
    """The request for a drain: its message, its sender and the reason; null if none was given. `drill` is the
    drill that ordered it."""

    id: str
    at_us: int
    asked_by: str | None
    comment: str | None
    drill: str | None


class CubeRelated(Model):
    """Hosts and links of the cube that are down or degraded, and the slices on it. `drain_requests` are those
    of the drain under way or planned."""

    drain_requests: tuple[DrainRequestRow, ...]

    hosts: tuple[HostRow, ...]
    links: tuple[LinkRow, ...]
    slices: tuple[SliceRow, ...]
    faults: tuple[FaultRow, ...]
    verdicts: tuple[VerdictRow, ...]
    repairs: tuple[RepairRow, ...]


class LinkRelated(Model):
    """Both strands, the end that they lead to or should lead to, the sensor readings of the module, and the
    open verdicts that name the end."""

    strands: tuple[StrandPath, ...]
    partner: tuple[LinkRow, ...]
    readings: tuple[FieldReading, ...]
    faults: tuple[FaultRow, ...]
    verdicts: tuple[VerdictRow, ...]
    repairs: tuple[RepairRow, ...]


class VerdictRelated(Model):
    """The link ends of the verdict, the true faults of its target, and all repairs that act on it, including
    those that have ended."""

    links: tuple[LinkRow, ...]
    faults: tuple[FaultRow, ...]
    repairs: tuple[RepairRow, ...]


class SliceRelated(Model):
    """The slice's cubes, its link ends that are down or degraded, and the OCSes that those ends share."""

    cubes: tuple[CubeRow, ...]
    links: tuple[LinkRow, ...]
    ocs: tuple[OcsFaultyLinks, ...]


class BlockRelated(Model):
    """The trunks of the block, and the faults and repairs of the block and its fibre bundles."""

    trunks: tuple[TrunkRow, ...]
    faults: tuple[FaultRow, ...]
    repairs: tuple[RepairRow, ...]


class TrunkRelated(Model):
    """Both blocks, the demands between them, and all faults and repairs on the way."""

    blocks: tuple[BlockRow, ...]
    demands: tuple[DemandRow, ...]
    faults: tuple[FaultRow, ...]
    repairs: tuple[RepairRow, ...]


class DemandRelated(Model):
    """The trunk between the two blocks, if there is one."""

    trunks: tuple[TrunkRow, ...]


class RewiringRelated(Model):
    """Domains without control or power that delay the rewiring. Empty once it has ended."""

    domains: tuple[DomainRow, ...]


class RackRelated(Model):
    """The OCSes in a rack or domain, with their faults and repairs."""

    ocs: tuple[OcsSummaryRow, ...]
    faults: tuple[FaultRow, ...]
    repairs: tuple[RepairRow, ...]


class Description(Model, Generic[RowT, RelatedT]):
    """A resource, its related resources, and the last of the `events_in_all` messages about it."""

    object: RowT
    related: RelatedT
    events: tuple[LogMessage, ...]
    events_in_all: int


class FabricDescription(Description[FabricRow, FabricRelated]):
    """A fabric, and everything in it that needs attention."""


class OcsDescription(Description[OcsRow, OcsRelated]):
    """An OCS, with its sensor readings, faults and repairs."""


class CubeDescription(Description[CubeRow, CubeRelated]):
    """A cube, with what is down or degraded in it, and the slices on it."""


class HostDescription(Description[HostRow, PartRelated]):
    """A host, with its faults and repairs."""


class LinkDescription(Description[LinkRow, LinkRelated]):
    """A link end, with its light path and partner."""


class SliceDescription(Description[SliceRow, SliceRelated]):
    """A slice, with its cubes and the parts that degrade it."""


class FaultDescription(Description[FaultRow, PartRelated]):
    """A fault, with all faults, verdicts and repairs of its target."""


class DrillRelated(Model):
    """The faults that the drill injected."""

    faults: tuple[FaultRow, ...]


class DrillDescription(Description[DrillRow, DrillRelated]):
    """A drill, with the faults that it injected."""


class ScheduleRelated(Model):
    """The runs of the schedule that the twin remembers."""

    drills: tuple[DrillRow, ...]


class ScheduleDescription(Description[ScheduleRow, ScheduleRelated]):
    """A schedule of a drill, with its runs."""


class RepairDescription(Description[RepairRow, PartRelated]):
    """A repair, with all faults, verdicts and repairs of its target."""


class VerdictDescription(Description[VerdictRow, VerdictRelated]):
    """A verdict, with its link ends and the repairs that act on it."""


class BlockDescription(Description[BlockRow, BlockRelated]):
    """A block, with its trunks."""


class TrunkDescription(Description[TrunkRow, TrunkRelated]):
    """A trunk, with its blocks and the demands between them."""


class DemandDescription(Description[DemandRow, DemandRelated]):
    """The demand from one block to another."""


class RewiringDescription(Description[RewiringRow, RewiringRelated]):
    """A rewiring, with the domains that delay it."""


class RackDescription(Description[RackRow, RackRelated]):
    """A rack, with its OCSes."""


class BundleDescription(Description[BundleRow, PartRelated]):
    """A fibre bundle, with its faults and repairs."""


class DomainDescription(Description[DomainRow, RackRelated]):
    """A domain, with its OCSes."""
