"""Commands of a superpod to its OCSes: joins of cubes, translated to ports (`join_ports`).

A join is 32 circuits, on the 16 OCSes of its dimension. `network_commands` does the same for a datacenter
network.
"""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from schemas.envelope import Envelope
from schemas.messages.ocs import CircuitsConnected, CircuitsDisconnected, CircuitsRefused
from schemas.messages.scheduler import ConnectCircuits, DisconnectCircuits, LeaveCircuits
from schemas.names import Join, number_of
from services.ocs.manual_cross_connects import yield_ports_to
from services.ocs.settling_time import start_alignment
from services.ocs.state import NO_OWNER, BoolArray, Circuits, OcsState, PendingConnect, as_circuits
from services.ocs.switch import (
    Port,
    busy_port,
    disconnect,
    foreign_circuit,
    make_circuits,
    mark_wanted,
    north_of,
    release_ownership,
    retry_alignment,
    touch,
)
from shared.engine.service import CausedBy, Output
from shared.models.ocs.patched_fibres import SIDES
from shared.models.superpod.wiring import FACE_LINKS, JOINS_KEPT_MAX, STRANDS, join_ports

PortConflict = tuple[Port, str]
"""The port that conflicts with a command, and the reason."""


def on_connect(state: OcsState, body: ConnectCircuits, message: Envelope) -> list[Output]:
    """Mark the joins as wanted and turn the mirrors, or refuse all of them.

    Manual cross-connects at their ports are dropped.
    """
    conflict = _invalid_port(body.joins, state.ports_wired) or _connect_conflict(state, body)
    if conflict is not None:
        return [_refusal(body.slice, conflict)]
    circuits = _circuits(body.joins, state.radix)
    dropped = yield_ports_to(state, circuits, body.slice)
    turning = mark_wanted(state, circuits, number_of(body.slice))
    due_us, failed = start_alignment(state, circuits, turning)
    state.last_order += 1
    state.connects[state.last_order] = PendingConnect(body.slice, body.joins, due_us, message.id, failed)
    retry_alignment(state, circuits.ocses)
    return dropped


def on_disconnect(state: OcsState, body: DisconnectCircuits, _message: Envelope) -> list[Output]:
    """Park the mirrors of the slice's joins, or of unowned ones, at once, and drop pending connects of
    them."""
    owners = (number_of(body.slice), NO_OWNER)
    conflict = _invalid_port(body.joins, state.ports_wired) or _release_conflict(state, body, owners)
    if conflict is not None:
        return [_refusal(body.slice, conflict)]
    disconnect(state, _circuits(body.joins, state.radix))
    _drop_pending(state, body)
    return [CircuitsDisconnected(slice=body.slice, joins=body.joins)]


def on_leave(state: OcsState, body: LeaveCircuits, _message: Envelope) -> list[Output]:
    """Release the slice's joins without turning mirrors. They are kept for reuse."""
    owners = (number_of(body.slice),)
    conflict = _invalid_port(body.joins, state.ports_wired) or _release_conflict(state, body, owners)
    if conflict is not None:
        return [_refusal(body.slice, conflict)]
    release_ownership(state, _circuits(body.joins, state.radix))
    return []


def complete_connects(state: OcsState) -> list[Output]:
    """Make the circuits whose mirrors have settled, in order of the commands."""
    due = sorted(order for order, pending in state.connects.items() if pending.due_us <= state.now_us)
    return [_complete(state, state.connects.pop(order)) for order in due]


def _complete(state: OcsState, pending: PendingConnect) -> CausedBy:
    circuits = _circuits(pending.joins, state.radix)
    up, sound = make_circuits(state, circuits, pending.failed, pending.cause)
    touch(state, circuits.ocses)
    dark_ocses, bad_ports = _missing(circuits, up, sound)
    body = CircuitsConnected(
        slice=pending.slice, joins=pending.joins, missing_ocs=dark_ocses, missing_ports=bad_ports
    )
    return CausedBy(pending.cause, body)


def _missing(
    circuits: Circuits, up: BoolArray, sound: BoolArray
) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]]:
    """(OCSes that made none of the circuits, (OCS, North port) of the other circuits that were not made)."""
    good = up & sound
    if good.all():
        return (), ()
    # An OCS that makes no new circuits may still have some of them. Report the others by port.
    dark_ocses = sorted({*circuits.ocs[~up].tolist()} - {*circuits.ocs[up].tolist()})
    bad = np.flatnonzero(~good & ~np.isin(circuits.ocs, dark_ocses))
    ports = zip(circuits.ocs[bad].tolist(), circuits.north[bad].tolist(), strict=True)
    return tuple(dark_ocses), tuple(ports)


@lru_cache(maxsize=JOINS_KEPT_MAX)
def _circuits(joins: tuple[Join, ...], radix: int) -> Circuits:
    return as_circuits(*join_ports(joins), radix)


def _connect_conflict(state: OcsState, body: ConnectCircuits) -> PortConflict | None:
    port = busy_port(state, _circuits(body.joins, state.radix))
    if port is None:
        return None
    owner = int(state.owner[port.ocs, north_of(state, port)])
    circuit = "an unowned circuit" if owner == NO_OWNER else f"a circuit of {state.fabric}/slice-{owner}"
    return port, f"busy with {circuit}"


def _release_conflict(
    state: OcsState, body: DisconnectCircuits | LeaveCircuits, owners: tuple[int, ...]
) -> PortConflict | None:
    circuits = _circuits(body.joins, state.radix)
    first = foreign_circuit(state, circuits, owners)
    if first is None:
        return None
    ocs, north, south = (int(ports[first]) for ports in (circuits.ocs, circuits.north, circuits.south))
    return Port(ocs, SIDES.index("N"), north), f"no circuit N{north} to S{south} of {body.slice}"


def _refusal(name: str, conflict: PortConflict) -> CircuitsRefused:
    port, reason = conflict
    return CircuitsRefused(slice=name, ocs=port.ocs, port=port.label, reason=reason)


@lru_cache(maxsize=JOINS_KEPT_MAX)
def _invalid_port(joins: tuple[Join, ...], ports_wired: int) -> PortConflict | None:
    """The first port without a cube, or that is named twice in one command; None if all are valid."""
    for side, at in ((0, 1), (1, 2)):
        seen: set[tuple[int, int]] = set()
        for join in joins:
            dimension, cube = place = join[0], join[at]
            if STRANDS * cube < ports_wired and place not in seen:
                seen.add(place)
                continue
            port = Port(dimension * FACE_LINKS, side, STRANDS * cube + side)
            if port.number >= ports_wired:
                return port, f"no such working port; must be between 0 and {ports_wired - 1}"
            return port, "named twice in one command"
    return None


def _drop_pending(state: OcsState, body: DisconnectCircuits) -> None:
    if not state.connects:
        return
    gone = set(body.joins)
    for order, pending in list(state.connects.items()):
        if pending.slice != body.slice or gone.isdisjoint(pending.joins):
            continue
        left = tuple(join for join in pending.joins if join not in gone)
        if left:
            state.connects[order] = replace(pending, joins=left)
        else:
            del state.connects[order]
