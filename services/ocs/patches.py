"""Fibres that are moved from dead mirrors to spare ports: the repair of a port ([LF] 3.2).

A patch lets two ports of a side trade mirrors: the port whose fibre moves has the spare's from then on, and
the spare the dead one, which stays so for good. Circuits that are wanted and made go on by logical port.
"""

from schemas.envelope import Envelope
from schemas.ocs import PortNotPatched, PortPatched
from schemas.repairs import PatchPort
from services.ocs.ports import logical, own_faults, restore_circuits
from services.ocs.state import NO_PORT, SIDES, IntArray, OcsState
from services.ocs.switch import Port
from shared.engine.service import Output
from shared.models.ocs.patches import physical_ports, place_of, port_at


def on_patch(state: OcsState, body: PatchPort, message: Envelope) -> list[Output]:
    """Move the fibre of a dead port to the first spare that is free and sound, if there is one."""
    physical = Port(body.ocs, SIDES.index(body.side), body.port)
    port = logical(state, physical)
    free = free_spares(state, body.ocs, physical.side)
    reason = _why_not(state, port, free)
    if reason is not None:
        return [
            PortNotPatched(repair=body.repair, ocs=body.ocs, side=body.side, port=body.port, reason=reason)
        ]
    spare = free[0]
    mirror = place_of(physical.side, physical.ocs, physical.number)
    state.mirror_misses.pop(mirror, None)
    state.off.pop(mirror, None)
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


def physical(state: OcsState, side: int | IntArray, ocs: int, ports: IntArray) -> IntArray:
    """Where the fibres of these ports of a side are now."""
    return physical_ports(state.patched, side, ocs, ports)


def _why_not(state: OcsState, port: Port, free: list[int]) -> str | None:
    if own_faults(state, port) == 0:
        return f"{port.label} works"
    if port.number >= state.ports_wired:
        return f"{port.label} is a spare: no fibre enters it, and mirrors are not mended in the field"
    if not free:
        side, spares = SIDES[port.side], state.ports - state.ports_wired
        return f"none of the {spares} spare ports on side {side} of ocs-{port.ocs} is free and sound"
    return None
