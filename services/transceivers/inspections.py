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
from schemas.messages.transceivers import EndsStoodOut
from services.transceivers.link_optics import LIGHT_PATHS, BoolArray
from services.transceivers.modules import modules_of
from services.transceivers.state import NO_END, TransceiversState
from services.transceivers.telemetry import light_of, readings_for_light
from shared.basics.telemetry_frames import next_frame_due_us
from shared.basics.units import US_PER_DAY, US_PER_MIN
from shared.models.optics.impairments import SOUND
from shared.models.superpod.wiring import STRANDS, IntArray, ocs_of
from shared.models.telemetry.false_alarms import rows_of_ends
from shared.models.telemetry.inspections import (
    READINGS_PER_INSPECTION,
    Deviations,
    ExpectationOffsets,
    Inspection,
    deviations,
    has_moved,
    may_false_alarm,
    reads_as_much,
    stands_out,
)
from shared.models.telemetry.module_readings import NOT_STUCK, FloatArray

EARLY_INSPECTION_US = US_PER_MIN
"""After a link has changed, its ends are looked at so soon."""
OUTAGES_KEPT_MAX = 16
SNR_DB_PER_DB = 2.0
"""An SNR falls by no more with a dB of light."""
DECIMALS = 2


def schedule_inspection(state: TransceiversState) -> None:
    """Look at all ends at the next full interval; never, where the interval is 0."""
    if state.next_inspection_us is None:
        state.next_inspection_us = next_frame_due_us(state.config.look_interval_s, state.now_us)


def reschedule_inspections(state: TransceiversState) -> None:
    """Another interval than before: the next look is at a full one of it, and shows whether more are needed.
    Where there are none any more, those that were asked for soon are not either."""
    state.next_inspection_us = None
    schedule_inspection(state)
    if state.next_inspection_us is None:
        state.early_inspection_us, state.early_ends = None, {}
    elif state.early_inspection_us is not None:
        state.early_inspection_us = min(state.next_inspection_us, state.early_inspection_us)


def schedule_early_inspection(state: TransceiversState, ends: IntArray) -> None:
    """Look at these ends, whose links are not well, and at their far ends, without waiting for the others."""
    schedule_inspection(state)
    if state.next_inspection_us is None:
        return
    if not state.early_ends:
        state.early_inspection_us = min(state.next_inspection_us, state.now_us + EARLY_INSPECTION_US)
    state.early_ends.update((end, True) for end in ends.tolist())


def schedule_for_new_links(state: TransceiversState, ends: IntArray) -> None:
    """These ends have new links: have a look, unless none of them could stand out."""
    if state.impaired or state.reported or _doubtful(state, ends).any():
        schedule_inspection(state)


def count_outage(state: TransceiversState, end: int) -> None:
    """The link of an end has dropped for a moment, and its module counts that."""
    kept = (*_last_day(state, end), state.now_us)
    state.outages[end] = kept[-OUTAGES_KEPT_MAX:]
    schedule_inspection(state)


def inspect_due(state: TransceiversState) -> list[Body]:
    """The look, where one is due: at those that were asked for soon, or at all."""
    if state.next_inspection_us is not None and state.next_inspection_us <= state.now_us:
        return _inspect_all(state)
    if state.early_inspection_us is not None and state.early_inspection_us <= state.now_us:
        return _inspect_early(state)
    return []


def _inspect_early(state: TransceiversState) -> list[Body]:
    asked = np.array(sorted(state.early_ends), dtype=np.int64)
    state.early_inspection_us, state.early_ends = None, {}
    linked = asked[state.peer[asked] != NO_END]
    both = np.union1d(linked, state.peer[linked])
    ends = np.intersect1d(_candidates(state, both), both)
    return _report_outliers(state, {look.end: look for look in inspect(state, ends)})


def _inspect_all(state: TransceiversState) -> list[Body]:
    state.next_inspection_us = state.early_inspection_us = None
    state.early_ends = {}
    for end in list(state.outages):
        kept = _last_day(state, end)
        if kept:
            state.outages[end] = kept
        else:
            del state.outages[end]
    ends = _candidates(state, np.flatnonzero(state.peer != NO_END))
    found = {look.end: look for look in inspect(state, ends)}
    if len(ends):
        schedule_inspection(state)
    return _report_outliers(state, found)


def _last_day(state: TransceiversState, end: int) -> tuple[int, ...]:
    since_us = state.now_us - US_PER_DAY
    return tuple(at_us for at_us in state.outages.get(end, ()) if at_us > since_us)


def _candidates(state: TransceiversState, linked: IntArray) -> IntArray:
    """Those of these linked ends that could stand out with nothing wrong, all with which something is wrong,
    and all that stood out, with the far ends of their links; in order."""
    only_adrift = _only_drifting(state)
    doubted = (
        may_false_alarm(_drift_deviation(state, linked, only_adrift))
        if only_adrift
        else _doubtful(state, linked)
    )
    impaired = (
        end
        for end, wrong in state.impaired.items()
        if end not in only_adrift and (wrong.shows_dark or state.peer[end] != NO_END)
    )
    reported = (end for end in state.reported if end not in state.unseen or state.peer[end] != NO_END)
    own = {*impaired, *state.outages, *reported, *linked[doubted].tolist()}
    peers = {int(state.peer[end]) for end in own}
    return np.array(sorted((own | peers) - {NO_END} - _ends_under_repair(state)), dtype=np.int64)


def _ends_under_repair(state: TransceiversState) -> set[int]:
    """Ends that are worked on, and the far ends of their links: nothing that they say tells of a fault."""
    return {*state.worked_on, *(int(state.peer[end]) for end in state.worked_on)} - {NO_END}


