"""The table of a forecast."""

import os
import signal
from typing import cast

import pytest

from ops.cli.what_if.forecast import _await_end, forecast_cells
from ops.client.http_client import Client
from schemas.api.forecast import ForecastReport, MeasureRow
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


class InterruptedClient:
    """A client whose first query of the progress is interrupted by a signal."""

    def __init__(self, number: signal.Signals) -> None:
        self.number = number
        self.deleted: list[str] = []

    def resource(self, _path: object, *_fields: str) -> None:
        os.kill(os.getpid(), self.number)

    def delete(self, path: object) -> None:
        self.deleted.append(str(path))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_cancels_the_forecast_on_the_twin(number: signal.Signals) -> None:
    report = ForecastReport(
        id="forecast-7",
        status="running",
        requested_by=None,
        site="pod-0",
        at_us=0,
        days=1.0,
        changes=(),
        futures=20,
        futures_done=0,
        error=None,
        result=None,
        single=None,
    )
    client = InterruptedClient(number)
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises((KeyboardInterrupt, SystemExit)):
        _await_end(cast("Client", client), report)
    assert client.deleted == ["/v1/forecasts/forecast-7"]
    assert signal.getsignal(signal.SIGTERM) == before
