"""Patched fibres: moved from the port where they were wired to a spare one of the same OCS and side.

[LF] 4.1.1, A: an OCS has 8 spare ports on each side for repair. Commands always name a fibre by the port
where it was wired: the *logical* port. Mirrors, losses, reflections and driver boards belong to the
*physical* port where the fibre is now.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
Side = Literal["N", "S"]

PORT_BITS = 10
"""More than an OCS has ports on a side (`schemas.names.PORTS_MAX`)."""
SIDES: tuple[Side, Side] = ("N", "S")
Patches = Mapping[int, int]
"""Place of a logical port (`port_place`) → number of its physical port; other ports are their own physical
port."""

NOT_PATCHED: Patches = MappingProxyType({})


def port_place(side: int, ocs: int, port: int) -> int:
    """The number of a port among all ports of a fabric; `side` is an index of SIDES."""
    return (ocs * len(SIDES) + side) << PORT_BITS | port


def port_places(side: int, ocs: IntArray, ports: IntArray) -> IntArray:
    """`port_place` for arrays, of the broadcast shape of both."""
    found: IntArray = (ocs * len(SIDES) + side) << PORT_BITS | ports
    return found


def port_at(place: int) -> tuple[int, int, int]:
    """(side as an index of SIDES, OCS, port) of the place of a port."""
    ocs, side = divmod(place >> PORT_BITS, len(SIDES))
    return side, ocs, place & ((1 << PORT_BITS) - 1)


def physical_ports(patched: Patches, side: int | IntArray, ocs: int | IntArray, ports: IntArray) -> IntArray:
    """The physical ports of these logical ones, of the broadcast shape of all three."""
    if not patched:
        return ports
    places = (np.asarray(ocs, dtype=np.int64) * len(SIDES) + side) << PORT_BITS | ports
    known = np.array(sorted(patched), dtype=np.int64)
    spares = np.array([patched[place] for place in known.tolist()], dtype=np.int64)
    at = np.minimum(np.searchsorted(known, places), len(known) - 1)
    found: IntArray = np.where(known[at] == places, spares[at], ports)
    return found
