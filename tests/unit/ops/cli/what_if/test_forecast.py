"""The table of a forecast."""

from ops.cli.what_if.forecast import forecast_cells
from schemas.api.forecast import MeasureRow
from services.what_if.measure_recorder import interval_report
from shared.models.statistics.means import Interval, mean_interval


def row(without: Interval | None, requested: Interval | None, difference: Interval | None) -> MeasureRow:
    return MeasureRow(
        name="recovery",
        unit="min",
        meaning="",
        digits=1,
        without=None if without is None else interval_report(without),
        requested=None if requested is None else interval_report(requested),
        difference=None if difference is None else interval_report(difference),
    )


def test_a_figure_shows_how_many_futures_have_it_where_not_all_do() -> None:
    without, requested = mean_interval([3.0, 5.0, 4.0, 4.0]), mean_interval([10.0, 12.0])
    told = forecast_cells(row(without, requested, mean_interval([7.0, 7.5])), 4, requested=True)
    assert told == ("recovery, min", "4.0 ± 1.3", "11.0 ± 12.7 (2 of 4)", "+7.2 ± 3.2 (2 of 4)")
    assert forecast_cells(row(without, None, None), 4, requested=False) == ("recovery, min", "4.0 ± 1.3")


def test_a_figure_of_one_future_has_no_interval() -> None:
    """And none that is infinite."""
    alone = mean_interval([3.0])
    assert forecast_cells(row(alone, None, None), 20, requested=True) == (
        "recovery, min",
        "3.0 (1 of 20)",
        "-",
        "-",
    )


def test_where_all_futures_are_alike_that_is_no_interval() -> None:
    """Of rare things so many futures tell nothing."""
    same = mean_interval([3.0, 3.0, 3.0])
    told = forecast_cells(row(same, same, mean_interval([0.0, 0.0])), 3, requested=True)
    assert told == ("recovery, min", "3.0 in all", "3.0 in all", "+0.0 in all (2 of 3)")
