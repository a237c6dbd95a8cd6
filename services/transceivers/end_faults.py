"""Faults of links: what they do to ends, how they come and go. A module that is dead says so at once."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from schemas.body import Body
from schemas.envelope import Envelope
from schemas.messages.failures import FaultBegan, FaultEnded
from schemas.messages.ocs import PortPatched
from schemas.messages.operator import RekeyDraws
from schemas.messages.transceivers import ModuleReported
from schemas.names import number_of
from services.transceivers import links
from services.transceivers.inspections import count_outage, schedule_inspection
from services.transceivers.link_optics import invalidate_masks
from services.transceivers.links import evaluate_links, recompute_ber, touch
from services.transceivers.state import NO_END, DriftingArray, EndFault, TransceiversState
from shared.basics.keyed_random import draw_exponential, draw_index, rekeyed_seed
from shared.basics.units import US_PER_HOUR, US_PER_S, to_whole_us
from shared.engine.service import CausedBy, Output
from shared.models.assumptions import assumed
from shared.models.fabric_plants import plant_of
from shared.models.faults.fault_reach import ONE_STRAND_KINDS, affected_ends, affected_mirror
from shared.models.ocs.alignment import TILTS
from shared.models.ocs.drift import STEP_US, array_of, drifted_db, step_nrad
from shared.models.ocs.patches import SIDES, place_of, port_at
from shared.models.ocs_technologies import DRIFTING
from shared.models.optics.impairments import (
    SOUND,
    Impairment,
    combined,
    impairment,
    next_onset_step_us,
    onset_share,
    strand_loss,
)
from shared.models.superpod.wiring import STRANDS, LinkEnd, end_at, link_end, ocs_radix, strand_at


def on_fault_began(state: TransceiversState, body: FaultBegan, message: Envelope) -> list[Output]:
    mirror, strand = affected_mirror(body.kind, body.target), None
    if mirror is None:
        ends = affected_ends(plant_of(state.kind, state.pod), body.kind, body.target)
    else:
        ends, strand = _end_before_mirror(state, mirror)
    if not ends and mirror is None:
        add_blind_fault(state, body.fault, body.target, message.id)
        return []
    if body.kind in ONE_STRAND_KINDS:
        strand = draw_index(state.draw_seed, state.fabric, "strand struck", number_of(body.fault), 2)
    fault = EndFault(
        ends=ends,
        kind=body.kind,
        severity=body.severity,
        began_us=state.now_us,
        onset_us=body.onset_us,
        strand=strand,
        next_us=None,
        cause=message.id,
        mirror=mirror,
    )
    state.faults[body.fault] = replace(fault, next_us=_next_us(state, body.fault, fault))
    return evaluate_ends(state, ends, message.id)


def on_fault_ended(state: TransceiversState, body: FaultEnded, message: Envelope) -> list[Output]:
    fault = state.faults.pop(body.fault, None)
    ends = remove_blind_fault(state, body.fault, body.target) if fault is None else fault.ends
    return evaluate_ends(state, ends, message.id) if ends else []


def on_rekey(state: TransceiversState, body: RekeyDraws, _message: Envelope) -> list[Output]:
    """When links drop next is drawn anew: gaps are exponential."""
    state.draw_seed = rekeyed_seed(state.draw_seed, body.salt)
    for name, fault in state.faults.items():
        if fault.kind == "flap" and not fault.is_out:
            state.faults[name] = replace(fault, next_us=_next_us(state, name, fault))
    return []


def _end_before_mirror(state: TransceiversState, mirror: int) -> tuple[tuple[int, ...], int | None]:
    """The end whose fibre is before a mirror, and which strand that is; nothing before one whose fibre was
    moved away, or a spare that has none."""
    side, ocs, port = port_at(mirror)
    wired = None if mirror in state.patched else port
    for place, spare in state.patched.items():
        if spare == port and port_at(place)[:2] == (side, ocs):
            wired = port_at(place)[2]
    if wired is None or wired >= STRANDS * state.cubes:
        return (), None
    return (end_at(ocs, wired).number,), strand_at(SIDES[side], wired)


def on_port_patched(state: TransceiversState, body: PortPatched, message: Envelope) -> list[Output]:
    """The fibre is before another mirror, which may have drifted by another amount, or be bent by a fault of
    its own; what was wrong with the one before is no more so for it."""
    emitted = links.on_port_patched(state, body, message)
    for name, fault in state.faults.items():
        if fault.mirror is None:
            continue
        ends, strand = _end_before_mirror(state, fault.mirror)
        if ends != fault.ends:
            state.faults[name] = replace(fault, ends=ends, strand=strand)
            emitted += evaluate_ends(state, tuple(sorted({*ends, *fault.ends})), message.id)
    if is_drifting(state, body.ocs, SIDES.index(body.side)) and body.port < STRANDS * state.cubes:
        emitted += evaluate_ends(state, (end_at(body.ocs, body.port).number,), message.id)
    return emitted


def next_change_us(state: TransceiversState) -> int | None:
    """When the next fault changes by itself, or mirrors drift on."""
    moments = [f.next_us for f in state.faults.values()]
    moments.append(next_drift_us(state))
    return min((at_us for at_us in moments if at_us is not None), default=None)


def apply_due_changes(state: TransceiversState) -> list[Output]:
    """Faults that have grown, come or gone by now, in order of time."""
    emitted: list[Output] = []
    due = [
        (fault.next_us, name)
        for name, fault in state.faults.items()
        if fault.next_us is not None and fault.next_us <= state.now_us
    ]
    for _, name in sorted(due, key=lambda row: (row[0], number_of(row[1]))):
        fault = state.faults[name]
        if fault.kind == "flap" and not fault.is_out:
            fault = replace(fault, is_out=_outlasts_ride_out(state, fault), outages=fault.outages + 1)
            for end in fault.ends:
                count_outage(state, end)
        elif fault.kind == "flap":
            fault = replace(fault, is_out=False)
        state.faults[name] = replace(fault, next_us=_next_us(state, name, fault))
        emitted += evaluate_ends(state, fault.ends, fault.cause)
    for cause, ends in advance_drift(state):
        emitted += evaluate_ends(state, ends, cause)
    return emitted


def _outlasts_ride_out(state: TransceiversState, fault: EndFault) -> bool:
    """Whether an outage is longer than links wait; a shorter one is ridden out, and only counted."""
    return (fault.severity or 0.0) > state.config.ride_out_s


def _next_us(state: TransceiversState, name: str, fault: EndFault) -> int | None:
    if fault.kind != "flap":
        step_us = next_onset_step_us(state.now_us - fault.began_us, fault.onset_us)
        return None if step_us is None else fault.began_us + step_us
    if fault.is_out:
        return state.now_us + max(to_whole_us(fault.severity or 0.0, US_PER_S), 1)
    mean_h, count = assumed("flap_interval_h"), fault.outages
    gap_h = draw_exponential(state.draw_seed, name, "time to the next flap", count, mean_h)
    return state.now_us + max(to_whole_us(gap_h, US_PER_HOUR), 1)


def _share(state: TransceiversState, fault: EndFault) -> float:
    """How much of a fault there is now."""
    if fault.kind == "flap":
        return float(fault.is_out)
    return onset_share(state.now_us - fault.began_us, fault.onset_us)


def _impairment(state: TransceiversState, end: int) -> Impairment:
    """All that is wrong with an end now."""
    found = drift_impairments(state, end)
    if end in state.worked_on:
        found.append(Impairment(worked_on=True))
    for fault in state.faults.values():
        if end in fault.ends:
            share = _share(state, fault)
            found.append(impairment(fault.kind, fault.severity, share, fault.strand, fault.began_us))
    return combined(found)


def evaluate_ends(state: TransceiversState, struck: Sequence[int], cause: str) -> list[Output]:
    """Add up what is wrong with these ends, judge their links, and have a look at them."""
    emitted: list[Body] = []
    invalidate_masks(state)
    for end in struck:
        now = _impairment(state, end)
        was = state.impaired.pop(end, SOUND)
        if now != SOUND:
            state.impaired[end] = now
        state.failed[end] = now.dead or now.unpowered or now.worked_on
        state.excess_db[end] = now.dirt_db
        if now.dead != was.dead:
            emitted.append(ModuleReported(end=end, condition="failed" if now.dead else "ok"))
    peers = [int(state.peer[end]) for end in struck]
    ends = np.array(
        sorted({*struck, *peers} - {NO_END}), dtype=np.int64
    )  # none, of a batch that was replaced
    touch(state, ends)  # whatever is said: what the link carries is shown at both ends
    linked = ends[state.peer[ends] != NO_END]
    if len(linked):
        recompute_ber(state, linked)
    emitted += evaluate_links(state, ends)
    schedule_inspection(state)
    return [CausedBy(cause, body) for body in emitted]


# Arrays of mirrors that no camera holds: they drift, and the links over them lose light ([LF] 3.2.2).
#
# Only ends whose fibres are before such an array are touched, an hour after the array went blind and every
# hour
# from then on. With the last fault of its camera and monitor beam the loop closes again, in a frame or two:
# the twin takes that for at once.


def add_blind_fault(state: TransceiversState, fault: str, part: str, cause: str) -> None:
    """One fault more of what an array is seen by."""
    array = array_of(part)
    if array is None or state.technology not in DRIFTING:
        return
    number = _array_number(*array)
    known = state.drifting.get(number)
    if known is None:
        state.drifting[number] = DriftingArray((fault,), state.now_us, cause)
    else:
        state.drifting[number] = replace(known, faults=(*known.faults, fault))


def remove_blind_fault(state: TransceiversState, fault: str, part: str) -> tuple[int, ...]:
    """One fault less. Returns the ends whose light that changes: those of the array where it was the last."""
    array = array_of(part)
    known = None if array is None else state.drifting.get(_array_number(*array))
    if array is None or known is None or fault not in known.faults:
        return ()
    left = tuple(name for name in known.faults if name != fault)
    if left:
        state.drifting[_array_number(*array)] = replace(known, faults=left)
        return ()
    del state.drifting[_array_number(*array)]
    return _ends_at(state, array[0]) if known.steps else ()


def next_drift_us(state: TransceiversState) -> int | None:
    """When the next array has drifted for another hour."""
    return min((_next_step_us(one) for one in state.drifting.values()), default=None)


def advance_drift(state: TransceiversState) -> list[tuple[str, tuple[int, ...]]]:
    """Let the mirrors of all arrays walk whose time it is. Returns for each (cause, ends)."""
    moved = []
    for number, one in sorted(state.drifting.items()):
        if _next_step_us(one) > state.now_us:
            continue
        ocs, side = divmod(number, len(SIDES))
        state.drifting[number] = _drifted(state, ocs, side, one)
        moved.append((one.cause, _ends_at(state, ocs)))
    return moved


def drift_impairments(state: TransceiversState, end: int) -> list[Impairment]:
    """What a link end loses by the mirrors before its fibres, if they drift."""
    if not state.drifting:
        return []
    own, found = link_end(end), []
    for side, label in enumerate(SIDES):
        one = state.drifting.get(_array_number(own.ocs, side))
        if one is not None and one.steps:
            port = _physical_port(state, own, side)
            found.append(strand_loss(one.loss_db[port], strand_at(label, own.port)))
    return found


def is_drifting(state: TransceiversState, ocs: int, side: int) -> bool:
    return _array_number(ocs, side) in state.drifting


def _drifted(state: TransceiversState, ocs: int, side: int, one: DriftingArray) -> DriftingArray:
    """As the array is now, after all hours that have gone by."""
    ports = ocs_radix(state.cubes)
    tilts = np.array(one.tilts, dtype=np.int64) if one.steps else np.zeros((TILTS, ports), dtype=np.int64)
    steps = one.steps
    while one.began_us + (steps + 1) * STEP_US <= state.now_us:
        # Hours count from the beginning of time: an array that is blind again drifts by other draws.
        hour = one.began_us // STEP_US + steps
        tilts = tilts + step_nrad(state.seed, state.fabric, ocs, side, hour, ports)
        steps += 1
    rows = tuple(tuple(row) for row in tilts.tolist())
    return replace(one, steps=steps, tilts=rows, loss_db=tuple(drifted_db(tilts).tolist()))


def _next_step_us(one: DriftingArray) -> int:
    return one.began_us + (one.steps + 1) * STEP_US


def _ends_at(state: TransceiversState, ocs: int) -> tuple[int, ...]:
    """The ends whose fibres enter an OCS, in order: each has one before either array."""
    return tuple(sorted(end_at(ocs, port).number for port in range(STRANDS * state.cubes)))


def _physical_port(state: TransceiversState, end: LinkEnd, side: int) -> int:
    """The physical port at which the fibre of an end is, on a side."""
    return state.patched.get(place_of(side, end.ocs, end.port), end.port)


def _array_number(ocs: int, side: int) -> int:
    return ocs * len(SIDES) + side
