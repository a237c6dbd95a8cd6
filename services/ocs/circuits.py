"""Commands: which circuits are wanted, and the moment the mirrors have settled on them.

The OCS is non-blocking: a command touches the ports of its own joins and no other (Lightwave Fabrics 2.3, TPU
v4 2.6).
"""

from dataclasses import replace
from functools import cache, lru_cache

import numpy as np

from schemas.envelope import Envelope
from schemas.names import Join
from schemas.ocs import CircuitsConnected, CircuitsDisconnected, CircuitsRefused
from schemas.scheduler import ConnectCircuits, DisconnectCircuits
from services.ocs.state import NO_PORT, OcsState, PendingConnect
from shared.basics.units import US_PER_MS, us
from shared.engine.service import CausedBy, Output
from shared.models.superpod.wiring import FACE_LINKS, JOINS_KEPT_MAX, OCS_COUNT, STRANDS, IntArray, join_ports


def on_connect(state: OcsState, body: ConnectCircuits, message: Envelope) -> list[Output]:
    """Take the joins as wanted and let the mirrors turn, or refuse all of them."""
    refused = _why_not_connect(state, body)
    if refused is not None:
        return [refused]
    ocs, north, south = join_ports(body.joins)
    state.wanted[ocs, north] = south
    state.wanted_from[ocs, south] = north
    state.owner[ocs, north] = slice_number(body.slice)
    state.orders += 1
    due_us = state.now_us + us(state.config.switching_time_ms, US_PER_MS)
    state.connects[state.orders] = PendingConnect(body.slice, body.joins, due_us, message.id)
    touch(state, body.joins)
    return []


def on_disconnect(state: OcsState, body: DisconnectCircuits, _message: Envelope) -> list[Output]:
    """Park the mirrors of the slice's joins at once; what was still turning towards them is dropped."""
    refused = _why_not_disconnect(state, body)
    if refused is not None:
        return [refused]
    ocs, north, south = join_ports(body.joins)
    state.wanted[ocs, north] = NO_PORT
    state.wanted_from[ocs, south] = NO_PORT
    state.owner[ocs, north] = -1
    state.made[ocs, north] = False
    _drop_pending(state, body)
    touch(state, body.joins)
    return [CircuitsDisconnected(slice=body.slice, joins=body.joins)]


def settle_connects(state: OcsState) -> list[Output]:
    """Make the circuits whose switching time is over, in order of the commands."""
    due = sorted(order for order, pending in state.connects.items() if pending.due_us <= state.now_us)
    return [_settle(state, state.connects.pop(order)) for order in due]


def _settle(state: OcsState, pending: PendingConnect) -> CausedBy:
    ocs, north, south = join_ports(pending.joins)
    up = state.chassis_faults[ocs] == 0
    sound = (state.port_faults[0, ocs, north] == 0) & (state.port_faults[1, ocs, south] == 0)
    for restore in state.restores.values():
        # What was lost meanwhile and came back turns a switching time of its own, and is restored after it.
        if restore.due_us > state.now_us and restore.north == NO_PORT:
            up &= ocs != restore.ocs
        elif restore.due_us > state.now_us:
            sound &= (ocs != restore.ocs) | (north != restore.north)
    good = up & sound
    state.made[ocs, north] = good
    state.cross_connects += int(np.count_nonzero(good))
    bad_ports = np.flatnonzero(up & ~sound)
    touch(state, pending.joins)
    body = CircuitsConnected(
        slice=pending.slice,
        joins=pending.joins,
        missing_ocs=() if up.all() else tuple(np.unique(ocs[~up]).tolist()),
        missing_ports=tuple((int(ocs[n]), int(north[n])) for n in bad_ports),
    )
    return CausedBy(pending.cause, body)


def _why_not_connect(state: OcsState, body: ConnectCircuits) -> CircuitsRefused | None:
    """The first port that stands in the way of a command, with the reason; None if it may be done."""
    misnamed = _misnamed(body.joins, state.cubes)
    if misnamed is not None:
        return _refusal(body.slice, misnamed)
    ocs, north, south = join_ports(body.joins)
    for side, taken, ports in (("N", state.wanted, north), ("S", state.wanted_from, south)):
        busy = taken[ocs, ports] != NO_PORT
        if busy.any():
            return _refusal(body.slice, _busy(state, side, ocs, ports, int(np.argmax(busy))))
    return None


def _why_not_disconnect(state: OcsState, body: DisconnectCircuits) -> CircuitsRefused | None:
    """The first circuit that is not the slice's own; None if all are."""
    misnamed = _misnamed(body.joins, state.cubes)
    if misnamed is not None:
        return _refusal(body.slice, misnamed)
    ocs, north, south = join_ports(body.joins)
    foreign = state.wanted[ocs, north] != south
    foreign |= state.owner[ocs, north] != slice_number(body.slice)
    if not foreign.any():
        return None
    first = int(np.argmax(foreign))
    reason = f"no circuit N{north[first]} to S{south[first]} of {body.slice}"
    return _refusal(body.slice, (int(ocs[first]), f"N{north[first]}", reason))


def _refusal(name: str, why: tuple[int, str, str]) -> CircuitsRefused:
    ocs, port, reason = why
    return CircuitsRefused(slice=name, ocs=ocs, port=port, reason=reason)


@lru_cache(maxsize=JOINS_KEPT_MAX)
def _misnamed(joins: tuple[Join, ...], cubes: int) -> tuple[int, str, str] | None:
    """The first port that no cube is wired to, or that is named twice, as (OCS, port, reason)."""
    for side, at in (("N", 1), ("S", 2)):
        seen: set[tuple[int, int]] = set()
        for join in joins:
            dimension, cube = place = join[0], join[at]
            if cube >= cubes:
                allowed = f"allowed are 0 to {STRANDS * cubes - 1}"
                return dimension * FACE_LINKS, f"{side}{STRANDS * cube}", f"no working port; {allowed}"
            if place in seen:
                return dimension * FACE_LINKS, f"{side}{STRANDS * cube}", "named twice in one command"
            seen.add(place)
    return None


def _busy(state: OcsState, side: str, ocs: IntArray, ports: IntArray, first: int) -> tuple[int, str, str]:
    where, number = int(ocs[first]), int(ports[first])
    north = number if side == "N" else int(state.wanted_from[where, number])
    holder = int(state.owner[where, north])
    return where, f"{side}{number}", f"busy with a circuit of {state.fabric}/slice-{holder}"


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


def slice_number(name: str) -> int:
    return int(name.rpartition("-")[2])


def touch(state: OcsState, joins: tuple[Join, ...]) -> None:
    """Note which OCSes changed: the 16 of every dimension that a join lies in."""
    for dimension in sorted({dimension for dimension, _, _ in joins}):
        first = dimension * FACE_LINKS
        state.changed_us[first : first + FACE_LINKS] = state.now_us
        state.touched.update(_keys(state.fabric)[first : first + FACE_LINKS])
    state.touched.add(("summaries", f"{state.fabric}/ocs"))


def touch_one(state: OcsState, ocs: int) -> None:
    state.changed_us[ocs] = state.now_us
    state.touched.add(_keys(state.fabric)[ocs])
    state.touched.add(("summaries", f"{state.fabric}/ocs"))


@cache
def _keys(fabric: str) -> tuple[tuple[str, str], ...]:
    """The document keys of a fabric's OCSes, in order; the same objects every time."""
    return tuple(("ocs", f"{fabric}/ocs-{ocs}") for ocs in range(OCS_COUNT))
