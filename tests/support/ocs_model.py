"""The OCSes of a pod as a person would keep them in a notebook: one entry a port, no arrays, no timers.

A circuit is made when it is wanted, nothing that it needs is broken, and a switching time has passed since it
was commanded and since each of those things last came back.
"""

from collections.abc import Sequence

from hypothesis import strategies as st

from schemas.config import FailuresConfig, PodConfig, PodOcsConfig, SuperpodConfig
from schemas.config_workload import WorkloadConfig
from schemas.failures import FaultBegan, FaultEnded
from schemas.names import FaultKind, Join
from shared.basics.units import US_PER_MS

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


class PortModel:
    """`wanted` has for every port of either side the port it is to be joined to, for whom and since when."""

    def __init__(self) -> None:
        self.now_us = 0
        self.wanted: dict[Port, tuple[Port, str, int]] = {}
        self.faults: dict[str, Port | int] = {}
        """Active faults of ports, and of chassis by number."""
        self.returned_us: dict[Port | int, int] = {}

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
        return len(set(ports)) == len(ports) and not any(self.in_the_way(port) for port in ports)

    def in_the_way(self, port: Port) -> bool:
        """Whether nothing may be connected to a port."""
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
        for circuit in self.circuits(joins):
            for port in circuit:
                del self.wanted[port]

    def end_fault(self, name: str) -> None:
        part = self.faults.pop(name)
        if part not in self.faults.values():
            self.returned_us[part] = self.now_us

    def settled(self, north: Port) -> bool:
        """Whether the command for a wanted circuit has been carried out, as far as it could be."""
        return self.now_us >= self.wanted[north][2] + SWITCHING_US

    def made(self, north: Port) -> bool:
        south, _, since_us = self.wanted[north]
        needed = (north, south, north[0])
        if any(part in self.faults.values() for part in needed):
            return False
        since_us = max(since_us, *(self.returned_us.get(part, 0) for part in needed))
        return self.now_us >= since_us + SWITCHING_US

    def all_made(self) -> dict[Port, Port]:
        """Every circuit that the mirrors make: North port → South port."""
        return {p: far for p, (far, _, _) in self.wanted.items() if p[1] == "N" and self.made(p)}


def fault_began(name: str, kind: FaultKind, target: str, excess_loss_db: float | None = None) -> FaultBegan:
    return FaultBegan(
        fault=name, kind=kind, target=target, injected=True, excess_loss_db=excess_loss_db, expires_us=None
    )


def fault_ended(began: FaultBegan) -> FaultEnded:
    return FaultEnded(fault=began.fault, kind=began.kind, target=began.target, how="cleared")


# --- what may happen, for hypothesis ------------------------------------------------------------------------

# Few slices, cubes, OCSes and ports, so that most of what is drawn meets something.
SLICES = st.integers(0, 1).map(lambda number: f"pod-0/slice-{number}")
SIDES_OF_JOINS = st.sampled_from((0, 0, 1, 1, 2, CUBES))
"""Cubes; the last does not exist."""
JOINS = st.lists(
    st.tuples(st.sampled_from((0, 0, 0, 1)), SIDES_OF_JOINS, SIDES_OF_JOINS), min_size=1, max_size=2
).map(tuple)
OCS_NUMBERS = st.sampled_from((0, 0, 0, 1, 16))
OCS_FAULTS = st.one_of(
    st.tuples(st.just("ocs"), OCS_NUMBERS.map(lambda ocs: f"pod-0/ocs-{ocs}"), st.none()),
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
    # Most disconnects drawn at random name what is not there; these take a slice's own joins, all but a few.
    st.tuples(st.just("leave"), SLICES, st.integers(0, 1)),
)
ENDS_OF_FAULTS = st.tuples(st.just("mend"), st.integers(0, 3), st.none())
