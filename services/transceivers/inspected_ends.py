"""The link ends that one inspection reads. Most of them are clearly outliers or clearly none, and clearly as
they were reported; only for the others, and for what is reported, an `Inspection` is made.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from math import isnan

import numpy as np

from services.transceivers.link_optics import LIGHT_PATHS, BoolArray
from services.transceivers.modules import modules_of
from services.transceivers.state import TransceiversState
from services.transceivers.telemetry import light_of, readings_for_light
from shared.basics.telemetry_frames import next_frame_due_us
from shared.basics.units import US_PER_MIN
from shared.models.plant.plant_format import NO_END
from shared.models.superpod.wiring import IntArray
from shared.models.telemetry.false_alarms import rows_of_ends
from shared.models.telemetry.module_readings import NOT_STUCK, FloatArray
from shared.models.telemetry.outlier_thresholds import (
    CLEARS_BELOW,
    READINGS_PER_INSPECTION,
    THRESHOLDS,
    Deviations,
    ExpectationOffsets,
    Inspection,
    deviations,
    has_moved,
    is_outlier,
)

DECIMALS = 2
ROUNDING = 10.0**-DECIMALS
"""More than rounding can change a value."""
BY_STRAND = ("rx_db", "tx_db", "snr_db", "mpi_db")
BY_END = ("bias", "warmer_k", "spread_db")
STEPS = np.array(
    [
        *(THRESHOLDS[name].step for name in BY_STRAND for _ in range(2)),
        *(THRESHOLDS[name].step for name in BY_END),
    ]
)
"""The changes that are worth a new report, in the order of `_row_of`."""


class InspectedEnds:
    """The readings of some link ends, compared with their expected values: groups of ends with their
    deviations."""

    def __init__(self, state: TransceiversState, groups: Sequence[tuple[list[int], Deviations]]) -> None:
        self.ends = {end for ends, _ in groups for end in ends}
        self._state = state
        self._groups = groups
        self._inspections: dict[int, Inspection] = {}
        self._places = {
            end: (deviation, place) for ends, deviation in groups for place, end in enumerate(ends)
        }

    def __getitem__(self, end: int) -> Inspection:
        """The inspection of one of the ends."""
        found = self._inspections.get(end)
        if found is None:
            found = self._inspections[end] = _inspection_of(self._state, end, *self._places[end])
        return found

    def outliers(self) -> set[int]:
        """The ends that are outliers (`is_outlier`)."""
        reported = self._state.reported
        beyond: set[int] = set()
        near = self._other_readings() | self._state.outages.keys() & self.ends
        for ends, deviation in self._groups:
            is_near, is_beyond = _near_and_beyond(deviation, np.array([end in reported for end in ends]))
            near.update(np.array(ends)[is_near].tolist())
            beyond.update(np.array(ends)[is_beyond].tolist())
        return beyond | {end for end in near - beyond if is_outlier(self[end], was_outlier=end in reported)}

    def moved(self, ends: Collection[int]) -> set[int]:
        """Those of these reported ends that have moved since they were reported (`has_moved`)."""
        reported = self._state.reported
        near = self._other_readings() | self._state.outages.keys()
        maybe = {end for end in ends if end in near}
        for group, deviation in self._groups:
            places = [place for place, end in enumerate(group) if end in ends and end not in maybe]
            if not places:
                continue
            numbers = [group[place] for place in places]
            before = [reported[end] for end in numbers]
            rows, rows_before = (
                _rows_of(deviation)[places],
                np.array([_row_of(row) for row in before], dtype=np.float64),
            )
            with np.errstate(invalid="ignore"):
                differs = np.abs(rows - rows_before) > STEPS - ROUNDING
            differs |= np.isnan(rows) != np.isnan(rows_before)
            silent = deviation.silent[places] != np.array([row.silent for row in before])
            fars = self._state.peer[numbers] != np.array(
                [NO_END if row.far is None else row.far for row in before]
            )
            others = np.array([bool(row.unchanged or row.age_min or row.outages) for row in before])
            maybe.update(np.array(numbers)[differs.any(axis=1) | silent | fars | others].tolist())
        return {end for end in maybe if has_moved(self[end], reported[end])}

    def _other_readings(self) -> set[int]:
        """The ends whose readings are late or do not change."""
        broken = {
            end for end, wrong in self._state.impaired.items() if wrong.late_us or wrong.stuck_us > NOT_STUCK
        }
        return broken & self.ends


def inspect_ends(state: TransceiversState, ends: IntArray) -> InspectedEnds:
    """Read these link ends now."""
    linked = state.peer[ends] != NO_END
    groups = ((ends[linked], True), (ends[~linked], False))
    return InspectedEnds(
        state,
        [
            (group.tolist(), _deviations_of(state, group, is_linked=is_linked))
            for group, is_linked in groups
            if len(group)
        ],
    )


def expected_deviation(state: TransceiversState, ends: IntArray) -> ExpectationOffsets:
    """The error of the expected values of these ends."""
    part = rows_of_ends(modules_of(state).accepted, ends)
    peers = state.peer[ends].astype(np.int64)
    return replace(part, rx_db=part.rx_db + LIGHT_PATHS[state.kind].off_db(state, ends, peers))


def _deviations_of(state: TransceiversState, ends: IntArray, *, is_linked: bool) -> Deviations:
    made = modules_of(state).calibration
    light, expected = (
        light_of(state, ends, state.now_us, wrong, is_linked=is_linked) for wrong in (state.impaired, {})
    )
    times = READINGS_PER_INSPECTION
    read_us = np.repeat(state.now_us - US_PER_MIN * np.arange(times), len(ends))
    readings = readings_for_light(state, np.tile(ends, times), light.repeated(times), read_us)
    # All readings use the temperature at the inspection: it changes by far less than a threshold in
    # minutes.
    return deviations(readings, expected, made, expected_deviation(state, ends), ends)


def _near_and_beyond(deviation: Deviations, was_outlier: BoolArray) -> tuple[BoolArray, BoolArray]:
    """Which ends may be outliers by these values once they are rounded, and which are."""
    share = np.where(was_outlier, CLEARS_BELOW, 1.0)
    is_beyond = np.zeros(len(was_outlier), dtype=np.bool_)
    is_near = np.isnan(deviation.tx_db).any(axis=1) & ~deviation.silent
    for name in (*BY_STRAND, *BY_END):
        threshold, amount = THRESHOLDS[name], getattr(deviation, name)
        limit = share * threshold.beyond
        size = amount if threshold.upwards else np.abs(amount)
        if size.ndim > 1:
            size = np.fmax(size[:, 0], size[:, 1])  # NaN: nothing to read
        is_near |= size > limit - ROUNDING
        is_beyond |= size > limit + ROUNDING
    return is_near, is_beyond


def _rows_of(deviation: Deviations) -> FloatArray:
    """The values of all ends, one row each, in the order of `_row_of`."""
    by_end = np.stack([getattr(deviation, name) for name in BY_END], axis=1)
    by_end[np.isnan(by_end)] = 0.0  # as `_rounded`
    return np.concatenate([*(getattr(deviation, name) for name in BY_STRAND), by_end], axis=1)


def _row_of(inspection: Inspection) -> tuple[float | None, ...]:
    """The values of an inspection in one row."""
    return (
        *inspection.rx_db,
        *inspection.tx_db,
        *inspection.snr_db,
        *inspection.mpi_db,
        inspection.bias,
        inspection.warmer_k,
        inspection.spread_db,
    )


def _inspection_of(state: TransceiversState, end: int, deviation: Deviations, place: int) -> Inspection:
    wrong = state.impaired.get(end)
    since_us = state.now_us - (next_frame_due_us(state.config.inspection_interval_s, 0) or 0)
    far = int(state.peer[end])
    return Inspection(
        end=end,
        far=None if far == NO_END else far,
        silent=bool(deviation.silent[place]),
        rx_db=_rounded_pair(deviation.rx_db[place].tolist()),
        tx_db=_rounded_pair(deviation.tx_db[place].tolist()),
        snr_db=_rounded_pair(deviation.snr_db[place].tolist()),
        mpi_db=_rounded_pair(deviation.mpi_db[place].tolist()),
        bias=_rounded(float(deviation.bias[place])),
        warmer_k=_rounded(float(deviation.warmer_k[place])),
        spread_db=_rounded(float(deviation.spread_db[place])),
        age_min=0.0 if wrong is None else round(wrong.late_us / US_PER_MIN, DECIMALS),
        unchanged=wrong is not None and NOT_STUCK < wrong.stuck_us < since_us,
        outages=len(state.outages.get(end, ())),
    )


def _rounded(value: float) -> float:
    """Round to the digits that are reported; 0 if there is no reading."""
    return 0.0 if isnan(value) else round(value, DECIMALS) + 0.0


def _rounded_pair(values: list[float]) -> tuple[float | None, float | None]:
    first, second = values
    return (None if isnan(first) else _rounded(first)), (None if isnan(second) else _rounded(second))
