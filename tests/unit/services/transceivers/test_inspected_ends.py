"""Ends that are clearly outliers, or clearly none, need no Inspection: the result is that of all of them."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from schemas.config.pods import SuperpodConfig
from services.transceivers.inspected_ends import BY_END, BY_STRAND, InspectedEnds
from services.transceivers.state import TransceiversState, commission
from shared.basics.units import US_PER_DAY
from shared.models.optics.impairments import Impairment
from shared.models.telemetry.module_readings import FloatArray
from shared.models.telemetry.outlier_thresholds import (
    THRESHOLDS,
    Deviations,
    Inspection,
    has_moved,
    is_outlier,
)

ENDS = list(range(0, 600, 3))


def around_thresholds(random: np.random.Generator) -> Deviations:
    """Values of which half are nothing, and others lie on, near and far from thresholds and clear limits."""

    def around(name: str, *shape: int) -> FloatArray:
        beyond = THRESHOLDS[name].beyond
        near = random.choice([0.7, 1.0]) * beyond + random.choice(
            [-0.0051, -0.005, 0.0, 0.005, 0.0051], shape
        )
        values = random.choice([1.0, -1.0], shape) * np.where(
            random.random(shape) < 0.3, near, beyond * random.normal(0, 0.5, shape)
        )
        return np.where(random.random(shape) < 0.03, np.nan, values)

    by_strand = {name: around(name, len(ENDS), 2) for name in BY_STRAND}
    by_end = {name: np.abs(around(name, len(ENDS))) for name in BY_END}
    return Deviations(**by_strand, **by_end, silent=random.random(len(ENDS)) < 0.03)


def moved_on(row: Inspection, random: np.random.Generator) -> Inspection:
    """What was reported of an end: the same, or another by about a step, or without a value."""
    name = str(random.choice([*BY_STRAND, *BY_END]))
    by = THRESHOLDS[name].step * float(random.choice([0.0, 0.5, 0.99, 1.0, 1.01, 2.0]))
    value: Any = getattr(row, name)
    changes: dict[str, Any] = {}
    if isinstance(value, tuple):
        first = None if value[0] is None or random.random() < 0.1 else round(value[0] - by, 2)
        changes[name] = (first, value[1])
    else:
        changes[name] = round(value - by, 2)
    return replace(row, **changes)


@pytest.fixture
def state() -> TransceiversState:
    found = commission("pod-0", SuperpodConfig(), 0)
    found.now_us = 10 * US_PER_DAY
    found.impaired = {
        30: Impairment(late_us=US_PER_DAY),
        33: Impairment(stuck_us=1),
        36: Impairment(stuck_us=10 * US_PER_DAY),
    }
    found.outages = {60: (1, 2, 3), 63: (1,)}
    found.peer[ENDS[::2]] = ENDS[1::2]
    return found


@pytest.mark.parametrize("seed", range(20))
def test_outliers_and_moved_ends_are_those_of_all_inspections(state: TransceiversState, seed: int) -> None:
    random = np.random.default_rng(seed)
    inspected = InspectedEnds(state, [(ENDS, around_thresholds(random))])
    state.reported = {end: moved_on(inspected[end], random) for end in ENDS if random.random() < 0.5}
    for end in list(state.reported)[:5]:
        state.reported[end] = replace(state.reported[end], far=None, outages=3, silent=True)
    fresh = InspectedEnds(state, inspected._groups)  # the same readings, no Inspection yet

    out = {end for end in ENDS if is_outlier(inspected[end], was_outlier=end in state.reported)}
    assert fresh.outliers() == out
    assert 20 < len(out) < len(ENDS)
    moved = {end for end, row in state.reported.items() if has_moved(inspected[end], row)}
    assert fresh.moved(state.reported.keys()) == moved
    assert 10 < len(moved) < len(state.reported)
