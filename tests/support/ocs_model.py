"""A reference model of a pod's OCSes: one entry per port, without arrays and timers.

A circuit is made when it is wanted, no part that it needs is broken, and its OCS can receive commands and
align it. In addition, a switching time has passed since the command, and since each of those conditions last
became true. It stays until it is disconnected or a part that it needs breaks. If it is disconnected while its
OCS receives no commands, it becomes stale.
"""

from collections.abc import Sequence

from hypothesis import strategies as st

from schemas.config.failures import FailuresConfig
from schemas.config.pods import PodConfig, PodOcsConfig, SuperpodConfig
from schemas.config.workload import WorkloadConfig
from schemas.messages.failures import FaultBegan, FaultEnded
from schemas.names import FaultKind, Join
from shared.basics.units import US_PER_MS
from shared.models.optics.palomar import manufactured_ocses

CUBES = 4
SWITCHING_US = 10 * US_PER_MS
CONFIG = SuperpodConfig(
    seed=7,
    pod=PodConfig(cubes=CUBES),
    ocs=PodOcsConfig(switching_time_ms=SWITCHING_US / US_PER_MS),
    workload=WorkloadConfig(enabled=False),
    failures=FailuresConfig(enabled=False),
)

Port = tuple[int, str, int]
"""(OCS, side, number)."""


MIRRORS_A_BOARD = 44
"""176 mirrors per die, on four boards."""


class PortModel:
    """The circuits of a pod.

    `wanted` maps every port of either side to its far port, its slice, and the time of the command. `lit` has
    the North ports whose circuits the mirrors make; `stale` maps North to South port of stale circuits.
    """

    def __init__(self) -> None:
        self.now_us = 0
        self.wanted: dict[Port, tuple[Port, str, int]] = {}
        self.lit: set[Port] = set()
        self.stale: dict[Port, Port] = {}
        self.faults: dict[str, str] = {}
        """Active fault → its part, by its name without the fabric's."""
        self.returned_us: dict[str, int] = {}
        """When each need of a circuit was last restored."""

    # --- faults ---------------------------------------------------------------------------------------------

    def dark(self, ocs: int) -> bool:
        """Whether an OCS has no power or cooling. It needs one of its two supplies and three of its four
        fans."""
        out = {
            part for part in self.faults.values() if part.startswith(f"ocs-{ocs}/") or part == f"ocs-{ocs}"
        }
        fans = sum("/fan-" in part for part in out)
        return f"ocs-{ocs}" in out or sum("/supply-" in part for part in out) == 2 or fans >= 2

    def frozen(self, ocs: int) -> bool:
        return not {f"ocs-{ocs}/cpu", f"ocs-{ocs}/fpga"}.isdisjoint(self.faults.values())

    def held(self, ocs: int) -> bool:
        alignment_parts = {f"ocs-{ocs}/{part}-{side}" for part in ("camera", "injector") for side in "NS"}
        return self.frozen(ocs) or not alignment_parts.isdisjoint(self.faults.values())

    def lost(self, port: Port) -> bool:
        ocs, side, number = port
        parts = (f"ocs-{ocs}/{side}{number}", f"ocs-{ocs}/driver-{board_of(port)}")
        return not set(parts).isdisjoint(self.faults.values())

    def missing(self, north: Port, south: Port) -> dict[str, bool]:
        """Return each need of a circuit, and whether it is missing."""
        ocs = north[0]
        return {
            f"power of {ocs}": self.dark(ocs),
            f"{north}": self.lost(north),
            f"{south}": self.lost(south),
        }

    def begin_fault(self, name: str, part: str) -> None:
        self.advance(self.now_us - 1)
        self.faults[name] = part
        for north in [*self.lit]:
            if any(self.missing(north, self.wanted[north][0]).values()):
                self.lit.remove(north)
        for north, south in [*self.stale.items()]:
            if any(self.missing(north, south).values()):
                del self.stale[north]

    def end_fault(self, name: str) -> None:
        self.advance(self.now_us - 1)
        before = self.needs()
        del self.faults[name]
        after = self.needs()
        self.returned_us |= {need: self.now_us for need, gone in before.items() if gone and not after[need]}
        for north in [*self.stale]:
            if not self.frozen(north[0]):
                del self.stale[north]

    def needs(self) -> dict[str, bool]:
        """Return each need of all circuits, to stay or to be made, and whether it is missing."""
        missing: dict[str, bool] = {}
        for port, (far, _, _) in self.wanted.items():
            if port[1] == "N":
                missing |= self.missing(port, far) | {f"control of {port[0]}": self.held(port[0])}
        return missing

    # --- circuits -------------------------------------------------------------------------------------------

    def advance(self, until_us: int) -> None:
        """Settle the mirrors whose switching time is over by then. Nothing else may have happened in
        between."""
        for north, (south, _, since_us) in self.wanted.items():
            if north[1] != "N" or north in self.lit:
                continue
            needs = self.missing(north, south) | {f"control of {north[0]}": self.held(north[0])}
            ready_us = max(since_us, *(self.returned_us.get(need, 0) for need in needs)) + SWITCHING_US
            if self.stale.get(north) == south and since_us + SWITCHING_US <= until_us:
                del self.stale[north]  # the mirrors have not moved
                self.lit.add(north)
            elif not any(needs.values()) and ready_us <= until_us:
                self.lit.add(north)

    @staticmethod
    def circuits(joins: Sequence[Join]) -> list[tuple[Port, Port]]:
        return [
            (
                (16 * dimension + index, "N", (2 * plus, 2 * minus + 1)[strand]),
                (16 * dimension + index, "S", (2 * minus + 1, 2 * plus)[strand]),
            )
            for dimension, plus, minus in joins
            for index in range(16)
            for strand in range(2)
        ]

    def may_connect(self, joins: Sequence[Join]) -> bool:
        ports = [port for circuit in self.circuits(joins) for port in circuit]
        return len(set(ports)) == len(ports) and not any(self.is_blocked(port) for port in ports)

    def is_blocked(self, port: Port) -> bool:
        """Whether a port cannot take a new circuit."""
        return port in self.wanted or port[2] >= 2 * CUBES

    def may_disconnect(self, slice_: str, joins: Sequence[Join]) -> bool:
        circuits = self.circuits(joins)
        return len(set(circuits)) == len(circuits) and all(self.owns(slice_, n, s) for n, s in circuits)

    def owns(self, slice_: str, north: Port, south: Port) -> bool:
        return self.wanted.get(north, (None, None))[:2] == (south, slice_)

    def connect(self, slice_: str, joins: Sequence[Join]) -> None:
        for north, south in self.circuits(joins):
            self.wanted[north] = (south, slice_, self.now_us)
            self.wanted[south] = (north, slice_, self.now_us)

    def disconnect(self, joins: Sequence[Join]) -> None:
        self.advance(self.now_us - 1)
        for north, south in self.circuits(joins):
            if north in self.lit and self.frozen(north[0]):
                self.stale[north] = south
            self.lit.discard(north)
            del self.wanted[north], self.wanted[south]

    def settled(self, north: Port) -> bool:
        """Whether the switching time of a wanted circuit is over."""
        return self.now_us >= self.wanted[north][2] + SWITCHING_US

    def made(self, north: Port) -> bool:
        return north in self.lit

    def all_made(self) -> dict[Port, Port]:
        """Return every wanted circuit that the mirrors make now: North port → South port."""
        self.advance(self.now_us)
        return {north: self.wanted[north][0] for north in self.lit}


