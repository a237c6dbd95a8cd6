"""Messages of the OCS hardware twins: circuits made and lost; chassis, parts and ports that fail and
return."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.body import Body, is_none
from schemas.messages.operator import CreateCrossConnects, RemoveCrossConnects, RestartOcs, TestLink
from schemas.names import (
    CrossConnectKey,
    Join,
    LinkEndIndex,
    NorthPortIndex,
    OcsCircuit,
    OcsIndex,
    PortIndex,
    RepairName,
    RewiringName,
    SliceName,
    SouthPortIndex,
    TargetName,
    UncheckedName,
)


class OcsBody(Body):
    writer = "ocs"


class CircuitsConnected(OcsBody):
    """The mirrors have settled. Circuits were made on every OCS and port except those listed as missing,
    which stay wanted.

    `missing_ocs` made none: they are down, or accept no new circuits. `missing_ports` are (OCS, North port)
    pairs on the others: a port of the circuit is bad, or its mirrors failed to align.
    """

    slice: SliceName
    joins: tuple[Join, ...]
    missing_ocs: tuple[OcsIndex, ...]
    missing_ports: tuple[tuple[OcsIndex, NorthPortIndex], ...]


class CircuitsRefused(OcsBody):
    """The whole command was refused; no circuit changed. `port` is like `N24` or `S7`."""

    slice: SliceName
    ocs: OcsIndex
    port: str
    reason: str


class CircuitsDisconnected(OcsBody):
    slice: SliceName
    joins: tuple[Join, ...]


class OcsDown(OcsBody):
    """The chassis is without power or cooling: every circuit on it is lost, wanted circuits stay wanted."""

    ocs: OcsIndex


class OcsUp(OcsBody):
    """The chassis is back; its wanted circuits are made again after the switching time."""

    ocs: OcsIndex


class OcsPartDown(OcsBody):
    """A part of a chassis, or the power of the chassis itself, is broken: an alarm that calls for a repair.
    Other messages report its effect on circuits."""

    part: TargetName


class OcsPartUp(OcsBody):
    part: TargetName


class OcsHeld(OcsBody):
    """The OCS is without its controller, or has an array that it cannot align: circuits stay up, and none can
    be made."""

    ocs: OcsIndex


class OcsFreed(OcsBody):
    """The OCS makes circuits again; wanted circuits that are missing are made after the switching time."""

    ocs: OcsIndex


class CircuitsParked(OcsBody):
    """The controller is back, and removes circuits that were given up in the meantime, as (North port, South
    port): the mirrors had kept them although no slice wanted them."""

    ocs: OcsIndex
    circuits: tuple[tuple[NorthPortIndex, SouthPortIndex], ...]


class PortsDown(OcsBody):
    """A driver board is broken: its mirrors fall, and the circuits at the ports before them are lost."""

    part: TargetName
    ocs: OcsIndex
    side: Literal["N", "S"]
    ports: tuple[PortIndex, ...]


class PortsUp(OcsBody):
    """The driver board was replaced, which loses the mirror settings: wanted circuits are made again after
    the switching time."""

    part: TargetName
    ocs: OcsIndex
    side: Literal["N", "S"]
    ports: tuple[PortIndex, ...]


class PortDown(OcsBody):
    """A mirror is dead, and the circuit at this port is lost. If the fibre had been patched, `spare` is the
    port that broke. `reason` is set if the OCS itself has given up the mirror."""

    ocs: OcsIndex
    side: Literal["N", "S"]
    port: PortIndex
    spare: PortIndex | None = Field(default=None, exclude_if=is_none)
    reason: str | None = Field(default=None, exclude_if=is_none)


class PortUp(OcsBody):
    ocs: OcsIndex
    side: Literal["N", "S"]
    port: PortIndex
    spare: PortIndex | None = Field(default=None, exclude_if=is_none)


class MirrorStoodOut(OcsBody):
    """The camera of an array sees the mirror of this port, which has a circuit, off its place by more than
    expected and by more than other mirrors: by `error_urad`, root mean square. `spare` is its port if the
    fibre was patched."""

    ocs: OcsIndex
    side: Literal["N", "S"]
    port: PortIndex
    error_urad: float = Field(ge=0, allow_inf_nan=False)
    spare: PortIndex | None = Field(default=None, exclude_if=is_none)


class MirrorSteady(OcsBody):
    """A mirror that was an outlier is in its place again."""

    ocs: OcsIndex
    side: Literal["N", "S"]
    port: PortIndex
    spare: PortIndex | None = Field(default=None, exclude_if=is_none)


class PortPatched(OcsBody):
    """The fibre of this port has been moved to a spare port; its wanted circuit is made again after the
    switching time. Commands keep using the original port. `left` is the spare that it was patched to before;
    the mirror that it leaves is never repaired."""

    ocs: OcsIndex
    side: Literal["N", "S"]
    port: PortIndex
    spare: PortIndex
    left: PortIndex | None = Field(default=None, exclude_if=is_none)


class PortNotPatched(OcsBody):
    """No fibre was moved from this port, for the given reason; the port stays as it is."""

    repair: RepairName
    ocs: OcsIndex
    side: Literal["N", "S"]
    port: PortIndex
    reason: str


class CircuitsRestored(OcsBody):
    """Wanted circuits were made again after a chassis or a port came back, or after mirrors aligned in
    another attempt, as (North port, South port)."""

    ocs: OcsIndex
    circuits: tuple[tuple[NorthPortIndex, SouthPortIndex], ...]


class OcsRestarting(OcsBody):
    """The software of the OCS restarts, and executes no commands until it is up. If it does not keep its
    circuits, other messages report them."""

    ocs: OcsIndex
    keeps: bool


class OcsRestarted(OcsBody):
    """The software of the OCS runs again."""

    ocs: OcsIndex


class RestartRefused(OcsBody):
    refuses = (RestartOcs,)

    ocs: UncheckedName
    reason: str


class CrossConnectsDoneBody(OcsBody):
    """The cross-connects of a request that were carried out, as (North port, South port); those that were
    `refused`, by key and reason; and those that were not tried after the first error."""

    ocs: OcsIndex
    circuits: tuple[tuple[NorthPortIndex, SouthPortIndex], ...]
    refused: tuple[tuple[CrossConnectKey, str], ...]
    not_tried: tuple[CrossConnectKey, ...]


class CrossConnectsTaken(CrossConnectsDoneBody):
    """Manual cross-connects that are wanted from now on; their mirrors move."""


class CrossConnectsRemoved(CrossConnectsDoneBody):
    """Manual cross-connects that are no longer wanted; their mirrors are parked."""


class CrossConnectsMade(OcsBody):
    """Manual cross-connects whose mirrors have aligned, for the first time or after a missing resource came
    back. They form no link."""

    ocs: OcsIndex
    circuits: tuple[tuple[NorthPortIndex, SouthPortIndex], ...]


class CrossConnectsDropped(OcsBody):
    """Manual cross-connects that were lost for the given reason. They are no longer wanted."""

    ocs: OcsIndex
    circuits: tuple[tuple[NorthPortIndex, SouthPortIndex], ...]
    reason: str


class CrossConnectsRefused(OcsBody):
    """None of the cross-connects was carried out."""

    refuses = (CreateCrossConnects, RemoveCrossConnects)

    ocs: UncheckedName
    reason: str


class LinkLooped(OcsBody):
    """At this time the OCS sends a dark module its own light back, from its North port to its South port."""

    end: LinkEndIndex
    ocs: OcsIndex
    north: NorthPortIndex
    south: SouthPortIndex


class LinkTestRefused(OcsBody):
    refuses = (TestLink,)

    end: UncheckedName
    reason: str


class CircuitsRewired(OcsBody):
    """The mirrors have settled: circuits of a network's rewiring were removed and made, except the missing
    ones, which stay wanted. Their OCS is dark, one of their ports is bad, or mirrors failed to align."""

    rewiring: RewiringName
    stage: Annotated[int, Field(ge=0)]
    removed: tuple[OcsCircuit, ...]
    made: tuple[OcsCircuit, ...]
    missing: tuple[OcsCircuit, ...]


class RewiringRefused(OcsBody):
    """The whole command was refused; no circuit changed."""

    rewiring: RewiringName
    stage: Annotated[int, Field(ge=0)]
    ocs: OcsIndex
    reason: str


class OcsesDown(OcsBody):
    """A rack or a power domain of a network failed: every circuit on these OCSes is lost, wanted circuits
    stay wanted. The list is empty if the OCSes keep their circuits without power; then nothing in the domain
    can be changed."""

    part: TargetName
    kind: Literal["rack", "power"]
    ocses: tuple[OcsIndex, ...]


class OcsesUp(OcsBody):
    """The rack or power domain is back. OCSes that no other fault keeps dark make their wanted circuits again
    after the switching time."""

    part: TargetName
    kind: Literal["rack", "power"]
    ocses: tuple[OcsIndex, ...]


class ControlLost(OcsBody):
    """A domain fails static: its circuits stay as they are, and nothing in it can be changed."""

    part: TargetName


class ControlRegained(OcsBody):
    part: TargetName
