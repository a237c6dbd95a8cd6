"""Looks at link ends: which of them stand out by what their modules say, told whenever that changes.

Whoever looks knows what was accepted and which circuits are made, and nothing of what is wrong. Ends where
nothing is wrong say what is expected of them but for noise, which cannot carry them over a threshold unless
they are near one already (`doubtful`): so only those are read of which something is wrong, which stood out
before, or which are doubtful. Where nothing is wrong but that mirrors drift, that alone is so little for days
that the same question is asked of it.
"""

from dataclasses import asdict, replace
from functools import partial

import numpy as np

from schemas.body import Body
from schemas.transceivers import EndsStoodOut
from services.transceivers.light_paths import LIGHT_PATHS
from services.transceivers.marks import BoolArray
from services.transceivers.modules import modules_of
from services.transceivers.state import NO_END, TransceiversState
from services.transceivers.telemetry import light_of, readings_in
from shared.basics.frames import frame_after_us
from shared.basics.units import US_PER_DAY, US_PER_MIN
from shared.models.optics.impairments import SOUND
from shared.models.superpod.wiring import STRANDS, IntArray, ocs_of
from shared.models.telemetry.doubts import of_ends
from shared.models.telemetry.looks import (
    READINGS_A_LOOK,
    Departures,
    Look,
    Off,
    departures,
    doubtful,
    is_news,
    stands_out,
    tells_as_much,
)
from shared.models.telemetry.readings import FloatArray
from shared.models.telemetry.sensors import NOT_STUCK

SOON_US = US_PER_MIN
"""After a link has changed, its ends are looked at so soon."""
OUTAGES_KEPT_MAX = 16
SNR_DB_PER_DB = 2.0
"""An SNR falls by no more with a dB of light."""
DECIMALS = 2


def plan_look(state: TransceiversState) -> None:
    """Look at all ends at the next full interval; never, where the interval is 0."""
    if state.look_us is None:
        state.look_us = frame_after_us(state.config.look_interval_s, state.now_us)


def replan_looks(state: TransceiversState) -> None:
    """Another interval than before: the next look is at a full one of it, and shows whether more are needed.
    Where there are none any more, those that were asked for soon are not either."""
    state.look_us = None
    plan_look(state)
    if state.look_us is None:
        state.soon_us, state.soon = None, {}
    elif state.soon_us is not None:
        state.soon_us = min(state.look_us, state.soon_us)


def look_soon(state: TransceiversState, ends: IntArray) -> None:
    """Look at these ends, whose links are not well, and at their far ends, without waiting for the others."""
    plan_look(state)
    if state.look_us is None:
        return
    if not state.soon:
        state.soon_us = min(state.look_us, state.now_us + SOON_US)
    state.soon.update((end, True) for end in ends.tolist())


def watch(state: TransceiversState, ends: IntArray) -> None:
    """These ends have new links: have a look, unless none of them could stand out."""
    if state.impaired or state.told or _doubtful(state, ends).any():
        plan_look(state)


def note_outage(state: TransceiversState, end: int) -> None:
    """The link of an end has dropped for a moment, and its module counts that."""
    kept = (*_last_day(state, end), state.now_us)
    state.outages[end] = kept[-OUTAGES_KEPT_MAX:]
    plan_look(state)


def look_due(state: TransceiversState) -> list[Body]:
    """The look, where one is due: at those that were asked for soon, or at all."""
    if state.look_us is not None and state.look_us <= state.now_us:
        return _look_at_all(state)
    if state.soon_us is not None and state.soon_us <= state.now_us:
        return _look_at_few(state)
    return []


def _look_at_few(state: TransceiversState) -> list[Body]:
    asked = np.array(sorted(state.soon), dtype=np.int64)
    state.soon_us, state.soon = None, {}
    linked = asked[state.peer[asked] != NO_END]
    both = np.union1d(linked, state.peer[linked])
    ends = np.intersect1d(_worth_a_look(state, both), both)
    return _told(state, {look.end: look for look in looks_at(state, ends)})


