"""History of ends whose sensors are stuck or late.

It records what the light of such an end depended on. From it the light is computed for the time that the
sensor reports. Ends with sound sensors have no history, and neither has the time before a sensor broke. A
late sensor reports the state at its failure until that time is past.
"""

import copy

from schemas.envelope import Envelope
from services.transceivers.link_optics import invalidate_masks, masks_of
from services.transceivers.modules import modules_at
from services.transceivers.state import LightRecord, TransceiversState
from shared.models.ocs.patched_fibres import port_at
from shared.models.optics.impairments import NOT_STUCK, SOUND, Impairment
from shared.models.plant.plant_format import NO_END
from shared.models.superpod.wiring import end_at

RECORDS_MAX = 64
"""Maximum number of records of an end. Beyond it the oldest is dropped, and the next stands for earlier
times. A sensor is at most a day late."""


def update_history(state: TransceiversState, _message: Envelope) -> None:
    """Record the history of ends whose sensors are broken, if there are any. Runs after each rule that may
    change light."""
    if state.impaired or state.light_history:
        record_history(state)


def record_history(state: TransceiversState) -> None:
    """Record changes at ends whose sensors are stuck or late, and drop records that they no longer report."""
    broken = {
        end: wrong
        for end, wrong in masks_of(state).misreading.items()
        if wrong.stuck_us != NOT_STUCK or wrong.late_us > 0  # it reports an earlier time
    }
    if not broken and not state.light_history:
        return
    for end in state.light_history.keys() - broken.keys():
        del state.light_history[end]
    for end, wrong in sorted(broken.items()):
        known = state.light_history.get(end, ())
        reported_us = wrong.stuck_us if wrong.stuck_us != NOT_STUCK else state.now_us - wrong.late_us
        past = [place for place, record in enumerate(known) if record.since_us <= reported_us]
        kept = known[past[-1] :] if past else known
        now = light_record_of(state, end)
        if wrong.stuck_us != NOT_STUCK and kept:
            kept = kept[:1]
        elif not kept or not now.is_same_as(kept[-1]):
            kept = (*kept, now)[-RECORDS_MAX:]
        state.light_history[end] = kept


def light_record_of(state: TransceiversState, end: int) -> LightRecord:
    """What the light of an end depends on now."""
    far = int(state.peer[end])
    both = {end, far}
    moved = [
        (place, spare) for place, spare in state.patched.items() if end_at(*port_at(place)[1:]).number in both
    ]
    other = SOUND if far == NO_END else state.impaired.get(far, SOUND)
    own = state.impaired.get(end, SOUND)
    others = tuple((place, state.replaced[place]) for place in sorted(both) if place in state.replaced)
    return LightRecord(state.now_us, far, int(state.lit[end]), own, other, tuple(sorted(moved)), others)


def state_at(state: TransceiversState, end: int, at_us: int) -> TransceiversState | None:
    """A copy of the state with an end as it was at a time; None if there is no record."""
    known = state.light_history.get(end, ())
    if not known:
        return None
    record = next((record for record in reversed(known) if record.since_us <= at_us), known[0])
    past = copy.copy(state)
    past.peer, past.lit, past.failed = state.peer.copy(), state.lit.copy(), state.failed.copy()
    past.peer[end], past.lit[end], past.failed[end] = record.far, record.lit, is_dead(record.own)
    past.impaired = {end: record.own}
    if record.far != NO_END:
        past.failed[record.far] = is_dead(record.other)
        past.impaired[record.far] = record.other
    past.patched = dict(record.patched)
    invalidate_masks(past)
    past.replaced = dict(record.replaced)
    ends = {end, record.far} - {NO_END}
    past.modules = modules_at(state, {place: past.replaced.get(place) for place in ends})
    return past


def is_dead(wrong: Impairment) -> bool:
    return wrong.dead or wrong.unpowered or wrong.worked_on