def board_of(port: Port) -> int:
    """Return the driver board of a port's mirror. The first four belong to the North array."""
    ocs, side, number = port
    made = manufactured_ocses(CONFIG.seed, "pod-0")
    mirrors = made.north_mirror if side == "N" else made.south_mirror
    return int(mirrors[ocs, number]) // MIRRORS_A_BOARD + 4 * (side == "S")


def fault_began(name: str, kind: FaultKind, target: str, severity: float | None = None) -> FaultBegan:
    return FaultBegan(fault=name, kind=kind, target=target, injected=True, severity=severity, expires_us=None)


def fault_ended(began: FaultBegan) -> FaultEnded:
    return FaultEnded(fault=began.fault, kind=began.kind, target=began.target, how="cleared")


# --- commands and faults, for hypothesis ------------------------------------------------------------------

# There are few slices, cubes, OCSes and ports, so that most draws concern the same ones.
SLICES = st.integers(0, 1).map(lambda number: f"pod-0/slice-{number}")
SIDES_OF_JOINS = st.sampled_from((0, 0, 1, 1, 2, CUBES))
"""Cubes; the last one does not exist."""
JOINS = st.lists(
    st.tuples(st.sampled_from((0, 0, 0, 1)), SIDES_OF_JOINS, SIDES_OF_JOINS), min_size=1, max_size=2
).map(tuple)
OCS_NUMBERS = st.sampled_from((0, 0, 0, 1, 16))
PARTS_STRUCK = (
    *("supply-0", "supply-1", "fan-0", "fan-2", "fan-3", "cpu", "cpu", "fpga"),
    *("camera-N", "camera-S", "injector-N", "driver-0", "driver-1", "driver-4", "driver-7"),
)
OCS_FAULTS = st.one_of(
    st.tuples(st.just("ocs"), OCS_NUMBERS.map(lambda ocs: f"pod-0/ocs-{ocs}"), st.none()),
    st.builds(
        lambda ocs, part: (part.partition("-")[0], f"pod-0/ocs-{ocs}/{part}", None),
        st.sampled_from((0, 0, 0, 1)),
        st.sampled_from(PARTS_STRUCK),
    ),
    st.builds(
        lambda ocs, side, port: ("port", f"pod-0/ocs-{ocs}/{side}{port}", None),
        OCS_NUMBERS,
        st.sampled_from("NS"),
        st.sampled_from((0, 1, 2, 3, 2 * CUBES)),
    ),
)
WAITS = st.sampled_from((0, 1, SWITCHING_US // 3, SWITCHING_US // 3, SWITCHING_US - 1, SWITCHING_US))
COMMANDS = st.one_of(
    st.tuples(st.just("connect"), SLICES, JOINS),
    st.tuples(st.just("disconnect"), SLICES, JOINS),
    # Most random disconnects name joins that do not exist. These take a slice's own joins, except a few.
    st.tuples(st.just("leave"), SLICES, st.integers(0, 1)),
)
ENDS_OF_FAULTS = st.tuples(st.just("mend"), st.integers(0, 3), st.none())
