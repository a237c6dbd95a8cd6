"""What the OCSes of one fabric are set to do, and what their mirrors do.

Port arrays have shape (OCSes, radix), or (2, OCSes, radix) for (North, South): how many there are is for the
fabric's wiring to say, 48 in a superpod. A circuit is known by its North port.
"""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from schemas.config.dcn import DcnConfig
from schemas.config.network_hardware import NetworkConfig
from schemas.config.pods import OcsConfig, PodOcsConfig, SuperpodConfig
from schemas.names import Join, OcsCircuit
from shared.engine.state import State
from shared.models.network.blocks import network_of
from shared.models.network.wiring import wiring_of
from shared.models.ocs_technologies import ocs_technology, technology_ports
from shared.models.superpod.wiring import OCS_COUNT, STRANDS, ocs_radix

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

NO_PORT = -1
NO_OWNER = -1
MANUAL = -2
"""In place of a slice: an operator made the circuit."""
SIDES: tuple[Literal["N", "S"], ...] = ("N", "S")
FailedAlignments = tuple[tuple[int, int, int], ...]
"""Circuits whose mirrors do not find their place, as (place in a flat array of (OCS, North port), code of the
reason, which of both mirrors: `NORTH_MISSED` + `SOUTH_MISSED`), the codes those of
`shared.models.ocs.alignment`."""
NORTH_MISSED, SOUTH_MISSED = 1, 2


@dataclass(frozen=True, slots=True)
class PendingConnect:
    """Joins whose mirrors have not settled. `cause` is the id of the ConnectCircuits."""

    slice: str
    joins: tuple[Join, ...]
    due_us: int
    cause: str
    failed: FailedAlignments = ()


@dataclass(frozen=True, slots=True)
class PendingRestore:
    """Wanted circuits of an OCS that are to be made again after what they lacked came back: those of these
    North ports, or None for all of them."""

    ocs: int
    norths: tuple[int, ...] | None
    due_us: int
    cause: str
    failed: FailedAlignments = ()


@dataclass(frozen=True, slots=True)
class Realignment:
    """A circuit whose mirrors did not find their places: the code of the `reason`, when they are tried again
    by themselves, and the id of the message because of which they turned."""

    reason: int
    due_us: int
    cause: str


@dataclass(frozen=True, slots=True)
class ControllerRestart:
    """Software that is being restarted until `due_us`; whether the OCS keeps its circuits, and the id of the
    message because of which."""

    due_us: int
    keeps: bool
    cause: str


@dataclass(frozen=True, slots=True)
class MirrorDrift:
    """A fault for which mirrors point elsewhere than they are told: that of one `port` of a side, by where it
    is, or with None for both all of the OCS. Each loses `loss_db` when all of it has come, which takes
    `onset_us` from `began_us` on. `cause` is the id of the message that told of it."""

    ocs: int
    side: int | None
    port: int | None
    loss_db: float
    began_us: int
    onset_us: int
    cause: str = ""


@dataclass(frozen=True, slots=True)
class PendingRewiring:
    """Circuits of a network whose mirrors have not settled. `cause` is the id of the RewireCircuits."""

    rewiring: str
    stage: int
    removed: tuple[OcsCircuit, ...]
    made: tuple[OcsCircuit, ...]
    due_us: int
    cause: str
    failed: FailedAlignments = ()


