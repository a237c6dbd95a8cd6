"""Inspections of link ends: when which ends are read, and what is reported of outliers.

`outlier_thresholds` decides whether an end is one.

An inspection knows the accepted values and the made circuits, but not the faults. A sound end reads as
expected but for noise, and noise alone passes a threshold only at ends that are already near one
(`_doubtful`). So only three groups are read: ends with an impairment, earlier outliers, and
doubtful ends. An end whose only impairment is mirror drift counts as impaired only if the drift could show;
for days it is too small.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from schemas.body import Body
from schemas.messages.transceivers import EndsStoodOut, LinkEndInspection
from services.transceivers.inspected_ends import InspectedEnds, expected_deviation, inspect_ends
from services.transceivers.link_optics import LIGHT_PATHS, BoolArray
from services.transceivers.modules import modules_of
from services.transceivers.state import TransceiversState
from shared.basics.telemetry_frames import next_frame_due_us
from shared.basics.units import US_PER_DAY, US_PER_MIN
from shared.models.optics.impairments import SOUND
from shared.models.plant.plant_format import NO_END
from shared.models.superpod.wiring import STRANDS, IntArray, ocs_of
from shared.models.telemetry.outlier_thresholds import (
    ExpectationOffsets,
    Inspection,
    may_false_alarm,
    reads_as_much,
)

EARLY_INSPECTION_US = US_PER_MIN
"""Delay of an inspection after a link has changed."""
OUTAGES_KEPT_MAX = 16
SNR_DB_PER_DB = 2.0
"""Upper bound: how much the SNR in dB falls with a dB of light."""


def schedule_inspection(state: TransceiversState) -> None:
    """Schedule an inspection of all ends at the next full interval; none if the interval is 0."""
    if state.next_inspection_us is None:
        state.next_inspection_us = next_frame_due_us(state.config.inspection_interval_s, state.now_us)


def reschedule_inspections(state: TransceiversState) -> None:
    """Apply a changed interval. The next inspection shows whether more are needed.

    If inspections are off now, early ones are cancelled as well.
    """
    state.next_inspection_us = None
    schedule_inspection(state)
    if state.next_inspection_us is None:
        state.early_inspection_us, state.early_ends = None, {}
    elif state.early_inspection_us is not None:
        state.early_inspection_us = min(state.next_inspection_us, state.early_inspection_us)


def schedule_early_inspection(state: TransceiversState, ends: IntArray) -> None:
    """Schedule an early inspection of these ends, whose links are not up, and of their far ends."""
    schedule_inspection(state)
    if state.next_inspection_us is None:
        return
    if not state.early_ends:
        state.early_inspection_us = min(state.next_inspection_us, state.now_us + EARLY_INSPECTION_US)
    state.early_ends.update((end, True) for end in ends.tolist())


def schedule_for_new_links(state: TransceiversState, ends: IntArray) -> None:
    """Schedule an inspection of ends with new links, unless none could be an outlier."""
    if state.impaired or state.reported or _doubtful(state, ends).any():
        schedule_inspection(state)


def count_outage(state: TransceiversState, end: int) -> None:
    """Record an outage of an end's link; its module counts outages."""
    kept = (*_last_day(state, end), state.now_us)
    state.outages[end] = kept[-OUTAGES_KEPT_MAX:]
    schedule_inspection(state)


def inspect_due(state: TransceiversState) -> list[Body]:
    """Run the inspection that is due, if any: of all ends, or of those scheduled early."""
    if state.next_inspection_us is not None and state.next_inspection_us <= state.now_us:
        return _inspect_all(state)
    if state.early_inspection_us is not None and state.early_inspection_us <= state.now_us:
        return _inspect_early(state)
    return []


def _inspect_early(state: TransceiversState) -> list[Body]:
    early = np.array(sorted(state.early_ends), dtype=np.int64)
    state.early_inspection_us, state.early_ends = None, {}
    linked = early[state.peer[early] != NO_END]
    both = np.union1d(linked, state.peer[linked])
    ends = np.intersect1d(_candidates(state, both), both)
    return _report_outliers(state, inspect_ends(state, ends))


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
    inspected = inspect_ends(state, ends)
    if len(ends):
        schedule_inspection(state)
    return _report_outliers(state, inspected)


