"""What breaks an OCS and what comes back: the chassis with all its circuits, or one port.

A Palomar's mirrors hold nothing without their drivers: circuits are lost with the chassis, and made again
from what is wanted when it is back (Lightwave Fabrics 3.2.2, Table C.1: not latching).
"""

from collections.abc import Collection, Sequence
from typing import Literal

import numpy as np

from schemas.envelope import Envelope
from schemas.failures import FaultBegan, FaultEnded
from schemas.names import number_of
from schemas.ocs import (
    CircuitsRestored,
    ControlLost,
    ControlRegained,
    OcsDown,
    OcsesDown,
    OcsesUp,
    OcsUp,
    PortDown,
    PortUp,
)
from services.ocs.state import NO_PORT, SIDES, IntArray, OcsState, PendingRestore
from services.ocs.switch import Port, circuits_of, make, north_of, touch
from services.ocs.turning import begin
from shared.engine.service import CausedBy, Output
from shared.models.network.blocks import network_of
from shared.models.network.parts import ocses_of


def on_fault_began(state: OcsState, body: FaultBegan, _message: Envelope) -> list[Output]:
    match body.kind:
        case "ocs":
            return _lose_chassis(state, number_of(body.target))
        case "port":
            return _lose_port(state, _port(body.target))
        case "rack" | "power":
            return _lose_housing(state, body.kind, body.target)
        case "control":
            return _lose_control(state, body.target)
        case _:
            return []


def on_fault_ended(state: OcsState, body: FaultEnded, message: Envelope) -> list[Output]:
    match body.kind:
        case "ocs":
            return _return_chassis(state, number_of(body.target), message.id)
        case "port":
            return _return_port(state, _port(body.target), message.id)
        case "rack" | "power":
            return _return_housing(state, body.kind, body.target, message.id)
        case "control":
            return _regain_control(state, body.target)
        case _:
            return []


def settle_restores(state: OcsState) -> list[Output]:
    """Make again the wanted circuits whose mirrors have settled, in order of what came back."""
    said: list[Output] = []
    due = sorted(order for order, pending in state.restores.items() if pending.due_us <= state.now_us)
    for order in due:
        pending = state.restores.pop(order)
        ocs, norths, souths = pending.ocs, *_restorable(state, pending)
        if not len(norths):
            continue
        found = circuits_of(np.full_like(norths, ocs), norths, souths, state.radix)
        _, sound = make(state, found, pending.failed, pending.cause)
        circuits = tuple(zip(norths[sound].tolist(), souths[sound].tolist(), strict=True))
        if circuits:
            said.append(CausedBy(pending.cause, CircuitsRestored(ocs=ocs, circuits=circuits)))
    return said


def realign(state: OcsState, ocses: Collection[int] | None = None) -> None:
    """Let mirrors turn again that did not find their places: those of some OCSes on which something moves
    anyway, else those whose time has come."""
    for place, failed in sorted(state.realignments.items()):
        ocs, north = divmod(place, state.radix)
        if ocs in ocses if ocses is not None else failed.due_us <= state.now_us:
            del state.realignments[place]
            touch(state, (ocs,))
            _restore_later(state, ocs, north, failed.cause)


def _lose_chassis(state: OcsState, ocs: int) -> list[Output]:
    own = state.chassis_faults[ocs] - state.housing_faults[ocs]
    _darken(state, (ocs,))
    return [OcsDown(ocs=ocs)] if own == 0 else []


def _return_chassis(state: OcsState, ocs: int, cause: str) -> list[Output]:
    _lighten(state, (ocs,), cause)
    own = state.chassis_faults[ocs] - state.housing_faults[ocs]
    return [OcsUp(ocs=ocs)] if own == 0 else []


def _lose_housing(state: OcsState, kind: Literal["rack", "power"], target: str) -> list[Output]:
    if not _breaks(state, target):
        return []
    ocses = _hold_power(state, kind, target, +1)
    state.housing_faults[list(ocses)] += 1
    _darken(state, ocses)
    return [OcsesDown(part=target, kind=kind, ocses=ocses)]


def _return_housing(state: OcsState, kind: Literal["rack", "power"], target: str, cause: str) -> list[Output]:
    if not _mends(state, target):
        return []
    ocses = _hold_power(state, kind, target, -1)
    state.housing_faults[list(ocses)] -= 1
    _lighten(state, ocses, cause)
    return [OcsesUp(part=target, kind=kind, ocses=ocses)]


def _lose_control(state: OcsState, target: str) -> list[Output]:
    if not _breaks(state, target):
        return []
    state.control_faults[list(_ocses(state, "control", target))] += 1
    return [ControlLost(part=target)]


