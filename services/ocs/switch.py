"""The switch itself: circuits wanted and made between North and South ports, and who wants them.

It knows nothing of what a fabric has joined to its ports. Whoever may command it says which ports a command
means (`superpod`). The OCS is non-blocking: a command touches the ports of its own circuits and no other
(Lightwave Fabrics 2.3, TPU v4 2.6).
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from services.ocs.state import NO_OWNER, NO_PORT, SIDES, BoolArray, IntArray, OcsState
from shared.basics.units import US_PER_MS, us


class Circuits(NamedTuple):
    """Circuits by their numbers of OCS, North port and South port, each of shape (circuits,)."""

    ocs: IntArray
    north: IntArray
    south: IntArray


class Port(NamedTuple):
    """One port of an OCS; `side` is an index of SIDES."""

    ocs: int
    side: int
    number: int

    @property
    def label(self) -> str:
        """As people write it, such as N24."""
        return f"{SIDES[self.side]}{self.number}"


def want(state: OcsState, circuits: Circuits, owner: int) -> None:
    """Take circuits between free ports, or such as stand there already, as wanted; mirrors that are not
    there yet begin to turn."""
    ocs, north, south = circuits
    state.turning[ocs, north] |= ~standing(state, circuits) | ~state.made[ocs, north]
    state.wanted[ocs, north] = south
    state.wanted_from[ocs, south] = north
    state.owner[ocs, north] = owner
    touch(state, ocs)


def standing(state: OcsState, circuits: Circuits) -> BoolArray:
    """Which of these circuits are wanted, though by nobody in particular."""
    ocs, north, south = circuits
    found: BoolArray = (state.wanted[ocs, north] == south) & (state.owner[ocs, north] == NO_OWNER)
    return found


def leave(state: OcsState, circuits: Circuits) -> None:
    """Let wanted circuits stand for whoever wants them next."""
    state.owner[circuits.ocs, circuits.north] = NO_OWNER
    touch(state, circuits.ocs)


def drop(state: OcsState, circuits: Circuits) -> None:
    """Park the mirrors of wanted circuits at once, also of those that were still turning."""
    ocs, north, south = circuits
    state.wanted[ocs, north] = NO_PORT
    state.wanted_from[ocs, south] = NO_PORT
    state.owner[ocs, north] = NO_OWNER
    state.made[ocs, north] = False
    state.turning[ocs, north] = False
    touch(state, ocs)


def make(state: OcsState, circuits: Circuits) -> tuple[BoolArray, BoolArray]:
    """The mirrors have settled: make what can be made. Returns for each circuit whether its OCS is up, and
    whether both of its ports are sound; it is made where both are."""
    ocs, north, south = circuits
    up = state.chassis_faults[ocs] == 0
    sound = (state.port_faults[0, ocs, north] == 0) & (state.port_faults[1, ocs, south] == 0)
    for restore in state.restores.values():
        # What was lost meanwhile and came back turns a switching time of its own, and is restored after it.
        if restore.due_us > state.now_us and restore.north == NO_PORT:
            up &= ocs != restore.ocs
        elif restore.due_us > state.now_us:
            sound &= (ocs != restore.ocs) | (north != restore.north)
    good = up & sound
    state.cross_connects += int(np.count_nonzero(good & ~state.made[ocs, north]))
    state.made[ocs, north] = good
    state.turning[ocs, north] = False
    touch(state, ocs)
    return up, sound


def busy_port(state: OcsState, circuits: Circuits) -> Port | None:
    """The first port of these circuits that another circuit is wanted at, North ports first; None if all are
    free, or have the same circuit standing."""
    taken_over = standing(state, circuits)
    for side, taken, ports in ((0, state.wanted, circuits.north), (1, state.wanted_from, circuits.south)):
        busy = (taken[circuits.ocs, ports] != NO_PORT) & ~taken_over
        if busy.any():
            first = int(np.argmax(busy))
            return Port(int(circuits.ocs[first]), side, int(ports[first]))
    return None


def foreign_circuit(state: OcsState, circuits: Circuits, owners: tuple[int, ...]) -> int | None:
    """The index of the first of these circuits that is not wanted by one of these owners; None if all are."""
    ocs, north, south = circuits
    holders = state.owner[ocs, north]
    foreign = state.wanted[ocs, north] != south
    theirs = holders == owners[0]
    for owner in owners[1:]:
        theirs |= holders == owner
    foreign |= ~theirs
    return int(np.argmax(foreign)) if foreign.any() else None


def north_of(state: OcsState, port: Port) -> int:
    """North port of the circuit that is wanted at a port, NO_PORT if there is none."""
    if SIDES[port.side] == "S":
        return int(state.wanted_from[port.ocs, port.number])
    return port.number if state.wanted[port.ocs, port.number] != NO_PORT else NO_PORT


def settled_us(state: OcsState) -> int:
    """When mirrors that begin to turn now will have settled."""
    return state.now_us + us(state.config.switching_time_ms, US_PER_MS)


def touch(state: OcsState, ocs: IntArray | int) -> None:
    """Note that these OCSes changed; a number may come more than once."""
    keys = ocs_keys(state.fabric, state.ocs_count)
    numbers = np.array([ocs]) if isinstance(ocs, int) else np.flatnonzero(np.bincount(ocs))
    state.changed_us[numbers] = state.now_us
    state.touched.update([keys[number] for number in numbers.tolist()])
    state.touched.add(("summaries", f"{state.fabric}/ocs"))


@cache
def ocs_keys(fabric: str, ocs_count: int) -> tuple[tuple[str, str], ...]:
    """The document keys of a fabric's OCSes, in order; the same objects every time."""
    return tuple(("ocs", f"{fabric}/ocs-{ocs}") for ocs in range(ocs_count))