@dataclass
class OcsState(State):
    """`wanted[o, n]` is the South port that North port n is to be joined to, `wanted_from[o, s]` its inverse,
    both −1 for none; `owner[o, n]` the number of the slice that wants it, −1 where it stands for nobody,
    −2 where it was made by hand, for the message that `by_hand` has by place in a flat array;
    `made[o, n]` whether the mirrors do, and `turning[o, n]` whether they turn there for a command.

    Fibres enter ports 0 to `ports_wired` − 1 of each side; the rest of its `ports` are spares. `patched` has
    by place of a port (`shared.models.ocs.patches`) where its fibre is now, and for a spare that took one the
    dead port which that left: ports that trade mirrors. All arrays go by logical port. Faults are counts of
    active ones: those of a chassis include what it stands in (rack, power), which `housing_faults` counts by
    itself; those of a port its driver board's. An OCS with `control_faults` does nothing that its network
    tells it. With `frozen_faults` (of its CPU or FPGA, or of `restarts`) it carries out nothing at all, and
    what is given up stays on its mirrors: `stale` has the South port, by OCS × radix + North port. With
    `blind_faults` (of its cameras and injection modules) it makes nothing. `broken` counts the faults of
    every part of an OCS, rack and domain that has some, under its name. `connects` (what a superpod's
    scheduler commanded), `rewirings` (what a network's topology did) and `restores` are keyed by order of
    arrival, `realignments` by place in a flat array of (OCS, North port), as are `misses`: how often in a row
    mirrors did not find their places. `cross_connects` counts circuits
    made since the start, `turns` how often each OCS was to turn mirrors. `drifts` has by fault how far
    mirrors are off, `strays` by fault the mirror that finds no place any more.

    Mirrors are known by where they are (`place_of`). `mirror_misses` counts how often in a row the camera saw
    one miss; `tried` counts of either array of each OCS the mirrors that were aligned lately, but for those
    that had missed just before, `missed` which of these missed. `suspects` are to be given up in this moment,
    with the id of why they turned; `given_up` are those that were, after so many misses. `off` are those that
    cameras see off their places, by how many µrad.

    What the OCSes are, the `technology` says by name; one that makes one circuit after another is busy until
    `busy_us`. Telemetry frames come every `telemetry_interval_s`, with those of link ends or trunks.
    """

    config: OcsConfig | PodOcsConfig
    ports_wired: int
    wanted: npt.NDArray[np.int16]
    wanted_from: npt.NDArray[np.int16]
    owner: npt.NDArray[np.int32]
    made: BoolArray
    turning: BoolArray
    chassis_faults: npt.NDArray[np.int16]
    port_faults: npt.NDArray[np.int16]
    housing_faults: npt.NDArray[np.int16]
    control_faults: npt.NDArray[np.int16]
    frozen_faults: npt.NDArray[np.int16]
    blind_faults: npt.NDArray[np.int16]
    changed_us: npt.NDArray[np.int64]
    alignment_rounds: npt.NDArray[np.int64]
    tried: npt.NDArray[np.int64]
    missed: npt.NDArray[np.int64]
    busy_us: npt.NDArray[np.int64]
    network: NetworkConfig | None = None
    broken: dict[str, int] = field(default_factory=dict)
    patched: dict[int, int] = field(default_factory=dict)
    restarts: dict[int, ControllerRestart] = field(default_factory=dict)
    technology: str = "palomar"
    stale: dict[int, int] = field(default_factory=dict)
    connects: dict[int, PendingConnect] = field(default_factory=dict)
    rewirings: dict[int, PendingRewiring] = field(default_factory=dict)
    restores: dict[int, PendingRestore] = field(default_factory=dict)
    realignments: dict[int, Realignment] = field(default_factory=dict)
    misses: dict[int, int] = field(default_factory=dict)
    manual_circuits: dict[int, str] = field(default_factory=dict)
    mirror_drifts: dict[str, MirrorDrift] = field(default_factory=dict)
    stray_mirrors: dict[str, int] = field(default_factory=dict)
    mirror_misses: dict[int, int] = field(default_factory=dict)
    suspect_mirrors: dict[int, str] = field(default_factory=dict)
    failed_mirrors: dict[int, int] = field(default_factory=dict)
    misaligned_mirrors: dict[int, float] = field(default_factory=dict)
    telemetry_interval_s: int = 0
    last_order: int = 0
    cross_connects: int = 0

    @property
    def ocs_count(self) -> int:
        return int(self.wanted.shape[0])

    @property
    def radix(self) -> int:
        return int(self.wanted.shape[1])

    @property
    def ports(self) -> int:
        """Ports of one side that the switch has: arrays are no shorter than a Palomar's."""
        return technology_ports(ocs_technology(self.technology), self.radix)

    @property
    def latches(self) -> bool:
        """Whether circuits are kept without power."""
        return ocs_technology(self.technology).latching

    @property
    def held(self) -> BoolArray:
        """Which OCSes make no circuits, though those that stand hold, of shape (OCSes,)."""
        found: BoolArray = (self.frozen_faults > 0) | (self.blind_faults > 0)
        return found

    def is_held(self, ocs: int) -> bool:
        """The same of one of them, which is asked at every change of a circuit."""
        return bool(self.frozen_faults[ocs] or self.blind_faults[ocs])


