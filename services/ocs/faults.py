"""What breaks an OCS and what comes back: the chassis with all its circuits, or one port.

A Palomar's mirrors hold nothing without their drivers: circuits are lost with the chassis, and made again
from what is wanted when it is back (Lightwave Fabrics 3.2.2, Table C.1: not latching).
"""

import numpy as np

from schemas.envelope import Envelope
from schemas.failures import FaultBegan, FaultEnded
from schemas.names import number_of
from schemas.ocs import CircuitsRestored, OcsDown, OcsUp, PortDown, PortUp
from services.ocs.state import NO_PORT, SIDES, OcsState, PendingRestore
from services.ocs.switch import Port, north_of, settled_us, touch
from shared.engine.service import CausedBy, Output


def on_fault_began(state: OcsState, body: FaultBegan, _message: Envelope) -> list[Output]:
    if body.kind == "ocs":
        return _lose_chassis(state, number_of(body.target))
    return _lose_port(state, _port(body.target)) if body.kind == "port" else []


def on_fault_ended(state: OcsState, body: FaultEnded, message: Envelope) -> list[Output]:
    if body.kind == "ocs":
        return _return_chassis(state, number_of(body.target), message.id)
    return _return_port(state, _port(body.target), message.id) if body.kind == "port" else []


def settle_restores(state: OcsState) -> list[Output]:
    """Make again the wanted circuits whose switching time is over, in order of what came back."""
    said: list[Output] = []
    due = sorted(order for order, pending in state.restores.items() if pending.due_us <= state.now_us)
    for order in due:
        pending = state.restores.pop(order)
        circuits = _restorable(state, pending)
        if circuits:
            state.made[pending.ocs, [north for north, _ in circuits]] = True
            state.cross_connects += len(circuits)
            touch(state, pending.ocs)
            said.append(CausedBy(pending.cause, CircuitsRestored(ocs=pending.ocs, circuits=circuits)))
    return said


def _lose_chassis(state: OcsState, ocs: int) -> list[Output]:
    state.chassis_faults[ocs] += 1
    if state.chassis_faults[ocs] > 1:
        return []
    state.made[ocs] = False
    touch(state, ocs)
    return [OcsDown(ocs=ocs)]


def _return_chassis(state: OcsState, ocs: int, cause: str) -> list[Output]:
    state.chassis_faults[ocs] -= 1
    if state.chassis_faults[ocs] > 0:
        return []
    _restore_later(state, ocs, NO_PORT, cause)
    touch(state, ocs)
    return [OcsUp(ocs=ocs)]


def _lose_port(state: OcsState, port: Port) -> list[Output]:
    ocs, side, number = port
    state.port_faults[side, ocs, number] += 1
    if state.port_faults[side, ocs, number] > 1:
        return []
    north = north_of(state, port)
    if north != NO_PORT:
        state.made[ocs, north] = False
    touch(state, ocs)
    return [PortDown(ocs=ocs, side=SIDES[side], port=number)]


def _return_port(state: OcsState, port: Port, cause: str) -> list[Output]:
    ocs, side, number = port
    state.port_faults[side, ocs, number] -= 1
    if state.port_faults[side, ocs, number] > 0:
        return []
    north = north_of(state, port)
    if north != NO_PORT:
        _restore_later(state, ocs, north, cause)
    touch(state, ocs)
    return [PortUp(ocs=ocs, side=SIDES[side], port=number)]


def _port(target: str) -> Port:
    """The port with a name like `pod-0/ocs-17/N24`."""
    ocs, _, label = target.rpartition("/")
    return Port(number_of(ocs), SIDES.index(label[0]), int(label[1:]))


def _restore_later(state: OcsState, ocs: int, north: int, cause: str) -> None:
    state.orders += 1
    state.restores[state.orders] = PendingRestore(ocs, north, settled_us(state), cause)


def _restorable(state: OcsState, pending: PendingRestore) -> tuple[tuple[int, int], ...]:
    """The circuits of a restore that can be made now, as (North, South). Those whose mirrors still turn for
    a command, or for what came back later, are left to that."""
    ocs = pending.ocs
    if state.chassis_faults[ocs] > 0:
        return ()
    good = (state.wanted[ocs] != NO_PORT) & ~state.made[ocs] & ~state.turning[ocs]
    good &= state.port_faults[0, ocs] == 0
    ports = np.arange(state.radix)
    if pending.north != NO_PORT:
        good &= ports == pending.north
    for later in state.restores.values():
        if later.ocs == ocs and later.due_us > state.now_us:
            good &= (ports != later.north) & (later.north != NO_PORT)
    north = np.flatnonzero(good)
    south = state.wanted[ocs, north]
    sound = state.port_faults[1, ocs, south] == 0
    return tuple(zip(north[sound].tolist(), south[sound].tolist(), strict=True))
