"""Ports that fail and recover: one by itself, or all whose mirrors a driver board drives.

Faults hit mirrors, which belong to physical ports. Messages name the logical port, where the fibre was wired
(`shared.models.ocs.patched_fibres`). The repair of a port moves its fibre from the dead mirror to a spare
port ([LF] 4.1.1). A patch swaps the mirrors of two ports of one side: the port whose fibre moves gets the
mirror of the spare, and the spare gets the dead one for good. Circuits keep their logical ports.
"""

from collections.abc import Sequence

import numpy as np

from schemas.envelope import Envelope
from schemas.messages.ocs import PortDown, PortNotPatched, PortPatched, PortsDown, PortsUp, PortUp
from schemas.messages.repairs import PatchPort
from schemas.names import number_of
from services.ocs.state import IntArray, OcsState
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
from shared.models.network.wiring import NO_PORT
from shared.models.ocs.parts import BOARDS_PER_ARRAY
from shared.models.ocs.patched_fibres import SIDES, physical_ports, port_at, port_place
from shared.models.optics.palomar import driver_boards


def fail_port(state: OcsState, target: str) -> list[Output]:
    """Add one fault to a port."""
    return fail_mirror(state, parse_port(target))


def fail_mirror(state: OcsState, physical: Port, reason: str | None = None) -> list[Output]:
    """Add one fault to the mirror of a port. `reason` is given if the OCS itself gave the mirror up."""
    port = logical_port(state, physical)
    was_broken = own_faults(state, port) > 0
    state.port_faults[port.side, port.ocs, port.number] += 1
    if was_broken:
        return []
    _drop_circuits(state, port.ocs, port.side, (port.number,))
    side, spare = SIDES[port.side], _spare_of(state, port)
    return [PortDown(ocs=port.ocs, side=side, port=port.number, spare=spare, reason=reason)]


def recover_port(state: OcsState, target: str, cause: str) -> list[Output]:
    """Remove one fault from a port."""
    port = logical_port(state, parse_port(target))
    state.port_faults[port.side, port.ocs, port.number] -= 1
    if own_faults(state, port) > 0:
        return []
    restore_circuits(state, port.ocs, port.side, (port.number,), cause)
    return [PortUp(ocs=port.ocs, side=SIDES[port.side], port=port.number, spare=_spare_of(state, port))]


def fail_board(state: OcsState, target: str, ocs: int) -> PortsDown:
    """Fail a driver board: the circuits over all of its mirrors are lost."""
    side, ports = ports_of_board(state, ocs, number_of(target))
    state.port_faults[side, ocs, ports] += 1
    _drop_circuits(state, ocs, side, ports)
    return PortsDown(part=target, ocs=ocs, side=SIDES[side], ports=ports)


def recover_board(state: OcsState, target: str, ocs: int, cause: str) -> PortsUp:
    """Recover a swapped driver board. Its mirrors have lost their settings, so circuits are made again."""
    side, ports = ports_of_board(state, ocs, number_of(target))
    state.port_faults[side, ocs, ports] -= 1
    restore_circuits(state, ocs, side, ports, cause)
    return PortsUp(part=target, ocs=ocs, side=SIDES[side], ports=ports)


def ports_of_board(state: OcsState, ocs: int, board: int) -> tuple[int, tuple[int, ...]]:
    """(side as an index of SIDES, logical ports of the mirrors that this board drives)."""
    side, of_array = divmod(board, BOARDS_PER_ARRAY)
    boards = driver_boards(state.seed, state.fabric, state.radix, state.ocs_count)
    driven = np.flatnonzero(boards[side, ocs] == of_array).tolist()
    if not state.patched:
        return side, tuple(driven)
    return side, tuple(sorted(logical_port(state, Port(ocs, side, port)).number for port in driven))


def own_faults(state: OcsState, port: Port) -> int:
    """The faults of a port without those of its driver board."""
    by_board = 0
    if state.broken:
        boards = range(port.side * BOARDS_PER_ARRAY, (port.side + 1) * BOARDS_PER_ARRAY)
        broken = [b for b in boards if f"{state.fabric}/ocs-{port.ocs}/driver-{b}" in state.broken]
        by_board = sum(port.number in ports_of_board(state, port.ocs, board)[1] for board in broken)
    return int(state.port_faults[port.side, port.ocs, port.number]) - by_board


