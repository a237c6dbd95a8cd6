"""Forecasts on the twin: requested, followed, and cancelled if the command is interrupted."""

import contextlib
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from ops.cli.common.progress import ProgressLine
from ops.client.answers import ApiPath
from ops.client.http_client import Client, escape_path
from ops.client.waiting import WaitTerms, wait_until
from shared.basics.errors import InvalidInput, LightwaveError, OperationFailed
from shared.runtimes.stop_signals import exit_on_sigterm, stop_signals_delayed

if TYPE_CHECKING:
    from schemas.api.forecast import ForecastReport

FORECASTS: "ApiPath[ForecastReport]" = ApiPath("/v1/forecasts")
INEVITABLE: "ApiPath[ForecastReport]" = ApiPath(f"{FORECASTS}/inevitable")
POLL_S, POLL_S_MAX = 0.05, 0.5
"""How often to look for progress: at first, and later."""
REPORT_FIELDS = (
    *("id", "status", "site", "at_us", "days", "futures", "futures_done", "error", "result", "single"),
)


def forecast_path(name: str) -> "ApiPath[ForecastReport]":
    """The path of a forecast."""
    return ApiPath(f"{FORECASTS}/{escape_path(name)}")


def finished_forecast(
    client: Client, path: "ApiPath[ForecastReport]", body: Mapping[str, object]
) -> "ForecastReport":
    """Request a forecast and wait for its end. Ctrl-C, SIGTERM and errors cancel it on the twin.

    Raise InvalidInput if the twin or every future refuses it, and OperationFailed if it fails or another
    client cancels it."""
    report: ForecastReport | None = None
    try:
        with exit_on_sigterm():
            with stop_signals_delayed():  # until the answer, whose id is needed to cancel it
                report = client.post(path, *REPORT_FIELDS, body=body)
            report = _await_end(client, report)
    except BaseException:
        if report is not None:
            with contextlib.suppress(LightwaveError):
                client.delete(forecast_path(str(report.id)))
        raise
    if report.status == "refused":
        raise InvalidInput(str(report.error))
    if report.status == "cancelled":
        raise OperationFailed(f"forecast {report.id}: was cancelled")
    if report.status != "done":
        raise OperationFailed(f"forecast: {report.error}")
    return report


def _await_end(client: Client, report: "ForecastReport") -> "ForecastReport":
    """The report of a forecast that has ended. Raises RequestFailed if another client deletes it."""
    if report.status not in ("queued", "running"):
        return report
    path, count = forecast_path(str(report.id)), int(report.futures)
    with ProgressLine(partial(_progress_text, count), count) as progress:

        def look() -> "ForecastReport | None":
            found = client.resource(path, *REPORT_FIELDS)
            progress.report_progress(found.futures_done)
            return None if found.status in ("queued", "running") else found

        found = wait_until(client, look, WaitTerms(poll_s=POLL_S, poll_s_max=POLL_S_MAX))
    return report if found is None else found  # a wait without a timeout has found it


def _progress_text(futures: int, done: float, pace: float) -> str:
    return f"{done:.0f} of {futures} futures, {pace:.1f}/s"