def _last_day(state: TransceiversState, end: int) -> tuple[int, ...]:
    since_us = state.now_us - US_PER_DAY
    return tuple(at_us for at_us in state.outages.get(end, ()) if at_us > since_us)


def _candidates(state: TransceiversState, linked: IntArray) -> IntArray:
    """The ends to inspect, in order: doubtful, impaired and reported ends, with the far ends of their
    links."""
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
    """Ends under repair and the far ends of their links, whose readings are no evidence of a fault."""
    return {*state.worked_on, *(int(state.peer[end]) for end in state.worked_on)} - {NO_END}


def _only_drifting(state: TransceiversState) -> set[int]:
    """Ends whose only impairment is mirror drift: most ends of an OCS, and for long too small to see."""
    if not state.drifting:
        return set()
    drifting = {number // STRANDS for number in state.drifting}
    return {
        end
        for end, wrong in state.impaired.items()
        if ocs_of(end) in drifting and replace(wrong, lost_db=SOUND.lost_db) == SOUND
    }


def _drift_deviation(state: TransceiversState, linked: IntArray, drifting: set[int]) -> ExpectationOffsets:
    """The largest deviation from the expectation of these linked ends, including the light lost to drift.

    Noise then decides which of them could be outliers. Dark ends are left out.
    """
    offsets = expected_deviation(state, linked)
    here = np.flatnonzero(np.isin(linked, list(drifting)) & (state.lit[linked] > 0))
    ends = linked[here]
    both = (ends.tolist(), state.peer[ends].tolist())
    lost_db = sum(
        np.array([state.impaired.get(end, SOUND).lost_db for end in side]).reshape(-1, STRANDS)
        for side in both
    )
    rx_db, snr_db, mpi_db = offsets.rx_db.copy(), offsets.snr_db.copy(), offsets.mpi_db.copy()
    rx_db[here] -= lost_db
    snr_db[here] -= SNR_DB_PER_DB * lost_db
    mpi_db[here] += lost_db
    return replace(offsets, rx_db=rx_db, snr_db=snr_db, mpi_db=mpi_db)


def _report_outliers(state: TransceiversState, inspected: InspectedEnds) -> list[Body]:
    """Update the reported ends and emit what has changed.

    An outlier is reported with its far end. Ends under repair keep their report. An end that can
    no longer be read is reported once as unseen, until it can be read.
    """
    out = inspected.outliers()
    out |= {far for end in out if (far := int(state.peer[end])) != NO_END}
    out |= state.reported.keys() & _ends_under_repair(state)
    gone = sorted((state.reported.keys() & inspected.ends) - out)
    usual = tuple(end for end in gone if reads_as_much(inspected[end], state.reported[end]))
    unseen = tuple(end for end in gone if end not in usual and end not in state.unseen)
    for end in usual:
        del state.reported[end]
        state.unseen.pop(end, None)
    state.unseen.update((end, True) for end in unseen)
    news = [inspected[end] for end in sorted(_news(state, inspected, out & inspected.ends))]
    for inspection in news:
        state.reported[inspection.end] = inspection
        state.unseen.pop(inspection.end, None)
    if not news and not usual and not unseen:
        return []
    rows = tuple(
        LinkEndInspection.model_construct(**{name: getattr(row, name) for name in Inspection.__slots__})
        for row in news
    )
    return [EndsStoodOut(ends=rows, usual=usual, unseen=unseen)]


def _news(state: TransceiversState, inspected: InspectedEnds, out: set[int]) -> set[int]:
    """Which of these outliers were none at the last inspection, or were outliers by other values."""
    known = {end for end in out if end in state.reported and end not in state.unseen}
    return (out - known) | inspected.moved(known)


def inspect(state: TransceiversState, ends: IntArray) -> list[Inspection]:
    """The inspections of these ends, in their order."""
    inspected = inspect_ends(state, ends)
    return [inspected[end] for end in ends.tolist()]


def _doubtful(state: TransceiversState, ends: IntArray) -> BoolArray:
    """Which of these linked ends could be outliers without a fault."""
    paths = LIGHT_PATHS[state.kind]
    peers = state.peer[ends].astype(np.int64)
    return modules_of(state).doubts.of(ends, peers, partial(paths.off_db, state))