def _regain_control(state: OcsState, target: str) -> list[Output]:
    if not _mends(state, target):
        return []
    state.control_faults[list(_ocses(state, "control", target))] -= 1
    return [ControlRegained(part=target)]


def _breaks(state: OcsState, part: str) -> bool:
    """One fault more of a rack or domain; whether it is the first."""
    state.broken[part] = state.broken.get(part, 0) + 1
    return state.broken[part] == 1


def _mends(state: OcsState, part: str) -> bool:
    """One fault less; whether it was the last."""
    left = state.broken.pop(part) - 1
    if left:
        state.broken[part] = left
    return left == 0


def _darken(state: OcsState, ocses: Sequence[int]) -> None:
    """One reason more why these have no light."""
    state.chassis_faults[list(ocses)] += 1
    state.made[list(ocses)] = False
    for place in [place for place in state.realignments if place // state.radix in ocses]:
        del state.realignments[place]
    touch(state, ocses)


def _lighten(state: OcsState, ocses: Sequence[int], cause: str) -> None:
    """One reason less; where it was the last, mirrors turn to what is wanted."""
    state.chassis_faults[list(ocses)] -= 1
    for ocs in ocses:
        if state.chassis_faults[ocs] == 0:
            _restore_later(state, ocs, NO_PORT, cause)
    touch(state, ocses)


def _hold_power(state: OcsState, kind: str, target: str, change: int) -> tuple[int, ...]:
    """The OCSes that go dark with a rack or a power domain. Those that latch keep their circuits without
    power: none goes dark, but none can be changed."""
    ocses = _ocses(state, kind, target)
    if kind == "power" and state.latches:
        state.control_faults[list(ocses)] += change
        return ()
    return tuple(ocses)


def _ocses(state: OcsState, kind: str, target: str) -> range:
    assert state.network is not None  # noqa: S101 -- only a network has such parts
    return ocses_of(network_of(state.network), kind, number_of(target))


def _lose_port(state: OcsState, port: Port) -> list[Output]:
    ocs, side, number = port
    state.port_faults[side, ocs, number] += 1
    if state.port_faults[side, ocs, number] > 1:
        return []
    north = north_of(state, port)
    if north != NO_PORT:
        state.made[ocs, north] = False
        state.realignments.pop(ocs * state.radix + north, None)
    touch(state, (ocs,))
    return [PortDown(ocs=ocs, side=SIDES[side], port=number)]


def _return_port(state: OcsState, port: Port, cause: str) -> list[Output]:
    ocs, side, number = port
    state.port_faults[side, ocs, number] -= 1
    if state.port_faults[side, ocs, number] > 0:
        return []
    north = north_of(state, port)
    if north != NO_PORT:
        _restore_later(state, ocs, north, cause)
    realign(state, (ocs,))
    touch(state, (ocs,))
    return [PortUp(ocs=ocs, side=SIDES[side], port=number)]


def _port(target: str) -> Port:
    """The port with a name like `pod-0/ocs-17/N24`."""
    ocs, _, label = target.rpartition("/")
    return Port(number_of(ocs), SIDES.index(label[0]), int(label[1:]))


def _restore_later(state: OcsState, ocs: int, north: int, cause: str) -> None:
    """Let the mirrors of what is wanted and not made turn: of one circuit by its North port, or all."""
    missing = (state.wanted[ocs] != NO_PORT) & ~state.made[ocs]
    norths = missing.nonzero()[0] if north == NO_PORT else np.array([north])
    souths = state.wanted[ocs, norths].astype(np.int64)
    circuits = circuits_of(np.full_like(norths, ocs), norths, souths, state.radix)
    due_us, failed = begin(state, circuits, missing[norths])
    state.orders += 1
    state.restores[state.orders] = PendingRestore(ocs, north, due_us, cause, failed)


def _restorable(state: OcsState, pending: PendingRestore) -> tuple[IntArray, IntArray]:
    """The circuits of a restore that can be made now, by North and South ports. Those whose mirrors still
    turn for a command, or for what came back later, are left to that."""
    ocs, ports = pending.ocs, np.arange(state.radix)
    if state.chassis_faults[ocs] > 0:
        return ports[:0], ports[:0]
    good = (state.wanted[ocs] != NO_PORT) & ~state.made[ocs] & ~state.turning[ocs]
    good &= state.port_faults[0, ocs] == 0
    if pending.north != NO_PORT:
        good &= ports == pending.north
    for later in state.restores.values():
        if later.ocs == ocs and later.due_us > state.now_us:
            good &= (ports != later.north) & (later.north != NO_PORT)
    north = np.flatnonzero(good)
    south = state.wanted[ocs, north].astype(np.int64)
    sound = state.port_faults[1, ocs, south] == 0
    return north[sound], south[sound]
