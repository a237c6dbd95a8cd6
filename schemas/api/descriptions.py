"""What the HTTP API gives of one thing that is described: the thing, what stands around it, what happened to
it lately."""

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
    """What is not as it should be; null of what such a fabric has not. `rewirings` are those that have not
    ended; `parameters` are not as the fabric was commissioned, and left out where all are."""

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
    """Active faults and open repairs of a part or anything in it; of an OCS of a network also of its rack and
    domains, of a fibre bundle of what takes the light from either end. In a pod also the open verdicts that
    name any of these."""

    faults: tuple[FaultRow, ...]
    verdicts: tuple[VerdictRow, ...] | None = Field(default=None, exclude_if=is_none)
    repairs: tuple[RepairRow, ...]


class OcsRelated(PartRelated):
    """As of any part, and what the OCS reads of itself."""

    readings: tuple[OcsFieldReading, ...]


class CubeRelated(Model):
    """Hosts and links of the cube that are not well, and who uses it."""

    hosts: tuple[HostRow, ...]
    links: tuple[LinkRow, ...]
    slices: tuple[SliceRow, ...]
    faults: tuple[FaultRow, ...]
    verdicts: tuple[VerdictRow, ...]
    repairs: tuple[RepairRow, ...]


class LinkRelated(Model):
    """Both strands, the end to which they lead or should, what the module reads of itself, and the open
    verdicts that name the end."""

    strands: tuple[StrandPath, ...]
    partner: tuple[LinkRow, ...]
    readings: tuple[FieldReading, ...]
    faults: tuple[FaultRow, ...]
    verdicts: tuple[VerdictRow, ...]
    repairs: tuple[RepairRow, ...]


class VerdictRelated(Model):
    """The link ends that a verdict is about, what is broken in truth at its target, and the repairs that act
    on it, ended ones too."""

    links: tuple[LinkRow, ...]
    faults: tuple[FaultRow, ...]
    repairs: tuple[RepairRow, ...]


class SliceRelated(Model):
    """The slice's cubes, its link ends that are not well, and the OCSes that those have in common."""

    cubes: tuple[CubeRow, ...]
    links: tuple[LinkRow, ...]
    ocs: tuple[OcsFaultyLinks, ...]


class BlockRelated(Model):
    """The block's trunks, and what its fibre bundles and it suffer from."""

    trunks: tuple[TrunkRow, ...]
    faults: tuple[FaultRow, ...]
    repairs: tuple[RepairRow, ...]


class TrunkRelated(Model):
    """Both blocks, what they want to send each other, and all that is broken on the way."""

    blocks: tuple[BlockRow, ...]
    demands: tuple[DemandRow, ...]
    faults: tuple[FaultRow, ...]
    repairs: tuple[RepairRow, ...]


class DemandRelated(Model):
    """The trunk that joins the two blocks directly, where there is one."""

    trunks: tuple[TrunkRow, ...]


class RewiringRelated(Model):
    """What holds a rewiring up: domains without control or power. Nothing once it has ended."""

    domains: tuple[DomainRow, ...]


class RackRelated(Model):
    """The OCSes that are in a rack or domain, and what they suffer from."""

    ocs: tuple[OcsSummaryRow, ...]
    faults: tuple[FaultRow, ...]
    repairs: tuple[RepairRow, ...]


class Description(Model, Generic[RowT, RelatedT]):
    """One thing, what stands around it, and the last messages about it, of `events_in_all` on the log."""

    object: RowT
    related: RelatedT
    events: tuple[LogMessage, ...]
    events_in_all: int


class FabricDescription(Description[FabricRow, FabricRelated]):
    """A fabric, and what is not as it should be there."""


class OcsDescription(Description[OcsRow, OcsRelated]):
    """An OCS, with what it reads of itself, its faults and repairs."""


class CubeDescription(Description[CubeRow, CubeRelated]):
    """A cube, with what is not well in it and who uses it."""


class HostDescription(Description[HostRow, PartRelated]):
    """A host, with its faults and repairs."""


class LinkDescription(Description[LinkRow, LinkRelated]):
    """A link end, with its light path and partner."""


class SliceDescription(Description[SliceRow, SliceRelated]):
    """A slice, with its cubes and what degrades it."""


class FaultDescription(Description[FaultRow, PartRelated]):
    """A fault, with all that is known of its target."""


class RepairDescription(Description[RepairRow, PartRelated]):
    """A repair, with all that is known of its target."""


class VerdictDescription(Description[VerdictRow, VerdictRelated]):
    """A verdict, with the link ends that it is about and what was done on it."""


class BlockDescription(Description[BlockRow, BlockRelated]):
    """A block, with its trunks."""


class TrunkDescription(Description[TrunkRow, TrunkRelated]):
    """A trunk, with its blocks and what they want to send."""


class DemandDescription(Description[DemandRow, DemandRelated]):
    """What one block wants to send to another."""


class RewiringDescription(Description[RewiringRow, RewiringRelated]):
    """A rewiring, with what holds it up."""


class RackDescription(Description[RackRow, RackRelated]):
    """A rack, with its OCSes."""


class BundleDescription(Description[BundleRow, PartRelated]):
    """A fibre bundle, with its faults and repairs."""


class DomainDescription(Description[DomainRow, RackRelated]):
    """A domain, with its OCSes."""
