"""What was at ends whose sensors are stuck or late: what their light depended on, from which it is computed
anew for the moment that they tell of. Nothing is remembered of ends with sound sensors, nor of what was
before one broke: until that is past, a late one says what was as it broke."""

import copy
from collections.abc import Callable
from typing import TypeVar

from schemas.body import Body
from schemas.envelope import Envelope
from services.transceivers.link_optics import invalidate_masks
from services.transceivers.modules import modules_at
from services.transceivers.state import NO_END, LightRecord, TransceiversState
from shared.engine.service import Output
from shared.models.ocs.patches import port_at
from shared.models.optics.impairments import NOT_STUCK, SOUND, Impairment
from shared.models.superpod.wiring import end_at

RECORDS_MAX = 64
"""Changes of a link that are remembered of a late end; of more the oldest are forgotten, and the next is
taken for what was before it. A day is the most that a sensor is late."""

BodyT = TypeVar("BodyT", bound=Body)
Rule = Callable[[TransceiversState, BodyT, Envelope], list[Output]]


def recording_history(rule: Rule[BodyT]) -> Rule[BodyT]:
    """A rule after which light may be another."""

    def then(state: TransceiversState, body: BodyT, message: Envelope) -> list[Output]:
        found = rule(state, body, message)
        if state.impaired or state.light_history:
            record_history(state)
        return found

    return then


def record_history(state: TransceiversState) -> None:
    """Take over what changed at ends whose sensors are stuck or late, and forget what they tell of no
    more."""
    broken = {end: wrong for end, wrong in state.impaired.items() if reports_past(wrong)}
    for end in state.light_history.keys() - broken.keys():
        del state.light_history[end]
    for end, wrong in sorted(broken.items()):
        known = state.light_history.get(end, ())
        told_us = wrong.stuck_us if wrong.stuck_us != NOT_STUCK else state.now_us - wrong.late_us
        past = [place for place, moment in enumerate(known) if moment.since_us <= told_us]
        kept = known[past[-1] :] if past else known
        now = light_record_of(state, end)
        if wrong.stuck_us != NOT_STUCK and kept:
            kept = kept[:1]
        elif not kept or not now.is_same_as(kept[-1]):
            kept = (*kept, now)[-RECORDS_MAX:]
        state.light_history[end] = kept


def reports_past(wrong: Impairment) -> bool:
    """Whether what such a module says was so at another time."""
    return wrong.stuck_us != NOT_STUCK or wrong.late_us > 0


def light_record_of(state: TransceiversState, end: int) -> LightRecord:
    """What the light at an end depends on now."""
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
    """A state in which an end is as it was at a moment; None of one that is not remembered."""
    known = state.light_history.get(end, ())
    if not known:
        return None
    moment = next((one for one in reversed(known) if one.since_us <= at_us), known[0])
    past = copy.copy(state)
    past.peer, past.lit, past.failed = state.peer.copy(), state.lit.copy(), state.failed.copy()
    past.peer[end], past.lit[end], past.failed[end] = moment.far, moment.lit, is_dead(moment.own)
    past.impaired = {end: moment.own}
    if moment.far != NO_END:
        past.failed[moment.far] = is_dead(moment.other)
        past.impaired[moment.far] = moment.other
    past.patched = dict(moment.patched)
    invalidate_masks(past)
    past.replaced = dict(moment.replaced)
    ends = {end, moment.far} - {NO_END}
    past.modules = modules_at(state, {place: past.replaced.get(place) for place in ends})
    return past


def is_dead(wrong: Impairment) -> bool:
    return wrong.dead or wrong.unpowered or wrong.worked_on