def _look_at_all(state: TransceiversState) -> list[Body]:
    state.look_us = state.soon_us = None
    state.soon = {}
    for end in list(state.outages):
        kept = _last_day(state, end)
        if kept:
            state.outages[end] = kept
        else:
            del state.outages[end]
    ends = _worth_a_look(state, np.flatnonzero(state.peer != NO_END))
    found = {look.end: look for look in looks_at(state, ends)}
    if len(ends):
        plan_look(state)
    return _told(state, found)


def _last_day(state: TransceiversState, end: int) -> tuple[int, ...]:
    since_us = state.now_us - US_PER_DAY
    return tuple(at_us for at_us in state.outages.get(end, ()) if at_us > since_us)


def _worth_a_look(state: TransceiversState, linked: IntArray) -> IntArray:
    """Those of these linked ends that could stand out with nothing wrong, all with which something is wrong,
    and all that stood out, with the far ends of their links; in order."""
    only_adrift = _only_adrift(state)
    doubted = doubtful(_off_by_drift(state, linked, only_adrift)) if only_adrift else _doubtful(state, linked)
    impaired = (
        end
        for end, wrong in state.impaired.items()
        if end not in only_adrift and (wrong.shows_dark or state.peer[end] != NO_END)
    )
    told = (end for end in state.told if end not in state.unseen or state.peer[end] != NO_END)
    own = {*impaired, *state.outages, *told, *linked[doubted].tolist()}
    peers = {int(state.peer[end]) for end in own}
    return np.array(sorted((own | peers) - {NO_END} - _in_hand(state)), dtype=np.int64)


def _in_hand(state: TransceiversState) -> set[int]:
    """Ends that are worked on, and the far ends of their links: nothing that they say tells of a fault."""
    return {*state.worked_on, *(int(state.peer[end]) for end in state.worked_on)} - {NO_END}


