"""Faults of links: what they do to ends, how they come and go. A module that is dead says so at once."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from schemas.body import Body
from schemas.envelope import Envelope
from schemas.failures import FaultBegan, FaultEnded
from schemas.names import number_of
from schemas.ocs import PortPatched
from schemas.operator import RekeyDraws
from schemas.transceivers import ModuleReported
from services.transceivers import links
from services.transceivers.drift import drift_at, drift_on, is_adrift, lose_sight, next_drift_us, regain_sight
from services.transceivers.links import judge, recompute_ber, touch
from services.transceivers.looks import note_outage, plan_look
from services.transceivers.marks import forget_marks
from services.transceivers.state import NO_END, EndFault, TransceiversState
from shared.basics.keyed_random import draw_exponential, draw_index, rekeyed
from shared.basics.units import US_PER_HOUR, US_PER_S, us
from shared.engine.service import CausedBy, Output
from shared.models.assumptions import assumed
from shared.models.ocs.patches import SIDES, port_at
from shared.models.optics.impairments import (
    SOUND,
    Impairment,
    come_share,
    impairment,
    next_step_us,
    together,
)
from shared.models.plants import plant_of
from shared.models.struck_ends import STRANDS_STRUCK, mirror_of, struck_ends
from shared.models.superpod.wiring import STRANDS, end_at, strand_at


def on_fault_began(state: TransceiversState, body: FaultBegan, message: Envelope) -> list[Output]:
    mirror, strand = mirror_of(body.kind, body.target), None
    if mirror is None:
        ends = struck_ends(plant_of(state.kind, state.pod), body.kind, body.target)
    else:
        ends, strand = _before(state, mirror)
    if not ends and mirror is None:
        lose_sight(state, body.fault, body.target, message.id)
        return []
    if body.kind in STRANDS_STRUCK:
        strand = draw_index(state.draws, state.fabric, "strand struck", number_of(body.fault), 2)
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
    return judge_ends(state, ends, message.id)


def on_fault_ended(state: TransceiversState, body: FaultEnded, message: Envelope) -> list[Output]:
    fault = state.faults.pop(body.fault, None)
    ends = regain_sight(state, body.fault, body.target) if fault is None else fault.ends
    return judge_ends(state, ends, message.id) if ends else []


def on_rekey(state: TransceiversState, body: RekeyDraws, _message: Envelope) -> list[Output]:
    """When links drop next is drawn anew: gaps are exponential."""
    state.draws = rekeyed(state.draws, body.salt)
    for name, fault in state.faults.items():
        if fault.kind == "flap" and not fault.out:
            state.faults[name] = replace(fault, next_us=_next_us(state, name, fault))
    return []


def _before(state: TransceiversState, mirror: int) -> tuple[tuple[int, ...], int | None]:
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
    said = links.on_port_patched(state, body, message)
    for name, fault in state.faults.items():
        if fault.mirror is None:
            continue
        ends, strand = _before(state, fault.mirror)
        if ends != fault.ends:
            state.faults[name] = replace(fault, ends=ends, strand=strand)
            said += judge_ends(state, tuple(sorted({*ends, *fault.ends})), message.id)
    if is_adrift(state, body.ocs, SIDES.index(body.side)) and body.port < STRANDS * state.cubes:
        said += judge_ends(state, (end_at(body.ocs, body.port).number,), message.id)
    return said


def next_change_us(state: TransceiversState) -> int | None:
    """When the next fault changes by itself, or mirrors drift on."""
    moments = [f.next_us for f in state.faults.values()]
    moments.append(next_drift_us(state))
    return min((at_us for at_us in moments if at_us is not None), default=None)


def change_due(state: TransceiversState) -> list[Output]:
    """Faults that have grown, come or gone by now, in order of time."""
    said: list[Output] = []
    due = [
        (fault.next_us, name)
        for name, fault in state.faults.items()
        if fault.next_us is not None and fault.next_us <= state.now_us
    ]
    for _, name in sorted(due, key=lambda row: (row[0], number_of(row[1]))):
        fault = state.faults[name]
        if fault.kind == "flap" and not fault.out:
            fault = replace(fault, out=_lasts(state, fault), outages=fault.outages + 1)
            for end in fault.ends:
                note_outage(state, end)
        elif fault.kind == "flap":
            fault = replace(fault, out=False)
        state.faults[name] = replace(fault, next_us=_next_us(state, name, fault))
        said += judge_ends(state, fault.ends, fault.cause)
    for cause, ends in drift_on(state):
        said += judge_ends(state, ends, cause)
    return said


def _lasts(state: TransceiversState, fault: EndFault) -> bool:
    """Whether an outage is longer than links wait; a shorter one is ridden out, and only counted."""
    return (fault.severity or 0.0) > state.config.ride_out_s


def _next_us(state: TransceiversState, name: str, fault: EndFault) -> int | None:
    if fault.kind != "flap":
        step_us = next_step_us(state.now_us - fault.began_us, fault.onset_us)
        return None if step_us is None else fault.began_us + step_us
    if fault.out:
        return state.now_us + max(us(fault.severity or 0.0, US_PER_S), 1)
    mean_h, count = assumed("flap_interval_h"), fault.outages
    gap_h = draw_exponential(state.draws, name, "time to the next flap", count, mean_h)
    return state.now_us + max(us(gap_h, US_PER_HOUR), 1)


def _share(state: TransceiversState, fault: EndFault) -> float:
    """How much of a fault there is now."""
    if fault.kind == "flap":
        return float(fault.out)
    return come_share(state.now_us - fault.began_us, fault.onset_us)


def _impairment(state: TransceiversState, end: int) -> Impairment:
    """All that is wrong with an end now."""
    found = drift_at(state, end)
    if end in state.worked_on:
        found.append(Impairment(worked_on=True))
    for fault in state.faults.values():
        if end in fault.ends:
            share = _share(state, fault)
            found.append(impairment(fault.kind, fault.severity, share, fault.strand, fault.began_us))
    return together(found)


def judge_ends(state: TransceiversState, struck: Sequence[int], cause: str) -> list[Output]:
    """Add up what is wrong with these ends, judge their links, and have a look at them."""
    said: list[Body] = []
    forget_marks(state)
    for end in struck:
        now = _impairment(state, end)
        was = state.impaired.pop(end, SOUND)
        if now != SOUND:
            state.impaired[end] = now
        state.failed[end] = now.dead or now.unpowered or now.worked_on
        state.excess_db[end] = now.dirt_db
        if now.dead != was.dead:
            said.append(ModuleReported(end=end, condition="failed" if now.dead else "ok"))
    peers = [int(state.peer[end]) for end in struck]
    ends = np.array(
        sorted({*struck, *peers} - {NO_END}), dtype=np.int64
    )  # none, of a batch that was replaced
    touch(state, ends)  # whatever is said: what the link carries is shown at both ends
    linked = ends[state.peer[ends] != NO_END]
    if len(linked):
        recompute_ber(state, linked)
    said += judge(state, ends)
    plan_look(state)
    return [CausedBy(cause, body) for body in said]
