"""What breaks an OCS and what comes back: the chassis with all its circuits, or one port.

A Palomar's mirrors hold nothing without their drivers: circuits are lost with the chassis, and made again
from what is wanted when it is back (Lightwave Fabrics 3.2.2, Table C.1: not latching).
"""

import numpy as np

from schemas.envelope import Envelope
from schemas.failures import FaultBegan, FaultEnded
from schemas.ocs import CircuitsRestored, OcsDown, OcsUp, PortDown, PortUp
from services.ocs.circuits import touch_one
from services.ocs.state import NO_PORT, SIDES, OcsState, PendingRestore
from shared.basics.units import US_PER_MS, us
from shared.engine.service import CausedBy, Output
from shared.models.superpod.wiring import FACE_LINKS, STRANDS, Part, parse_part


def on_fault_began(state: OcsState, body: FaultBegan, _message: Envelope) -> list[Output]:
    if body.kind not in ("ocs", "port"):
        return []
    part = parse_part(body.target, state.cubes)
    return _lose_chassis(state, part.ocs) if body.kind == "ocs" else _lose_port(state, part)


def on_fault_ended(state: OcsState, body: FaultEnded, message: Envelope) -> list[Output]:
    if body.kind not in ("ocs", "port"):
        return []
    part = parse_part(body.target, state.cubes)
    if body.kind == "ocs":
        return _return_chassis(state, part.ocs, message.id)
    return _return_port(state, part, message.id)


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
            touch_one(state, pending.ocs)
            said.append(CausedBy(pending.cause, CircuitsRestored(ocs=pending.ocs, circuits=circuits)))
    return said


def _lose_chassis(state: OcsState, ocs: int) -> list[Output]:
    state.chassis_faults[ocs] += 1
    if state.chassis_faults[ocs] > 1:
        return []
    state.made[ocs] = False
    touch_one(state, ocs)
    return [OcsDown(ocs=ocs)]


def _return_chassis(state: OcsState, ocs: int, cause: str) -> list[Output]:
    state.chassis_faults[ocs] -= 1
    if state.chassis_faults[ocs] > 0:
        return []
    _restore_later(state, ocs, NO_PORT, cause)
    touch_one(state, ocs)
    return [OcsUp(ocs=ocs)]


def _lose_port(state: OcsState, part: Part) -> list[Output]:
    ocs, side = part.ocs, "NS".index(part.side)
    state.port_faults[side, ocs, part.port] += 1
    if state.port_faults[side, ocs, part.port] > 1:
        return []
    north = _north_of(state, part)
    if north != NO_PORT:
        state.made[ocs, north] = False
    touch_one(state, ocs)
    return [PortDown(ocs=ocs, side=SIDES[side], port=part.port)]


def _return_port(state: OcsState, part: Part, cause: str) -> list[Output]:
    ocs, side = part.ocs, "NS".index(part.side)
    state.port_faults[side, ocs, part.port] -= 1
    if state.port_faults[side, ocs, part.port] > 0:
        return []
    north = _north_of(state, part)
    if north != NO_PORT:
        _restore_later(state, ocs, north, cause)
    touch_one(state, ocs)
    return [PortUp(ocs=ocs, side=SIDES[side], port=part.port)]


def _north_of(state: OcsState, part: Part) -> int:
    """North port of the circuit that is wanted at a port, −1 if there is none."""
    if part.side == "S":
        return int(state.wanted_from[part.ocs, part.port])
    return part.port if state.wanted[part.ocs, part.port] != NO_PORT else NO_PORT


def _restore_later(state: OcsState, ocs: int, north: int, cause: str) -> None:
    state.orders += 1
    due_us = state.now_us + us(state.config.switching_time_ms, US_PER_MS)
    state.restores[state.orders] = PendingRestore(ocs, north, due_us, cause)


def _restorable(state: OcsState, pending: PendingRestore) -> tuple[tuple[int, int], ...]:
    """The circuits of a restore that can be made now, as (North, South). Those whose mirrors still turn for
    a command, or for what came back later, are left to that."""
    ocs = pending.ocs
    if state.chassis_faults[ocs] > 0:
        return ()
    good = (state.wanted[ocs] != NO_PORT) & ~state.made[ocs] & (state.port_faults[0, ocs] == 0)
    ports = np.arange(state.radix)
    if pending.north != NO_PORT:
        good &= ports == pending.north
    for connect in state.connects.values():
        for dimension, cube, _ in connect.joins:
            if dimension == ocs // FACE_LINKS:
                good[STRANDS * cube : STRANDS * cube + STRANDS] = False
    for later in state.restores.values():
        if later.ocs == ocs and later.due_us > state.now_us:
            good &= (ports != later.north) & (later.north != NO_PORT)
    north = np.flatnonzero(good)
    south = state.wanted[ocs, north]
    sound = state.port_faults[1, ocs, south] == 0
    return tuple(zip(north[sound].tolist(), south[sound].tolist(), strict=True))
