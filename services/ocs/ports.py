"""Ports that fail and return: one by itself, or all before the mirrors of a driver board.

Faults strike mirrors, which are those of physical ports; what comes of it is told by the ports at which the
fibres were wired (`shared.models.ocs.patches`).
"""

from collections.abc import Sequence

import numpy as np

from schemas.envelope import Envelope
from schemas.messages.ocs import PortDown, PortNotPatched, PortPatched, PortsDown, PortsUp, PortUp
from schemas.messages.repairs import PatchPort
from schemas.names import number_of
from services.ocs.state import NO_PORT, SIDES, IntArray, OcsState
from services.ocs.switch import (
    Port,
    cancel_retries,
    north_of,
    remove_stale,
    retry_alignment,
    schedule_restore,
    touch,
)
from shared.engine.service import Output
from shared.models.ocs.parts import BOARDS_PER_ARRAY
from shared.models.ocs.patches import physical_ports, place_of, port_at
from shared.models.optics.palomar import driver_boards


def fail_port(state: OcsState, target: str) -> list[Output]:
    """A port has one fault more of its own."""
    return fail_mirror(state, port_of(target))


def fail_mirror(state: OcsState, physical: Port, reason: str | None = None) -> list[Output]:
    """That of a port has one fault more; the `reason` is told where it is the OCS that holds it for dead."""
    port = logical_port(state, physical)
    was_broken = own_faults(state, port) > 0
    state.port_faults[port.side, port.ocs, port.number] += 1
    if was_broken:
        return []
    _drop_circuits(state, port.ocs, port.side, (port.number,))
    side, spare = SIDES[port.side], _spare_of(state, port)
    return [PortDown(ocs=port.ocs, side=side, port=port.number, spare=spare, reason=reason)]


def recover_port(state: OcsState, target: str, cause: str) -> list[Output]:
    """One fault less."""
    port = logical_port(state, port_of(target))
    state.port_faults[port.side, port.ocs, port.number] -= 1
    if own_faults(state, port) > 0:
        return []
    restore_circuits(state, port.ocs, port.side, (port.number,), cause)
    return [PortUp(ocs=port.ocs, side=SIDES[port.side], port=port.number, spare=_spare_of(state, port))]


def fail_board(state: OcsState, target: str, ocs: int) -> PortsDown:
    """A driver board breaks: the circuits over all of its mirrors are lost."""
    side, ports = ports_of_board(state, ocs, number_of(target))
    state.port_faults[side, ocs, ports] += 1
    _drop_circuits(state, ocs, side, ports)
    return PortsDown(part=target, ocs=ocs, side=SIDES[side], ports=ports)


def recover_board(state: OcsState, target: str, ocs: int, cause: str) -> PortsUp:
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
    return side, tuple(sorted(logical_port(state, Port(ocs, side, port)).number for port in driven))


def own_faults(state: OcsState, port: Port) -> int:
    """The faults of a port that are not those of its driver board."""
    by_board = 0
    if state.broken:
        boards = range(port.side * BOARDS_PER_ARRAY, (port.side + 1) * BOARDS_PER_ARRAY)
        broken = [b for b in boards if f"{state.fabric}/ocs-{port.ocs}/driver-{b}" in state.broken]
        by_board = sum(port.number in ports_of_board(state, port.ocs, board)[1] for board in broken)
    return int(state.port_faults[port.side, port.ocs, port.number]) - by_board


def logical_port(state: OcsState, physical: Port) -> Port:
    """The port at which the fibre was wired that is at this port now: itself, unless it was patched."""
    for place, at in state.patched.items():
        side, ocs, port = port_at(place)
        if (ocs, side, at) == physical:
            return Port(ocs, side, port)
    return physical


def _spare_of(state: OcsState, port: Port) -> int | None:
    """Where the fibre of a port is, if not there."""
    return state.patched.get(place_of(port.side, port.ocs, port.number))


def _drop_circuits(state: OcsState, ocs: int, side: int, ports: Sequence[int]) -> None:
    """The mirrors of these ports fall."""
    norths = _norths(state, ocs, side, ports)
    state.made[ocs, norths] = False
    remove_stale(state, ocs, side, ports)
    cancel_retries(state, ocs, norths)
    touch(state, (ocs,))