def logical_port(state: OcsState, physical: Port) -> Port:
    """The logical port of the fibre at a physical port: the same port, unless it was patched."""
    for place, at in state.patched.items():
        side, ocs, port = port_at(place)
        if (ocs, side, at) == physical:
            return Port(ocs, side, port)
    return physical


def _spare_of(state: OcsState, port: Port) -> int | None:
    """The port to which the fibre of a port was moved; None if it was not."""
    return state.patched.get(port_place(port.side, port.ocs, port.number))


def _drop_circuits(state: OcsState, ocs: int, side: int, ports: Sequence[int]) -> None:
    """Take down the circuits at these ports."""
    norths = _norths(state, ocs, side, ports)
    state.made[ocs, norths] = False
    remove_stale(state, ocs, side, ports)
    cancel_retries(state, ocs, norths)
    touch(state, (ocs,))


def restore_circuits(state: OcsState, ocs: int, side: int, ports: Sequence[int], cause: str) -> None:
    """Make the wanted circuits at these ports again, unless another fault keeps them down."""
    sound = [port for port in ports if state.port_faults[side, ocs, port] == 0]
    schedule_restore(state, ocs, _norths(state, ocs, side, sound), cause)
    retry_alignment(state, (ocs,))
    touch(state, (ocs,))


def _norths(state: OcsState, ocs: int, side: int, ports: Sequence[int]) -> list[int]:
    """The North ports of the circuits that are wanted at these ports."""
    norths = [north_of(state, Port(ocs, side, port)) for port in ports]
    return [north for north in norths if north != NO_PORT]


def parse_port(target: str) -> Port:
    """The port with a name like `pod-0/ocs-17/N24`."""
    ocs, _, label = target.rpartition("/")
    return Port(number_of(ocs), SIDES.index(label[0]), int(label[1:]))


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
    mirror = port_place(physical.side, physical.ocs, physical.number)
    state.mirror_misses.pop(mirror, None)
    state.misaligned_mirrors.pop(mirror, None)
    state.patched[port_place(port.side, port.ocs, port.number)] = spare
    state.patched[port_place(port.side, port.ocs, spare)] = physical.number
    faults = state.port_faults[port.side, port.ocs]
    faults[[port.number, spare]] = faults[[spare, port.number]]
    faults[spare] += 1  # a dead mirror is never repaired, even when its fault ends
    restore_circuits(state, port.ocs, port.side, (port.number,), message.id)
    left = physical.number if physical != port else None
    return [PortPatched(ocs=port.ocs, side=body.side, port=port.number, spare=spare, left=left)]


def free_spares(state: OcsState, ocs: int, side: int) -> list[int]:
    """The free and sound spare ports of one side, in order."""
    first, end = state.ports_wired, state.ports
    taken = (state.wanted, state.wanted_from)[side][ocs, first:end].tolist()
    broken = state.port_faults[side, ocs, first:end].tolist()
    both = enumerate(zip(taken, broken, strict=True), first)
    return [port for port, (at, faults) in both if at == NO_PORT and not faults]


def patches_of(state: OcsState, ocs: int) -> list[tuple[int, int, int]]:
    """The fibres of an OCS that use a spare port, as sorted (side, port, spare)."""
    patches = [(*port_at(place), spare) for place, spare in state.patched.items()]
    return sorted(
        (side, port, spare) for side, at, port, spare in patches if at == ocs and port < state.ports_wired
    )


def dead_ports(state: OcsState, ocs: int) -> list[tuple[int, int]]:
    """Ports of an OCS that were given up for good, as sorted (side, physical port)."""
    patches = [(*port_at(place), dead) for place, dead in state.patched.items()]
    return sorted((side, dead) for side, at, port, dead in patches if at == ocs and port >= state.ports_wired)


def current_ports(state: OcsState, side: int | IntArray, ocs: int, ports: IntArray) -> IntArray:
    """The physical ports of the fibres of these logical ports."""
    return physical_ports(state.patched, side, ocs, ports)


def _patch_refusal(state: OcsState, port: Port, free: list[int]) -> str | None:
    if own_faults(state, port) == 0:
        return f"{port.label} works"
    if port.number >= state.ports_wired:
        return f"{port.label} is a spare: it has no fibre, and mirrors cannot be repaired in the field"
    if not free:
        side, spares = SIDES[port.side], state.ports - state.ports_wired
        return f"none of the {spares} spare ports on side {side} of ocs-{port.ocs} is free and sound"
    return None