def commission(fabric: str, config: SuperpodConfig | DcnConfig, at_us: int) -> OcsState:
    """OCSes without a circuit, as many and as large as the fabric's wiring needs."""
    if isinstance(config, DcnConfig):
        network = network_of(config.network)
        wiring = wiring_of(network)
        state = _without_circuits(
            fabric, config, at_us, (network.ocs_count, wiring.radix), wiring.ports_wired
        )
        state.network = config.network
        state.technology = network.technology.name
        state.telemetry_interval_s = config.traffic.telemetry_interval_s
        return state
    shape = (OCS_COUNT, ocs_radix(config.pod.cubes))
    state = _without_circuits(fabric, config, at_us, shape, STRANDS * config.pod.cubes)
    state.technology = config.ocs.technology
    state.telemetry_interval_s = config.transceivers.telemetry_interval_s
    return state


def _without_circuits(
    fabric: str, config: SuperpodConfig | DcnConfig, at_us: int, shape: tuple[int, int], ports_wired: int
) -> OcsState:
    return OcsState(
        fabric=fabric,
        seed=config.seed,
        now_us=at_us,
        config=config.ocs,
        ports_wired=ports_wired,
        wanted=np.full(shape, NO_PORT, dtype=np.int16),
        wanted_from=np.full(shape, NO_PORT, dtype=np.int16),
        owner=np.full(shape, NO_OWNER, dtype=np.int32),
        made=np.zeros(shape, dtype=np.bool_),
        turning=np.zeros(shape, dtype=np.bool_),
        chassis_faults=np.zeros(shape[0], dtype=np.int16),
        port_faults=np.zeros((2, *shape), dtype=np.int16),
        housing_faults=np.zeros(shape[0], dtype=np.int16),
        control_faults=np.zeros(shape[0], dtype=np.int16),
        frozen_faults=np.zeros(shape[0], dtype=np.int16),
        blind_faults=np.zeros(shape[0], dtype=np.int16),
        changed_us=np.full(shape[0], at_us, dtype=np.int64),
        alignment_rounds=np.zeros(shape[0], dtype=np.int64),
        tried=np.zeros((2, shape[0]), dtype=np.int64),
        missed=np.zeros((2, shape[0]), dtype=np.int64),
        busy_us=np.full(shape[0], at_us, dtype=np.int64),
    )


# Circuits as arrays of their OCSes and ports.


@dataclass(frozen=True, slots=True)
class Circuits:
    """Circuits by their numbers of OCS, North port and South port, each of shape (circuits,), made by
    `circuits_of`.

    `north_at` and `south_at` are the places of their ports in an array of shape (OCSes, radix) that is laid
    out flat, which reads and writes them in a third of the time; `ocses` are the OCSes, each once.
    """

    ocs: IntArray
    north: IntArray
    south: IntArray
    north_at: IntArray
    south_at: IntArray
    ocses: tuple[int, ...]


def circuits_of(ocs: IntArray, north: IntArray, south: IntArray, radix: int) -> Circuits:
    """These circuits of OCSes with so many ports on each side."""
    ocses = tuple(np.flatnonzero(np.bincount(ocs)).tolist())
    return Circuits(ocs, north, south, ocs * radix + north, ocs * radix + south, ocses)