def restore_circuits(state: OcsState, ocs: int, side: int, ports: Sequence[int], cause: str) -> None:
    """The wanted circuits of such of these ports as nothing else keeps down are made again."""
    sound = [port for port in ports if state.port_faults[side, ocs, port] == 0]
    schedule_restore(state, ocs, _norths(state, ocs, side, sound), cause)
    retry_alignment(state, (ocs,))
    touch(state, (ocs,))


def _norths(state: OcsState, ocs: int, side: int, ports: Sequence[int]) -> list[int]:
    """The North ports of the circuits that are wanted at these ports."""
    found = [north_of(state, Port(ocs, side, port)) for port in ports]
    return [north for north in found if north != NO_PORT]


def port_of(target: str) -> Port:
    """The port with a name like `pod-0/ocs-17/N24`."""
    ocs, _, label = target.rpartition("/")
    return Port(number_of(ocs), SIDES.index(label[0]), int(label[1:]))


# Fibres that are moved from dead mirrors to spare ports: the repair of a port ([LF] 3.2).
#
# A patch lets two ports of a side trade mirrors: the port whose fibre moves has the spare's from then on, and
# the spare the dead one, which stays so for good. Circuits that are wanted and made go on by logical port.


def on_patch(state: OcsState, body: PatchPort, message: Envelope) -> list[Output]:
    """Move the fibre of a dead port to the first spare that is free and sound, if there is one."""
    physical = Port(body.ocs, SIDES.index(body.side), body.port)
    port = logical_port(state, physical)
    free = free_spares(state, body.ocs, physical.side)
    reason = _patch_refusal(state, port, free)
    if reason is not None:
        return [
            PortNotPatched(repair=body.repair, ocs=body.ocs, side=body.side, port=body.port, reason=reason)
        ]
    spare = free[0]
    mirror = place_of(physical.side, physical.ocs, physical.number)
    state.mirror_misses.pop(mirror, None)
    state.misaligned_mirrors.pop(mirror, None)
    state.patched[place_of(port.side, port.ocs, port.number)] = spare
    state.patched[place_of(port.side, port.ocs, spare)] = physical.number
    faults = state.port_faults[port.side, port.ocs]
    faults[[port.number, spare]] = faults[[spare, port.number]]
    faults[spare] += 1  # a dead mirror is never mended, whatever is said of its fault
    restore_circuits(state, port.ocs, port.side, (port.number,), message.id)
    left = physical.number if physical != port else None
    return [PortPatched(ocs=port.ocs, side=body.side, port=port.number, spare=spare, left=left)]


def free_spares(state: OcsState, ocs: int, side: int) -> list[int]:
    """The spare ports of one side that work and that nothing is at, the first of them first."""
    first, end = state.ports_wired, state.ports
    taken = (state.wanted, state.wanted_from)[side][ocs, first:end].tolist()
    broken = state.port_faults[side, ocs, first:end].tolist()
    both = enumerate(zip(taken, broken, strict=True), first)
    return [port for port, (at, faults) in both if at == NO_PORT and not faults]


def patches_of(state: OcsState, ocs: int) -> list[tuple[int, int, int]]:
    """The fibres of an OCS that are at a spare, as (side, port, spare), in this order."""
    found = [(*port_at(place), spare) for place, spare in state.patched.items()]
    return sorted(
        (side, port, spare) for side, at, port, spare in found if at == ocs and port < state.ports_wired
    )


def dead_ports(state: OcsState, ocs: int) -> list[tuple[int, int]]:
    """Ports of an OCS that a fibre was moved from for good, as (side, physical port)."""
    found = [(*port_at(place), dead) for place, dead in state.patched.items()]
    return sorted((side, dead) for side, at, port, dead in found if at == ocs and port >= state.ports_wired)


def current_ports(state: OcsState, side: int | IntArray, ocs: int, ports: IntArray) -> IntArray:
    """Where the fibres of these ports of a side are now."""
    return physical_ports(state.patched, side, ocs, ports)


def _patch_refusal(state: OcsState, port: Port, free: list[int]) -> str | None:
    if own_faults(state, port) == 0:
        return f"{port.label} works"
    if port.number >= state.ports_wired:
        return f"{port.label} is a spare: no fibre enters it, and mirrors are not mended in the field"
    if not free:
        side, spares = SIDES[port.side], state.ports - state.ports_wired
        return f"none of the {spares} spare ports on side {side} of ocs-{port.ocs} is free and sound"
    return None
