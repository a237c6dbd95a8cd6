"""Ports that fail and return: one by itself, or all before the mirrors of a driver board.

Faults strike mirrors, which are those of physical ports; what comes of it is told by the ports at which the
fibres were wired (`shared.models.ocs.patches`).
"""

from collections.abc import Sequence

import numpy as np

from schemas.names import number_of
from schemas.ocs import PortDown, PortsDown, PortsUp, PortUp
from services.ocs.restores import forget_realignments, realign, restore_later
from services.ocs.state import NO_PORT, SIDES, OcsState
from services.ocs.switch import Port, forget_stale, north_of, touch
from shared.engine.service import Output
from shared.models.ocs.parts import BOARDS_PER_ARRAY
from shared.models.ocs.patches import place_of, port_at
from shared.models.optics.palomar import driver_boards


def lose_port(state: OcsState, target: str) -> list[Output]:
    """A port has one fault more of its own."""
    return lose_mirror(state, port_of(target))


def lose_mirror(state: OcsState, physical: Port, reason: str | None = None) -> list[Output]:
    """That of a port has one fault more; the `reason` is told where it is the OCS that holds it for dead."""
    port = logical(state, physical)
    was_broken = own_faults(state, port) > 0
    state.port_faults[port.side, port.ocs, port.number] += 1
    if was_broken:
        return []
    _lose_circuits(state, port.ocs, port.side, (port.number,))
    side, spare = SIDES[port.side], _spare(state, port)
    return [PortDown(ocs=port.ocs, side=side, port=port.number, spare=spare, reason=reason)]


def return_port(state: OcsState, target: str, cause: str) -> list[Output]:
    """One fault less."""
    port = logical(state, port_of(target))
    state.port_faults[port.side, port.ocs, port.number] -= 1
    if own_faults(state, port) > 0:
        return []
    restore_circuits(state, port.ocs, port.side, (port.number,), cause)
    return [PortUp(ocs=port.ocs, side=SIDES[port.side], port=port.number, spare=_spare(state, port))]


def lose_board(state: OcsState, target: str, ocs: int) -> PortsDown:
    """A driver board breaks: the circuits over all of its mirrors are lost."""
    side, ports = ports_of_board(state, ocs, number_of(target))
    state.port_faults[side, ocs, ports] += 1
    _lose_circuits(state, ocs, side, ports)
    return PortsDown(part=target, ocs=ocs, side=SIDES[side], ports=ports)


def return_board(state: OcsState, target: str, ocs: int, cause: str) -> PortsUp:
    """It was swapped: what its mirrors were set to is lost, so that they are programmed again."""
    side, ports = ports_of_board(state, ocs, number_of(target))
    state.port_faults[side, ocs, ports] -= 1
    restore_circuits(state, ocs, side, ports, cause)
    return PortsUp(part=target, ocs=ocs, side=SIDES[side], ports=ports)


def ports_of_board(state: OcsState, ocs: int, board: int) -> tuple[int, tuple[int, ...]]:
    """(side as an index of SIDES, the ports of the fibres before the mirrors that this board drives)."""
    side, of_array = divmod(board, BOARDS_PER_ARRAY)
    boards = driver_boards(state.seed, state.fabric, state.radix, state.ocs_count)
    driven = np.flatnonzero(boards[side, ocs] == of_array).tolist()
    if not state.patched:
        return side, tuple(driven)
    return side, tuple(sorted(logical(state, Port(ocs, side, port)).number for port in driven))


def own_faults(state: OcsState, port: Port) -> int:
    """The faults of a port that are not those of its driver board."""
    by_board = 0
    if state.broken:
        boards = range(port.side * BOARDS_PER_ARRAY, (port.side + 1) * BOARDS_PER_ARRAY)
        broken = [b for b in boards if f"{state.fabric}/ocs-{port.ocs}/driver-{b}" in state.broken]
        by_board = sum(port.number in ports_of_board(state, port.ocs, board)[1] for board in broken)
    return int(state.port_faults[port.side, port.ocs, port.number]) - by_board


def logical(state: OcsState, physical: Port) -> Port:
    """The port at which the fibre was wired that is at this port now: itself, unless it was patched."""
    for place, at in state.patched.items():
        side, ocs, port = port_at(place)
        if (ocs, side, at) == physical:
            return Port(ocs, side, port)
    return physical


def _spare(state: OcsState, port: Port) -> int | None:
    """Where the fibre of a port is, if not there."""
    return state.patched.get(place_of(port.side, port.ocs, port.number))


def _lose_circuits(state: OcsState, ocs: int, side: int, ports: Sequence[int]) -> None:
    """The mirrors of these ports fall."""
    norths = _norths(state, ocs, side, ports)
    state.made[ocs, norths] = False
    forget_stale(state, ocs, side, ports)
    forget_realignments(state, ocs, norths)
    touch(state, (ocs,))


def restore_circuits(state: OcsState, ocs: int, side: int, ports: Sequence[int], cause: str) -> None:
    """The wanted circuits of such of these ports as nothing else keeps down are made again."""
    sound = [port for port in ports if state.port_faults[side, ocs, port] == 0]
    restore_later(state, ocs, _norths(state, ocs, side, sound), cause)
    realign(state, (ocs,))
    touch(state, (ocs,))


def _norths(state: OcsState, ocs: int, side: int, ports: Sequence[int]) -> list[int]:
    """The North ports of the circuits that are wanted at these ports."""
    found = [north_of(state, Port(ocs, side, port)) for port in ports]
    return [north for north in found if north != NO_PORT]


def port_of(target: str) -> Port:
    """The port with a name like `pod-0/ocs-17/N24`."""
    ocs, _, label = target.rpartition("/")
    return Port(number_of(ocs), SIDES.index(label[0]), int(label[1:]))
