"""Measures with and without changes, compared in pairs."""

import pytest

from schemas.api.forecast import MeasureRow, MeasureValues
from services.totals.measures import FORECAST_MEASURES
from services.what_if.measure_recorder import compare_measures, interval_report
from shared.models.statistics.means import mean_interval

Pair = tuple[MeasureValues, MeasureValues | None]


def values(**known: float) -> MeasureValues:
    assert known.keys() <= FORECAST_MEASURES.keys()
    return {name: known.get(name) for name in FORECAST_MEASURES}


def row(pairs: list[Pair], name: str) -> MeasureRow:
    return next(one for one in compare_measures(pairs) if one.name == name)


def test_a_difference_is_the_mean_of_the_differences_within_pairs() -> None:
    pairs: list[Pair] = [
        (values(goodput=50.0), values(goodput=40.0)),
        (values(goodput=70.0), values(goodput=62.0)),
        (values(goodput=60.0), values(goodput=51.0)),
    ]
    found = row(pairs, "goodput")
    assert found.without is not None
    assert found.requested is not None
    assert found.difference is not None
    assert (found.without.value, found.requested.value) == (60.0, 51.0)
    assert (found.difference.value, found.difference.runs) == (-9.0, 3)
    assert found.difference.deviation == pytest.approx(1.0)  # the pairs differ less than the runs
    assert found.without.deviation == pytest.approx(10.0)


def test_only_pairs_with_both_values_have_a_difference() -> None:
    pairs: list[Pair] = [
        (values(recovery=4.0), values()),
        (values(recovery=5.0), values(recovery=7.0)),
        (values(), values(recovery=1.0)),
    ]
    found = row(pairs, "recovery")
    assert [None if side is None else side.runs for side in (found.without, found.requested)] == [2, 2]
    assert found.difference == interval_report(mean_interval([2.0]))
    assert found.difference.low is None


def test_without_changes_there_is_one_side() -> None:
    found = row([(values(served=99.0), None), (values(served=97.0), None)], "served")
    assert found.without == interval_report(mean_interval([99.0, 97.0]))
    assert (found.requested, found.difference) == (None, None)


def test_all_measures_are_compared_in_their_order() -> None:
    rows = compare_measures([(values(), values())])
    assert [one.name for one in rows] == [*FORECAST_MEASURES]
    assert all(one.without is one.requested is one.difference is None for one in rows)
