"""What the OCS hardware twins say: circuits made and lost, chassis and ports that fail and return."""

from typing import Literal

from schemas.body import Body
from schemas.names import Join, NorthPortIndex, OcsIndex, PortIndex, SliceName, SouthPortIndex


class OcsBody(Body):
    writer = "ocs"


class CircuitsConnected(OcsBody):
    """The mirrors have settled. Made on every OCS and port but those listed as missing, which stay wanted.

    `missing_ports` are (OCS, North port) pairs on OCSes that are up.
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
    """The chassis failed: every circuit on it is lost, what was wanted stays wanted."""

    ocs: OcsIndex


class OcsUp(OcsBody):
    """The chassis is back; its wanted circuits are made again after the switching time."""

    ocs: OcsIndex


class PortDown(OcsBody):
    ocs: OcsIndex
    side: Literal["N", "S"]
    port: PortIndex


class PortUp(OcsBody):
    ocs: OcsIndex
    side: Literal["N", "S"]
    port: PortIndex


class CircuitsRestored(OcsBody):
    """Wanted circuits made again after a chassis or a port came back, as (North port, South port)."""

    ocs: OcsIndex
    circuits: tuple[tuple[NorthPortIndex, SouthPortIndex], ...]
