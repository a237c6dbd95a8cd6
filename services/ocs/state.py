"""What the OCSes of one fabric are set to do, and what their mirrors do.

Port arrays have shape (48, radix) or (2, 48, radix) for (North, South). A circuit is known by its North port.
"""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from schemas.config import FabricConfig, OcsConfig
from schemas.names import Join
from shared.engine.state import State
from shared.models.superpod.wiring import OCS_COUNT, ocs_radix

NO_PORT = -1
SIDES: tuple[Literal["N", "S"], ...] = ("N", "S")


@dataclass(frozen=True, slots=True)
class PendingConnect:
    """Joins whose mirrors have not settled. `cause` is the id of the ConnectCircuits."""

    slice: str
    joins: tuple[Join, ...]
    due_us: int
    cause: str


@dataclass(frozen=True, slots=True)
class PendingRestore:
    """Wanted circuits of an OCS that are to be made again after a chassis or port came back. `north` is the
    North port of a single circuit, or −1 for all of them."""

    ocs: int
    north: int
    due_us: int
    cause: str


@dataclass
class OcsState(State):
    """`wanted[o, n]` is the South port that North port n is to be joined to, `wanted_from[o, s]` its inverse,
    both −1 for none; `owner[o, n]` the number of the slice that wants it; `made[o, n]` whether the mirrors
    do.

    Faults are counts of active ones. `connects` and `restores` are keyed by order of arrival.
    `cross_connects` counts circuits made since the start.
    """

    config: OcsConfig
    cubes: int
    wanted: npt.NDArray[np.int16]
    wanted_from: npt.NDArray[np.int16]
    owner: npt.NDArray[np.int32]
    made: npt.NDArray[np.bool_]
    chassis_faults: npt.NDArray[np.int16]
    port_faults: npt.NDArray[np.int16]
    changed_us: npt.NDArray[np.int64]
    connects: dict[int, PendingConnect] = field(default_factory=dict)
    restores: dict[int, PendingRestore] = field(default_factory=dict)
    orders: int = 0
    cross_connects: int = 0

    @property
    def radix(self) -> int:
        return int(self.wanted.shape[1])


def commission(fabric: str, config: FabricConfig, at_us: int) -> OcsState:
    """48 OCSes without a circuit."""
    cubes = config.pod.cubes
    shape = (OCS_COUNT, ocs_radix(cubes))
    return OcsState(
        fabric=fabric,
        seed=config.seed,
        now_us=at_us,
        config=config.ocs,
        cubes=cubes,
        wanted=np.full(shape, NO_PORT, dtype=np.int16),
        wanted_from=np.full(shape, NO_PORT, dtype=np.int16),
        owner=np.full(shape, -1, dtype=np.int32),
        made=np.zeros(shape, dtype=np.bool_),
        chassis_faults=np.zeros(OCS_COUNT, dtype=np.int16),
        port_faults=np.zeros((2, *shape), dtype=np.int16),
        changed_us=np.full(OCS_COUNT, at_us, dtype=np.int64),
    )
