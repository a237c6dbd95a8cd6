"""State of the OCSes of one fabric: wanted circuits, made circuits and faults.

Port arrays have shape (OCSes, radix), or (2, OCSes, radix) for (North, South). The fabric's wiring gives the
number of OCSes; a superpod has 48. A circuit is identified by its North port.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from schemas.config.dcn import DcnConfig
from schemas.config.network_hardware import NetworkConfig
from schemas.config.pods import OcsConfig, PodOcsConfig, SuperpodConfig
from schemas.names import Join, OcsCircuit
from shared.engine.state import State
from shared.models.network.blocks import network_of
from shared.models.network.wiring import NO_PORT, wiring_of
from shared.models.ocs_technologies import ocs_technology, technology_ports
from shared.models.superpod.wiring import OCS_COUNT, STRANDS, ocs_radix

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

NO_OWNER = -1
MANUAL = -2
"""Owner of a circuit that an operator made."""
FailedAlignments = tuple[tuple[int, int, int], ...]
"""Circuits whose alignment fails, as (flat index of (OCS, North port), reason code, missed mirrors).

Reason codes are those of `shared.models.ocs.camera_alignment`. Missed mirrors are `NORTH_MISSED` +
`SOUTH_MISSED`.
"""
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
    """Wanted circuits of an OCS that are to be made again after a recovery.

    `norths` are their North ports; None means all.
    """

    ocs: int
    norths: tuple[int, ...] | None
    due_us: int
    cause: str
    failed: FailedAlignments = ()


@dataclass(frozen=True, slots=True)
class Realignment:
    """A circuit whose alignment failed and is to be retried.

    `reason` is the code of the reason, `due_us` the time of the retry, and `cause` the id of the message for
    which the mirrors turned.
    """

    reason: int
    due_us: int
    cause: str


@dataclass(frozen=True, slots=True)
class ControllerRestart:
    """A restart of the OCS software that ends at `due_us`.

    `keeps` is true if the OCS keeps its circuits. `cause` is the id of the message that requested the
    restart.
    """

    due_us: int
    keeps: bool
    cause: str


@dataclass(frozen=True, slots=True)
class MirrorDrift:
    """A fault that moves mirrors off their places.

    It affects the mirror of one physical `port` of a side, or the whole OCS if both are None. Each mirror
    loses `loss_db` at the end of the onset, which takes `onset_us` from `began_us` on. `cause` is the id of
    the message that reported it.
    """

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
    """State of the OCSes of one fabric.

    All port arrays are indexed by logical port. Mirrors are identified by physical position (`port_place`).
    Faults are counts of active ones. `tried` and `missed` count first attempts only, not those of mirrors
    that had just missed.
    """

    config: OcsConfig | PodOcsConfig
    ports_wired: int
    """Ports of each side that a fibre enters: 0 to `ports_wired` − 1. The rest of `ports` are spares."""
    wanted: npt.NDArray[np.int16]
    """South port that North port n of OCS o is to be joined to; −1 for none."""
    wanted_from: npt.NDArray[np.int16]
    """Inverse of `wanted`: North port by South port; −1 for none."""
    owner: npt.NDArray[np.int32]
    """Number of the slice that wants a circuit, by North port; −1 if unowned, −2 if made by hand."""
    made: BoolArray
    """Whether the mirrors make the wanted circuit, by North port."""
    turning: BoolArray
    """Whether the mirrors are turning for a command, by North port."""
    chassis_faults: npt.NDArray[np.int16]
    """Faults that darken an OCS, including those of its rack and power domain."""
    port_faults: npt.NDArray[np.int16]
    """Faults of a port, including those of its driver board, of shape (2, OCSes, radix)."""
    housing_faults: npt.NDArray[np.int16]
    """Faults of the rack and power domain alone."""
    control_faults: npt.NDArray[np.int16]
    """With any, an OCS executes no command of its network."""
    frozen_faults: npt.NDArray[np.int16]
    """Of CPU, FPGA or restarts. With any, an OCS executes nothing, and released circuits stay as `stale`."""
    blind_faults: npt.NDArray[np.int16]
    """Of cameras and injection modules. With any, an OCS makes no circuit."""
    changed_us: npt.NDArray[np.int64]
    alignment_rounds: npt.NDArray[np.int64]
    """How often each OCS has started to turn mirrors."""
    tried: npt.NDArray[np.int64]
    """Recent first attempts to align a mirror, of shape (2, OCSes)."""
    missed: npt.NDArray[np.int64]
    """How many of `tried` missed."""
    busy_us: npt.NDArray[np.int64]
    """Time until which an OCS that makes one circuit after another is busy."""
    network: NetworkConfig | None = None
    broken: dict[str, int] = field(default_factory=dict)
    """Number of faults by name of a broken part, rack or domain."""
    patched: dict[int, int] = field(default_factory=dict)
    """Physical port by place of a moved fibre's port (`shared.models.ocs.patched_fibres`). For a spare that
    took a fibre, the dead port that the fibre left."""
    restarts: dict[int, ControllerRestart] = field(default_factory=dict)
    technology: str = "palomar"
    stale: dict[int, int] = field(default_factory=dict)
    """South port of released circuits that still stand, by flat index of (OCS, North port)."""
    connects: dict[int, PendingConnect] = field(default_factory=dict)
    """Pending commands of a superpod's scheduler, by order of arrival."""
    rewirings: dict[int, PendingRewiring] = field(default_factory=dict)
    """Pending commands of a network's topology service, by order of arrival."""
    restores: dict[int, PendingRestore] = field(default_factory=dict)
    """Pending restores, by order of arrival."""
    realignments: dict[int, Realignment] = field(default_factory=dict)
    """Pending retries, by flat index of (OCS, North port)."""
    misses: dict[int, int] = field(default_factory=dict)
    """Failed alignments of a circuit in a row, by flat index of (OCS, North port)."""
    manual_circuits: dict[int, str] = field(default_factory=dict)
    """Id of the operator's message, by flat index of (OCS, North port)."""
    mirror_drifts: dict[str, MirrorDrift] = field(default_factory=dict)
    """Drifts by fault."""
    stray_mirrors: dict[str, int] = field(default_factory=dict)
    """The mirror that finds no place, by fault."""
    mirror_misses: dict[int, int] = field(default_factory=dict)
    """Misses of a mirror in a row, as its camera saw them."""
    suspect_mirrors: dict[int, str] = field(default_factory=dict)
    """Mirrors to give up now, with the id of the message for which they turned."""
    failed_mirrors: dict[int, int] = field(default_factory=dict)
    """Mirrors that were given up, with their number of misses."""
    misaligned_mirrors: dict[int, float] = field(default_factory=dict)
    """Mirrors that cameras see off their places, with the error in µrad."""
    telemetry_interval_s: int = 0
    """Interval of telemetry frames; that of link ends in a pod, and of trunks in a network."""
    last_order: int = 0
    cross_connects: int = 0
    """Circuits made since the start."""

    @property
    def ocs_count(self) -> int:
        return int(self.wanted.shape[0])

    @property
    def radix(self) -> int:
        return int(self.wanted.shape[1])

    @property
    def ports(self) -> int:
        """Ports of one side of the switch; arrays are never shorter than those of a Palomar."""
        return technology_ports(ocs_technology(self.technology), self.radix)

    @property
    def latches(self) -> bool:
        """Whether circuits are kept without power."""
        return ocs_technology(self.technology).latching

    @property
    def held(self) -> BoolArray:
        """Which OCSes make no new circuits while existing ones stay, of shape (OCSes,)."""
        held: BoolArray = (self.frozen_faults > 0) | (self.blind_faults > 0)
        return held

    def is_held(self, ocs: int) -> bool:
        """Whether one OCS is held. Faster than `held`, because it is called at every change of a circuit."""
        return bool(self.frozen_faults[ocs] or self.blind_faults[ocs])


