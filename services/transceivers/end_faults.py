"""Faults of link ends: onset, intermittent outages and mirror drift.

A dead module is reported at once.

If all camera or monitor-beam faults leave a mirror array without control, its mirrors drift and the links
over them lose light ([LF] 3.2.2). The ends at it change an hour after the array went blind and every
hour from then on. With the removal of the last fault the loop closes again within a frame or two; the twin
takes this as immediate.
"""

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
from services.transceivers.link_optics import invalidate_masks
from services.transceivers.links import evaluate_links, recompute_ber, touch
from services.transceivers.outlier_inspection import count_outage, schedule_inspection
from services.transceivers.state import DriftingArray, EndFault, TransceiversState
from shared.basics.keyed_random import draw_exponential, draw_index, rekeyed_seed
from shared.basics.units import US_PER_HOUR, US_PER_S, to_whole_us
from shared.engine.service import CausedBy, Output
from shared.models.assumptions import assumed
from shared.models.fabric_plants import plant_of
from shared.models.faults.fault_reach import ONE_STRAND_KINDS, affected_ends, affected_mirror
from shared.models.ocs.camera_alignment import TILTS
from shared.models.ocs.drift import STEP_US, array_of, drifted_db, step_nrad
from shared.models.ocs.patched_fibres import SIDES, port_at, port_place
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
from shared.models.plant.plant_format import NO_END
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
    """Draw the time of each next outage again; gaps are exponential."""
    state.draw_seed = rekeyed_seed(state.draw_seed, body.salt)
    for name, fault in state.faults.items():
        if fault.kind == "flap" and not fault.is_out:
            state.faults[name] = replace(fault, next_us=_next_us(state, name, fault))
    return []


def _end_before_mirror(state: TransceiversState, mirror: int) -> tuple[tuple[int, ...], int | None]:
    """The end whose fibre uses a mirror, and the strand.

    Returns ((), None) if the fibre was moved away from the mirror, or the mirror is a spare without a fibre.
    """
    side, ocs, port = port_at(mirror)
    wired = None if mirror in state.patched else port
    for place, spare in state.patched.items():
        if spare == port and port_at(place)[:2] == (side, ocs):
            wired = port_at(place)[2]
    if wired is None or wired >= STRANDS * state.cubes:
        return (), None
    return (end_at(ocs, wired).number,), strand_at(SIDES[side], wired)


def on_port_patched(state: TransceiversState, body: PortPatched, message: Envelope) -> list[Output]:
    """Apply a patch: the fibre now uses another mirror.

    The new mirror may have another drift or a fault of its own. Faults of the old mirror no longer affect the
    end.
    """
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
    """The time at which the next fault changes by itself, or a mirror drifts further."""
    times_us = [f.next_us for f in state.faults.values()]
    times_us.append(next_drift_us(state))
    return min((at_us for at_us in times_us if at_us is not None), default=None)


def apply_due_changes(state: TransceiversState) -> list[Output]:
    """Apply changes that are due: faults that have grown, started or stopped, in order of time."""
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
    """Whether an outage is longer than links wait. A shorter array is only counted."""
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
    """The share of a fault's severity that is active now."""
    if fault.kind == "flap":
        return float(fault.is_out)
    return onset_share(state.now_us - fault.began_us, fault.onset_us)


def _impairment(state: TransceiversState, end: int) -> Impairment:
    """The combined impairment of an end from all active faults."""
    impairments = drift_impairments(state, end)
    if end in state.worked_on:
        impairments.append(Impairment(worked_on=True))
    for fault in state.faults.values():
        if end in fault.ends:
            share = _share(state, fault)
            impairments.append(impairment(fault.kind, fault.severity, share, fault.strand, fault.began_us))
    return combined(impairments)


def evaluate_ends(state: TransceiversState, struck: Sequence[int], cause: str) -> list[Output]:
    """Recompute the impairments of these ends, evaluate their links and schedule an inspection."""
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
    # `ends` is empty if all modules of a bad batch were replaced.
    ends = np.array(sorted({*struck, *peers} - {NO_END}), dtype=np.int64)
    touch(state, ends)  # even without a message: documents of both ends show the light of the link
    linked = ends[state.peer[ends] != NO_END]
    if len(linked):
        recompute_ber(state, linked)
    emitted += evaluate_links(state, ends)
    schedule_inspection(state)
    return [CausedBy(cause, body) for body in emitted]


def add_blind_fault(state: TransceiversState, fault: str, part: str, cause: str) -> None:
    """Add array fault of a camera or monitor beam, if `part` is array and the technology drifts."""
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
    """Remove array such fault. Return the ends whose light changes; none if other faults remain."""
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
    """The time of the next hourly drift step of any array."""
    return min((_next_step_us(array) for array in state.drifting.values()), default=None)


def advance_drift(state: TransceiversState) -> list[tuple[str, tuple[int, ...]]]:
    """Move the mirrors of all arrays whose step is due. Returns (cause, ends) for each."""
    moved = []
    for number, array in sorted(state.drifting.items()):
        if _next_step_us(array) > state.now_us:
            continue
        ocs, side = divmod(number, len(SIDES))
        state.drifting[number] = _drifted(state, ocs, side, array)
        moved.append((array.cause, _ends_at(state, ocs)))
    return moved


def drift_impairments(state: TransceiversState, end: int) -> list[Impairment]:
    """The losses of a link end through drifting mirrors."""
    if not state.drifting:
        return []
    own, losses = link_end(end), []
    for side, label in enumerate(SIDES):
        array = state.drifting.get(_array_number(own.ocs, side))
        if array is not None and array.steps:
            port = _physical_port(state, own, side)
            losses.append(strand_loss(array.loss_db[port], strand_at(label, own.port)))
    return losses


def is_drifting(state: TransceiversState, ocs: int, side: int) -> bool:
    return _array_number(ocs, side) in state.drifting


def _drifted(state: TransceiversState, ocs: int, side: int, array: DriftingArray) -> DriftingArray:
    """The array after all steps that are due."""
    ports = ocs_radix(state.cubes)
    tilts = np.array(array.tilts, dtype=np.int64) if array.steps else np.zeros((TILTS, ports), dtype=np.int64)
    steps = array.steps
    while array.began_us + (steps + 1) * STEP_US <= state.now_us:
        # Hours are absolute simulated time, so an array that goes blind again drifts by other draws.
        hour = array.began_us // STEP_US + steps
        tilts = tilts + step_nrad(state.seed, state.fabric, ocs, side, hour, ports)
        steps += 1
    rows = tuple(tuple(row) for row in tilts.tolist())
    return replace(array, steps=steps, tilts=rows, loss_db=tuple(drifted_db(tilts).tolist()))


def _next_step_us(array: DriftingArray) -> int:
    return array.began_us + (array.steps + 1) * STEP_US


def _ends_at(state: TransceiversState, ocs: int) -> tuple[int, ...]:
    """All ends with fibres at an OCS, in order; each has one fibre at either array."""
    return tuple(sorted(end_at(ocs, port).number for port in range(STRANDS * state.cubes)))


def _physical_port(state: TransceiversState, end: LinkEnd, side: int) -> int:
    """The physical port that the fibre of an end uses now, on a side."""
    return state.patched.get(port_place(side, end.ocs, end.port), end.port)


def _array_number(ocs: int, side: int) -> int:
    return ocs * len(SIDES) + side
