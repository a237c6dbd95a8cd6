"""The forecast commands, and the table of one forecast."""

import json

import pytest

from ops.cli.common.command_groups import find_command
from ops.cli.what_if.forecast import app, cancel, forecast_cells
from schemas.api.forecast import MeasureRow
from services.what_if.measure_recorder import interval_report
from shared.basics.errors import InvalidInput
from shared.models.statistics.means import Interval, mean_interval
from tests.support.fake_twin import answering, as_json, lightwave


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
    cells = forecast_cells(row(without, requested, mean_interval([7.0, 7.5])), 4, requested=True)
    assert cells == ("recovery, min", "4.0 ± 1.3", "11.0 ± 12.7 (2 of 4)", "+7.2 ± 3.2 (2 of 4)")
    assert forecast_cells(row(without, None, None), 4, requested=False) == ("recovery, min", "4.0 ± 1.3")


def test_a_figure_of_one_future_has_no_interval() -> None:
    """It has no infinite interval either."""
    single = mean_interval([3.0])
    assert forecast_cells(row(single, None, None), 20, requested=True) == (
        "recovery, min",
        "3.0 (1 of 20)",
        "-",
        "-",
    )


def test_identical_futures_have_no_interval() -> None:
    """This number of futures proves nothing about rare events."""
    same = mean_interval([3.0, 3.0, 3.0])
    cells = forecast_cells(row(same, same, mean_interval([0.0, 0.0])), 3, requested=True)
    assert cells == ("recovery, min", "3.0 (all equal)", "3.0 (all equal)", "+0.0 (all equal) (2 of 3)")


SUMMARY: dict[str, object] = {
    "id": "forecast-7",
    "status": "running",
    "requested_by": None,
    "site": "pod-0",
    "at_us": 0,
    "days": 0.5,
    "changes": [],
    "futures": 20,
    "futures_done": 3,
    "error": None,
}


@pytest.mark.integration
def test_forecasts_are_listed_and_cancelled() -> None:
    gone = {"error": "forecast 'forecast-9': no such forecast"}
    answers = {
        "/v1/forecasts": [as_json([SUMMARY])],
        "/v1/forecasts/forecast-7": [as_json(SUMMARY | {"status": "cancelled", "result": None})],
        "/v1/forecasts/forecast-8": [as_json(SUMMARY | {"id": "forecast-8", "status": "done"})],
        "/v1/forecasts/forecast-9": [as_json(gone, 404)],
    }
    with answering(answers) as twin:
        listed = lightwave("forecast", "list", url=twin.url)
        as_listed = lightwave("forecast", "list", "-o", "json", url=twin.url)
        cancelled, deleted, missing = (
            lightwave("forecast", "cancel", f"forecast-{number}", url=twin.url) for number in (7, 8, 9)
        )
    head, row = listed.stdout.splitlines()
    assert head.split() == ["ID", "STATUS", "SITE", "FROM", "DAYS", "FUTURES", "REQUESTED-BY", "ERROR"]
    assert row.split()[:8] == ["forecast-7", "running", "pod-0", "0d00:00:00", "0.5", "3", "of", "20"]
    assert json.loads(as_listed.stdout) == [SUMMARY]
    assert [request.method for request in twin.requests] == ["GET", "GET", "DELETE", "DELETE", "DELETE"]
    assert cancelled.stdout == "forecast forecast-7 is cancelled\n"
    assert deleted.stdout == "forecast forecast-8 was done; it is deleted\n"
    assert (missing.returncode, missing.stderr) == (3, f"lightwave: {gone['error']}\n")


@pytest.mark.parametrize("name", ["", "../../x", "forecast-7/x", "x" * 65])
def test_a_bad_id_is_refused_before_anything_is_cancelled(name: str) -> None:
    with pytest.raises(
        InvalidInput, match=r"^ID .*: is not allowed; must be one of `lightwave forecast list`"
    ):
        cancel(name)


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ([], ["run"]),
        (["--days", "2"], ["run", "--days", "2"]),
        (["list"], ["list"]),
        (["cancel", "forecast-7"], ["cancel", "forecast-7"]),
    ],
)
def test_forecast_without_a_subcommand_runs_one(words: list[str], command: list[str]) -> None:
    group = find_command(app, "forecast")
    context = group.make_context("forecast", words)
    assert [*context._protected_args, *context.args] == command