@dataclass(frozen=True, slots=True)
class OcsHardware:
    """The OCSes of a new fabric.

    `ports_wired`: ports with a fibre on each side of an OCS, from 0 on. `network`: the blocks that they join;
    None in a pod.
    """

    ocs_count: int
    radix: int
    ports_wired: int
    technology: str
    telemetry_interval_s: int
    network: NetworkConfig | None = None


def hardware_of_superpod(config: SuperpodConfig) -> OcsHardware:
    """The OCSes of a superpod: each joins one face index of all its cubes."""
    cubes = config.pod.cubes
    telemetry_s = config.transceivers.telemetry_interval_s
    return OcsHardware(
        OCS_COUNT, ocs_radix(cubes), STRANDS * cubes, config.ocs.technology, telemetry_s, network=None
    )


def hardware_of_network(config: DcnConfig) -> OcsHardware:
    """The OCSes of a datacenter network; its wiring gives their number and size."""
    network = network_of(config.network)
    wiring = wiring_of(network)
    return OcsHardware(
        network.ocs_count,
        wiring.radix,
        wiring.ports_wired,
        network.technology.name,
        config.traffic.telemetry_interval_s,
        network=config.network,
    )


OCS_HARDWARE: dict[str, Callable[[Any], OcsHardware]] = {
    "superpod": hardware_of_superpod,
    "dcn": hardware_of_network,
}
"""Kind of fabric → function from its configuration to its OCSes."""


def commission(fabric: str, config: SuperpodConfig | DcnConfig, at_us: int) -> OcsState:
    """The OCSes of a new fabric, without circuits."""
    hardware = OCS_HARDWARE[config.kind](config)
    shape = hardware.ocs_count, hardware.radix
    return OcsState(
        fabric=fabric,
        seed=config.seed,
        now_us=at_us,
        config=config.ocs,
        ports_wired=hardware.ports_wired,
        network=hardware.network,
        technology=hardware.technology,
        telemetry_interval_s=hardware.telemetry_interval_s,
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


@dataclass(frozen=True, slots=True)
class Circuits:
    """Circuits as arrays of OCS, North port and South port, each of shape (circuits,). Made by `as_circuits`.

    `north_at` and `south_at` are the indices of their ports in a flattened array of shape (OCSes, radix),
    which is three times as fast to read and write. `ocses` are the distinct OCSes.
    """

    ocs: IntArray
    north: IntArray
    south: IntArray
    north_at: IntArray
    south_at: IntArray
    ocses: tuple[int, ...]


def as_circuits(ocs: IntArray, north: IntArray, south: IntArray, radix: int) -> Circuits:
    """Build `Circuits` for OCSes with `radix` ports on each side."""
    ocses = tuple(np.flatnonzero(np.bincount(ocs)).tolist())
    return Circuits(ocs, north, south, ocs * radix + north, ocs * radix + south, ocses)
