"""What the OCS hardware twins say: circuits made and lost; chassis, parts and ports that fail and return."""

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
    """The mirrors have settled. Made on every OCS and port but those listed as missing, which stay wanted.

    `missing_ocs` make none of them: they are down, or take no new circuits. `missing_ports` are (OCS, North
    port) pairs on the others: one of the circuit's ports is bad, or its mirrors did not find their places.
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
    """The chassis is without power or cooling: every circuit on it is lost, what was wanted stays wanted."""

    ocs: OcsIndex


class OcsUp(OcsBody):
    """The chassis is back; its wanted circuits are made again after the switching time."""

    ocs: OcsIndex


class OcsPartDown(OcsBody):
    """A part of a chassis is broken, or the power of the chassis itself: an alarm, and a repair to be made.
    What it does to circuits other messages say."""

    part: TargetName


class OcsPartUp(OcsBody):
    part: TargetName


class OcsHeld(OcsBody):
    """Without its controller, or with an array that it cannot align: circuits hold, and none can be made."""

    ocs: OcsIndex


class OcsFreed(OcsBody):
    """It makes circuits again; those that are wanted and missing are made after the switching time."""

    ocs: OcsIndex


class CircuitsParked(OcsBody):
    """Its controller is back, and takes away circuits that were given up meanwhile, as (North port, South
    port): the mirrors had held them for nobody."""

    ocs: OcsIndex
    circuits: tuple[tuple[NorthPortIndex, SouthPortIndex], ...]


class PortsDown(OcsBody):
    """A driver board is broken: its mirrors fall, and the circuits at the ports before them are lost."""

    part: TargetName
    ocs: OcsIndex
    side: Literal["N", "S"]
    ports: tuple[PortIndex, ...]


class PortsUp(OcsBody):
    """The board was swapped, which loses what its mirrors were set to: wanted circuits are made again after
    the switching time."""

    part: TargetName
    ocs: OcsIndex
    side: Literal["N", "S"]
    ports: tuple[PortIndex, ...]


class PortDown(OcsBody):
    """A mirror is dead, and the circuit at this port lost. `spare` is the port that broke where the fibre was
    patched to it before. Where the OCS has given the mirror up itself, it has a `reason`."""

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
    """The camera of an array sees the mirror of this port, at which a circuit is made, off its place by more
    than it should be and than others are: by `error_urad`, root mean square. `spare` is where it is, of a
    fibre that was patched."""

    ocs: OcsIndex
    side: Literal["N", "S"]
    port: PortIndex
    error_urad: float = Field(ge=0, allow_inf_nan=False)
    spare: PortIndex | None = Field(default=None, exclude_if=is_none)


class MirrorSteady(OcsBody):
    """One that had stood out is seen in its place again."""

    ocs: OcsIndex
    side: Literal["N", "S"]
    port: PortIndex
    spare: PortIndex | None = Field(default=None, exclude_if=is_none)


class PortPatched(OcsBody):
    """The fibre of this port is at a spare one from now on; its wanted circuit is made again after the
    switching time. All who command circuits go on to call it by its port. `left` is the spare that it was
    patched to before; the mirror that it leaves is never mended."""

    ocs: OcsIndex
    side: Literal["N", "S"]
    port: PortIndex
    spare: PortIndex
    left: PortIndex | None = Field(default=None, exclude_if=is_none)


class PortNotPatched(OcsBody):
    """No fibre was moved from this port, for the reason told; it stays as it is."""

    repair: RepairName
    ocs: OcsIndex
    side: Literal["N", "S"]
    port: PortIndex
    reason: str


class CircuitsRestored(OcsBody):
    """Wanted circuits made again after a chassis or a port came back, or after mirrors found their places in
    another attempt, as (North port, South port)."""

    ocs: OcsIndex
    circuits: tuple[tuple[NorthPortIndex, SouthPortIndex], ...]


class OcsRestarting(OcsBody):
    """Its software is restarted: nothing that it is told is done meanwhile. What becomes of its circuits
    other messages say, if it does not keep them."""

    ocs: OcsIndex
    keeps: bool


class OcsRestarted(OcsBody):
    """Its software runs again."""

    ocs: OcsIndex


class RestartRefused(OcsBody):
    refuses = (RestartOcs,)

    ocs: UncheckedName
    reason: str


class CrossConnectsDoneBody(OcsBody):
    """Which cross-connects of a request were carried out, as (North port, South port); which were `refused`,
    by key and reason; which were not tried, after the first error."""

    ocs: OcsIndex
    circuits: tuple[tuple[NorthPortIndex, SouthPortIndex], ...]
    refused: tuple[tuple[CrossConnectKey, str], ...]
    not_tried: tuple[CrossConnectKey, ...]


class CrossConnectsTaken(CrossConnectsDoneBody):
    """By hand: these are wanted now, and mirrors turn."""


class CrossConnectsRemoved(CrossConnectsDoneBody):
    """By hand: these are wanted no longer, and their mirrors are parked."""


class CrossConnectsMade(OcsBody):
    """Cross-connects that are wanted by hand: their mirrors have found their places, for the first time or
    after something that they lacked came back. No link comes of them."""

    ocs: OcsIndex
    circuits: tuple[tuple[NorthPortIndex, SouthPortIndex], ...]


class CrossConnectsDropped(OcsBody):
    """Cross-connects by hand that are gone for the reason told: nobody wants them any more."""

    ocs: OcsIndex
    circuits: tuple[tuple[NorthPortIndex, SouthPortIndex], ...]
    reason: str


class CrossConnectsRefused(OcsBody):
    """None of them was carried out."""

    refuses = (CreateCrossConnects, RemoveCrossConnects)

    ocs: UncheckedName
    reason: str


class LinkLooped(OcsBody):
    """For this moment the OCS sends a dark module its own light back, from its North port to its South
    port."""

    end: LinkEndIndex
    ocs: OcsIndex
    north: NorthPortIndex
    south: SouthPortIndex


class LinkTestRefused(OcsBody):
    refuses = (TestLink,)

    end: UncheckedName
    reason: str


class CircuitsRewired(OcsBody):
    """The mirrors have settled: of a network's rewiring, circuits were removed and made, but for those that
    are missing, which stay wanted: their OCS is dark, one of their ports is bad, or mirrors did not find
    their places."""

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
    """A rack or a power domain of a network failed: every circuit on these OCSes is lost, what was wanted
    stays wanted. There are none where OCSes keep their circuits without power; then nothing in the domain can
    be changed."""

    part: TargetName
    kind: Literal["rack", "power"]
    ocses: tuple[OcsIndex, ...]


class OcsesUp(OcsBody):
    """It is back: on those of its OCSes that nothing else keeps dark wanted circuits are made again after the
    switching time."""

    part: TargetName
    kind: Literal["rack", "power"]
    ocses: tuple[OcsIndex, ...]


class ControlLost(OcsBody):
    """A domain fails static: its circuits stay as they are, and nothing in it can be changed."""

    part: TargetName


class ControlRegained(OcsBody):
    part: TargetName