def _only_adrift(state: TransceiversState) -> set[int]:
    """Ends with nothing wrong but mirrors that drift: most of an OCS, and for long too little to be seen."""
    if not state.adrift:
        return set()
    drifting = {number // STRANDS for number in state.adrift}
    return {
        end
        for end, wrong in state.impaired.items()
        if ocs_of(end) in drifting and replace(wrong, lost_db=SOUND.lost_db) == SOUND
    }


def _off_by_drift(state: TransceiversState, linked: IntArray, adrift: set[int]) -> Off:
    """How far these linked ends are off at most with the light that drift costs them, so that noise tells
    which of them could stand out; of those that are dark nothing can be told."""
    off = _off(state, linked)
    here = np.flatnonzero(np.isin(linked, list(adrift)) & (state.lit[linked] > 0))
    ends = linked[here]
    both = (ends.tolist(), state.peer[ends].tolist())
    lost_db = sum(
        np.array([state.impaired.get(end, SOUND).lost_db for end in side]).reshape(-1, STRANDS)
        for side in both
    )
    rx_db, snr_db, mpi_db = off.rx_db.copy(), off.snr_db.copy(), off.mpi_db.copy()
    rx_db[here] -= lost_db
    snr_db[here] -= SNR_DB_PER_DB * lost_db
    mpi_db[here] += lost_db
    return replace(off, rx_db=rx_db, snr_db=snr_db, mpi_db=mpi_db)


def _told(state: TransceiversState, found: dict[int, Look]) -> list[Body]:
    """Take over what stands out, each with its far end, and say what is news of it. What is worked on stands
    as it was told of; and of what cannot be read any more that is told once, until it can be."""
    out = {end for end, look in found.items() if stands_out(look, did=end in state.told)}
    out |= {far for end in out if (far := found[end].far) is not None}
    out |= state.told.keys() & _in_hand(state)
    gone = sorted((state.told.keys() & found.keys()) - out)
    usual = tuple(end for end in gone if tells_as_much(found[end], state.told[end]))
    unseen = tuple(end for end in gone if end not in usual and end not in state.unseen)
    for end in usual:
        del state.told[end]
        state.unseen.pop(end, None)
    state.unseen.update((end, True) for end in unseen)
    news = [found[end] for end in sorted(out & found.keys()) if _is_new(state, found[end])]
    for look in news:
        state.told[look.end] = look
        state.unseen.pop(look.end, None)
    if not news and not usual and not unseen:
        return []
    rows = tuple(asdict(look) for look in news)
    return [EndsStoodOut.model_validate({"ends": rows, "usual": usual, "unseen": unseen})]


def _is_new(state: TransceiversState, look: Look) -> bool:
    """Whether an end that stands out did not at the last look, or otherwise."""
    told = state.told.get(look.end)
    return told is None or look.end in state.unseen or is_news(look, told)


def looks_at(state: TransceiversState, ends: IntArray) -> list[Look]:
    """What stands at these ends now, in their order."""
    linked = state.peer[ends] != NO_END
    found: dict[int, Look] = {}
    for group, is_linked in ((ends[linked], True), (ends[~linked], False)):
        if len(group):
            found |= {look.end: look for look in _looks(state, group, is_linked=is_linked)}
    return [found[end] for end in ends.tolist()]


def _looks(state: TransceiversState, ends: IntArray, *, is_linked: bool) -> list[Look]:
    made = modules_of(state).calibration
    light, expected = (
        light_of(state, ends, state.now_us, wrong, is_linked=is_linked) for wrong in (state.impaired, {})
    )
    times = READINGS_A_LOOK
    moments_us = np.repeat(state.now_us - US_PER_MIN * np.arange(times), len(ends))
    said = readings_in(state, np.tile(ends, times), light.repeated(times), moments_us)
    # Each reading is of the warmth of the look: what changes in minutes is far less than what is a threshold.
    found = departures(said, expected, made, _off(state, ends), ends)
    return [_look(state, end, place, found) for place, end in enumerate(ends.tolist())]


def _look(state: TransceiversState, end: int, place: int, found: Departures) -> Look:
    wrong = state.impaired.get(end)
    since_us = state.now_us - (frame_after_us(state.config.look_interval_s, 0) or 0)
    far = int(state.peer[end])
    return Look(
        end=end,
        far=None if far == NO_END else far,
        silent=bool(found.silent[place]),
        rx_db=_pair(found.rx_db[place]),
        tx_db=_pair(found.tx_db[place]),
        snr_db=_pair(found.snr_db[place]),
        mpi_db=_pair(found.mpi_db[place]),
        bias=_one(found.bias[place]),
        warmer_k=_one(found.warmer_k[place]),
        spread_db=_one(found.spread_db[place]),
        age_min=0.0 if wrong is None else round(wrong.late_us / US_PER_MIN, DECIMALS),
        unchanged=wrong is not None and NOT_STUCK < wrong.stuck_us < since_us,
        outages=len(state.outages.get(end, ())),
    )


def _one(value: float) -> float:
    """To the digits that are told; 0 where there is nothing to read."""
    return 0.0 if np.isnan(value) else round(float(value), DECIMALS) + 0.0


def _pair(values: FloatArray) -> tuple[float | None, float | None]:
    first, second = (None if np.isnan(value) else _one(value) for value in values)
    return first, second


def _off(state: TransceiversState, ends: IntArray) -> Off:
    """How far what is expected of these ends is off."""
    part = of_ends(modules_of(state).accepted, ends)
    peers = state.peer[ends].astype(np.int64)
    return replace(part, rx_db=part.rx_db + LIGHT_PATHS[state.kind].off_db(state, ends, peers))


def _doubtful(state: TransceiversState, ends: IntArray) -> BoolArray:
    """Which of these linked ends could stand out with nothing wrong."""
    paths = LIGHT_PATHS[state.kind]
    peers = state.peer[ends].astype(np.int64)
    return modules_of(state).doubts.of(ends, peers, partial(paths.off_db, state))