def _only_drifting(state: TransceiversState) -> set[int]:
    """Ends with nothing wrong but mirrors that drift: most of an OCS, and for long too little to be seen."""
    if not state.drifting:
        return set()
    drifting = {number // STRANDS for number in state.drifting}
    return {
        end
        for end, wrong in state.impaired.items()
        if ocs_of(end) in drifting and replace(wrong, lost_db=SOUND.lost_db) == SOUND
    }


def _drift_deviation(state: TransceiversState, linked: IntArray, drifting: set[int]) -> ExpectationOffsets:
    """How far these linked ends are off at most with the light that drift costs them, so that noise tells
    which of them could stand out; of those that are dark nothing can be told."""
    off = _expected_deviation(state, linked)
    here = np.flatnonzero(np.isin(linked, list(drifting)) & (state.lit[linked] > 0))
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


def _report_outliers(state: TransceiversState, found: dict[int, Inspection]) -> list[Body]:
    """Take over what stands out, each with its far end, and say what is news of it. What is worked on stands
    as it was told of; and of what cannot be read any more that is told once, until it can be."""
    out = {end for end, look in found.items() if stands_out(look, did=end in state.reported)}
    out |= {far for end in out if (far := found[end].far) is not None}
    out |= state.reported.keys() & _ends_under_repair(state)
    gone = sorted((state.reported.keys() & found.keys()) - out)
    usual = tuple(end for end in gone if reads_as_much(found[end], state.reported[end]))
    unseen = tuple(end for end in gone if end not in usual and end not in state.unseen)
    for end in usual:
        del state.reported[end]
        state.unseen.pop(end, None)
    state.unseen.update((end, True) for end in unseen)
    news = [found[end] for end in sorted(out & found.keys()) if _is_news(state, found[end])]
    for look in news:
        state.reported[look.end] = look
        state.unseen.pop(look.end, None)
    if not news and not usual and not unseen:
        return []
    rows = tuple(asdict(look) for look in news)
    return [EndsStoodOut.model_validate({"ends": rows, "usual": usual, "unseen": unseen})]


def _is_news(state: TransceiversState, look: Inspection) -> bool:
    """Whether an end that stands out did not at the last look, or otherwise."""
    reported = state.reported.get(look.end)
    return reported is None or look.end in state.unseen or has_moved(look, reported)


def inspect(state: TransceiversState, ends: IntArray) -> list[Inspection]:
    """What stands at these ends now, in their order."""
    linked = state.peer[ends] != NO_END
    found: dict[int, Inspection] = {}
    for group, is_linked in ((ends[linked], True), (ends[~linked], False)):
        if len(group):
            found |= {look.end: look for look in _inspect_group(state, group, is_linked=is_linked)}
    return [found[end] for end in ends.tolist()]


def _inspect_group(state: TransceiversState, ends: IntArray, *, is_linked: bool) -> list[Inspection]:
    made = modules_of(state).calibration
    light, expected = (
        light_of(state, ends, state.now_us, wrong, is_linked=is_linked) for wrong in (state.impaired, {})
    )
    times = READINGS_PER_INSPECTION
    moments_us = np.repeat(state.now_us - US_PER_MIN * np.arange(times), len(ends))
    readings = readings_for_light(state, np.tile(ends, times), light.repeated(times), moments_us)
    # Each reading is of the warmth of the look: what changes in minutes is far less than what is a threshold.
    found = deviations(readings, expected, made, _expected_deviation(state, ends), ends)
    return [_inspection_of(state, end, place, found) for place, end in enumerate(ends.tolist())]


def _inspection_of(state: TransceiversState, end: int, place: int, found: Deviations) -> Inspection:
    wrong = state.impaired.get(end)
    since_us = state.now_us - (next_frame_due_us(state.config.look_interval_s, 0) or 0)
    far = int(state.peer[end])
    return Inspection(
        end=end,
        far=None if far == NO_END else far,
        silent=bool(found.silent[place]),
        rx_db=_rounded_pair(found.rx_db[place]),
        tx_db=_rounded_pair(found.tx_db[place]),
        snr_db=_rounded_pair(found.snr_db[place]),
        mpi_db=_rounded_pair(found.mpi_db[place]),
        bias=_rounded(found.bias[place]),
        warmer_k=_rounded(found.warmer_k[place]),
        spread_db=_rounded(found.spread_db[place]),
        age_min=0.0 if wrong is None else round(wrong.late_us / US_PER_MIN, DECIMALS),
        unchanged=wrong is not None and NOT_STUCK < wrong.stuck_us < since_us,
        outages=len(state.outages.get(end, ())),
    )


def _rounded(value: float) -> float:
    """To the digits that are told; 0 where there is nothing to read."""
    return 0.0 if np.isnan(value) else round(float(value), DECIMALS) + 0.0


def _rounded_pair(values: FloatArray) -> tuple[float | None, float | None]:
    first, second = (None if np.isnan(value) else _rounded(value) for value in values)
    return first, second


def _expected_deviation(state: TransceiversState, ends: IntArray) -> ExpectationOffsets:
    """How far what is expected of these ends is off."""
    part = rows_of_ends(modules_of(state).accepted, ends)
    peers = state.peer[ends].astype(np.int64)
    return replace(part, rx_db=part.rx_db + LIGHT_PATHS[state.kind].off_db(state, ends, peers))


def _doubtful(state: TransceiversState, ends: IntArray) -> BoolArray:
    """Which of these linked ends could stand out with nothing wrong."""
    paths = LIGHT_PATHS[state.kind]
    peers = state.peer[ends].astype(np.int64)
    return modules_of(state).doubts.of(ends, peers, partial(paths.off_db, state))
