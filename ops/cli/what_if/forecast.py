"""`lightwave forecast`: compares many random futures with and without a request."""

import contextlib
import re
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ops.cli.common.command_groups import DefaultCommandGroup, command_app, examples
from ops.cli.common.options import TIME_FORMS, OutputOption
from ops.cli.common.output import echo, show
from ops.cli.common.param_types import NumberParam
from ops.cli.what_if.forecast_job import FORECASTS, finished_forecast, forecast_path
from ops.client.active_faults import active_faults_of
from ops.client.answers import ApiPath
from ops.client.http_client import Client, rows_path
from ops.report.safe_text import quoted
from ops.report.tables import text_table
from ops.requests.object_names import expand_name
from ops.requests.option_syntax import split_fault, split_timed_option
from schemas.resource_kinds import FABRICS
from shared.basics.errors import InvalidInput, LightwaveError, NotFound, OperationFailed
from shared.basics.time_format import format_duration, format_time
from shared.basics.time_grammar import NOW
from shared.basics.units import US_PER_DAY

if TYPE_CHECKING:
    from schemas.api.changes import Change
    from schemas.api.forecast import (
        ForecastReport,
        ForecastResult,
        ForecastSummary,
        FuturePair,
        IntervalReport,
        MeasureRow,
    )

DAYS_MAX = 3_650
FUTURES = 20
FUTURES_MAX = 10_000
JOBS_MAX = 1_024
OF_CHANGE = re.compile(r"changes\.(\d{1,4})[:.] ?")
FORECAST_ID = re.compile(r"[A-Za-z0-9-]{1,64}", re.ASCII)
RUN_COMMAND = "run"
"""The command that is meant if the first word is an option, or if there is none."""
SUMMARIES: "ApiPath[ForecastSummary]" = ApiPath(str(FORECASTS))
SUMMARY_FIELDS = (
    *("id", "status", "requested_by", "site", "at_us", "days"),
    *("changes", "futures", "futures_done", "error"),
)
INJECT = "inject a fault: KIND:TARGET@IN+FOR, such as ocs:pod-0/ocs-17@3h+2h; @IN and +FOR are optional"


class ForecastGroup(DefaultCommandGroup):
    """`lightwave forecast`, alone or with options, runs a forecast."""

    default = RUN_COMMAND
    runs_alone = True


app = command_app("forecast", cls=ForecastGroup)

RequestWords = list[str] | None
StartTime = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help=f"start the futures at this time: {TIME_FORMS} [default: now]",
    ),
]


@app.callback()
def forecast() -> None:
    """Forecast the effect of a request over many random futures.

    `lightwave forecast --drain CUBE` is short for `lightwave forecast run --drain CUBE`, whose help lists all
    options.
    """


@app.command("list", epilog=examples("forecast list", "forecast list -o json"))
def list_forecasts(output: OutputOption = "table") -> None:
    """List the forecasts that the twin runs or keeps, with their progress."""
    client = Client()
    rows = client.rows(SUMMARIES, *SUMMARY_FIELDS)
    with client.reading():
        show(rows, output, lambda: _list_text(rows))


def _list_text(rows: "Sequence[ForecastSummary]") -> str:
    cells = [
        (
            row.id,
            row.status,
            row.site,
            format_time(row.at_us),
            f"{row.days:g}",
            f"{row.futures_done} of {row.futures}",
            row.requested_by,
            row.error,
        )
        for row in rows
    ]
    return text_table(("ID", "STATUS", "SITE", "FROM", "DAYS", "FUTURES", "REQUESTED-BY", "ERROR"), cells)


@app.command("cancel", epilog=examples("forecast cancel forecast-3f9a1c0b7d42", "forecast cancel ID -o json"))
def cancel(
    forecast_id: Annotated[str, typer.Argument(metavar="ID", help="a forecast of `lightwave forecast list`")],
    output: OutputOption = "table",
) -> None:
    """Cancel a forecast that has not finished, or delete one that has."""
    if FORECAST_ID.fullmatch(forecast_id) is None:
        raise InvalidInput(
            f"ID {quoted(forecast_id)}: is not allowed; must be one of `lightwave forecast list`, such as "
            "forecast-3f9a1c0b7d42"
        )
    client = Client()
    report = client.delete(forecast_path(forecast_id), *SUMMARY_FIELDS)
    with client.reading():
        done = "is cancelled" if report.status == "cancelled" else f"was {report.status}; it is deleted"
        content = {name: getattr(report, name) for name in SUMMARY_FIELDS}
        show(content, output, lambda: f"forecast {report.id} {done}")


@app.command(
    RUN_COMMAND,
    epilog=examples(
        "forecast run --drain pod-0/cube-12 --days 2 --futures 20",
        "forecast run --request 4x4x8+2h --days 1",
    ),
)
def run(
    days: Annotated[
        float, typer.Option(click_type=NumberParam("days", 0, DAYS_MAX, above=True), help="days to simulate")
    ] = 7.0,
    futures: Annotated[
        int | None,
        typer.Option(
            min=2,
            max=FUTURES_MAX,
            help=f"number of futures, each with its own random draws [default: {FUTURES}]",
        ),
    ] = None,
    inject: Annotated[RequestWords, typer.Option(metavar="FAULT", help=INJECT)] = None,
    drain: Annotated[
        RequestWords, typer.Option(metavar="CUBE@IN", help="drain a cube, such as pod-0/cube-12@3h")
    ] = None,
    undrain: Annotated[
        RequestWords,
        typer.Option(metavar="CUBE@IN", help="put a drained cube back into use, such as pod-0/cube-12@3h"),
    ] = None,
    request: Annotated[
        RequestWords,
        typer.Option(metavar="SHAPE@IN+FOR", help="request a slice, such as 4x4x8@3h+6h,tier=research"),
    ] = None,
    settings: Annotated[
        RequestWords,
        typer.Option(
            "--set", metavar="KEY=VALUE@IN", help="set a parameter, such as failures.host_per_day=0.02"
        ),
    ] = None,
    future: Annotated[
        int | None, typer.Option(min=1, max=FUTURES_MAX, help="show the events of this future")
    ] = None,
    own_draws: Annotated[
        bool,
        typer.Option(
            "--own-draws",
            help="show the twin's own future, which comes true if no other request arrives; no statistics",
        ),
    ] = False,
    site: Annotated[str | None, typer.Option(help="the site, if the twin has several")] = None,
    at: StartTime = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=JOBS_MAX,
            help="number of worker processes on the twin's machine [default: its number of cores]",
        ),
    ] = None,
    output: OutputOption = "table",
) -> None:
    """Forecast the effect of a request over many random futures.

    Copies of the twin run with and without the requests. The result is the difference of each measure, with a
    confidence interval. Nothing happens to the twin. Futures differ in everything random: faults, repairs and
    slice requests. The hardware is the same in all.
    """
    if own_draws and future is not None:
        raise InvalidInput("--own-draws: cannot be combined with --future, which has its own draws")
    if futures is not None and (own_draws or future is not None):
        alone = "--own-draws" if own_draws else "--future"
        raise InvalidInput(f"--futures {futures}: cannot be combined with {alone}, which is a single future")
    given = {"inject": inject, "drain": drain, "undrain": undrain, "request": request, "set": settings}
    words = [(what, text) for what, texts in given.items() for text in texts or ()]
    client = Client(at=at or NOW)
    body: dict[str, object] = {
        "days": days,
        "futures": None if own_draws or future is not None else futures or FUTURES,
        "future": future,
        "own_draws": own_draws,
        "site": site,
        "workers": jobs,
    }
    report = _requested_forecast(client, body, words, site)
    with client.reading():
        _show_report(report, words, site, future, output)
    for text in inject or () if output == "table" else ():
        _note_if_faulty(client, text)


def _note_if_faulty(client: Client, text: str) -> None:
    """Report that a part, to which the forecast adds a fault, is faulty already: the difference shows less
    than a healthy part would."""
    fault = split_fault(split_timed_option(text).head)
    if fault is None:
        return
    with contextlib.suppress(LightwaveError):  # the forecast itself is done
        target = expand_name(client, fault[1])
        if others := active_faults_of(client, target):
            echo(f"{target} is faulty already by {', '.join(others)}; the result shows one fault more")


def _show_report(
    report: "ForecastReport",
    words: Sequence[tuple[str, str]],
    site: str | None,
    future: int | None,
    output: OutputOption,
) -> None:
    pair, result = report.single, report.result
    if pair is not None:
        show(_pair_json(pair), output, lambda: _future_text(pair, words, report, future))
        return
    if result is None:
        raise ValueError("a forecast that is done has no result")
    requested = [f"{what} {text}" for what, text in words]
    head = {"site": report.site, "at_us": report.at_us, "days": report.days, "requested": requested}
    again = _repeat_command(words, report.days, report.at_us, site)
    show(head | _result_json(result), output, lambda: _table(report, requested, result, again))


def _requested_forecast(
    client: Client, body: dict[str, object], words: Sequence[tuple[str, str]], site: str | None
) -> "ForecastReport":
    """As `finished_forecast`, but InvalidInput and NotFound name the option."""
    changes = [change.model_dump(mode="json", exclude_unset=True) for change in _changes(client, words, site)]
    body = {**body, "changes": changes, "at": client.at}
    client = Client(client.url)  # forecasts themselves are not of a past time
    try:
        return finished_forecast(client, FORECASTS, body)
    except (InvalidInput, NotFound) as error:
        raise type(error)(_with_option(str(error), words)) from None


def _with_option(text: str, words: Sequence[tuple[str, str]]) -> str:
    """A sentence of the twin about one of the changes, with its option instead of its place."""
    found = OF_CHANGE.match(text)
    if found is None or int(found[1]) >= len(words):
        return text
    what, option = words[int(found[1])]
    return f"--{what} {quoted(option)}: {text[found.end() :]}"


def _changes(client: Client, words: Sequence[tuple[str, str]], site: str | None) -> "list[Change]":
    """The changes that the options request. Raise InvalidInput if one is not valid."""
    from ops.requests.request_syntax import parse_changes

    rows = client.rows(rows_path(FABRICS), "name", "site", "kind", "retired_us")
    living = [row for row in rows if row.retired_us is None]
    sites = dict.fromkeys(str(row.site) for row in living)
    if site is not None and site not in sites:
        raise InvalidInput(f"--site {site}: no such site; must be one of {', '.join(sites)}")
    kinds = {str(row.name): str(row.kind) for row in living if site in (None, row.site)}
    if not kinds:
        raise OperationFailed("forecast: every fabric of the twin has retired; there is no future to run")
    return parse_changes(words, kinds)


def _repeat_command(words: Sequence[tuple[str, str]], days: float, at_us: int, site: str | None) -> str:
    """The same command, without the option that selects a future."""
    requested = [word for what, text in words for word in (f"--{what}", text)]
    where = [] if site is None else ["--site", site]
    return shlex.join(
        ["lightwave", "forecast", *requested, "--days", f"{days:g}", *where, "--at", f"{at_us}us"]
    )


def _table(report: "ForecastReport", requested: Sequence[str], found: "ForecastResult", again: str) -> str:
    title = (
        f"{report.site} from {format_time(report.at_us)} for "
        f"{format_duration(round(report.days * US_PER_DAY))}"
    )
    futures = found.futures
    lines = [f"{title}, {futures} futures: {', '.join(requested) or 'no changes'}", ""]
    rows = [
        forecast_cells(row, futures, requested=bool(requested))
        for row in found.rows
        if row.without or row.requested
    ]
    heads = ("FIGURE", "WITHOUT", "WITH", "DIFFERENCE") if requested else ("FIGURE", "MEAN")
    lines += [text_table(heads, rows), ""]
    for reason, count in ((row.reason, row.futures) for row in found.refused):
        lines.append(f"refused in {count} of {futures} futures: {reason}")
    worst, name = found.worst, found.worst_by
    if worst is not None:
        unit = next(row.unit for row in found.rows if row.name == name)
        sign = "+" if requested else ""
        lines += [
            f"worst: future {worst}, {name} {found.worst_value:{sign}.2f} {unit}",
            f"  {again} --future {worst}",
        ]
    return "\n".join(lines)


def forecast_cells(row: "MeasureRow", futures: int, *, requested: bool) -> tuple[str, ...]:
    """A row of the table. If not every future has a value of the measure, each cell shows how many have one.
    The difference is that of futures with a value on both sides, so it need not be that of the means."""
    name, digits = f"{row.name}, {row.unit}", row.digits
    if not requested:
        return name, _interval_text(row.without, digits, futures)
    return (
        name,
        _interval_text(row.without, digits, futures),
        _interval_text(row.requested, digits, futures),
        _interval_text(row.difference, digits, futures, "+"),
    )


def _interval_text(found: "IntervalReport | None", digits: int, futures: int, sign: str = "") -> str:
    if found is None:
        return "-"
    value, low, high = found.value, found.low, found.high
    of = "" if found.runs == futures else f" ({found.runs} of {futures})"
    if low is None or high is None:
        return f"{value:{sign},.{digits}f}{of}"
    half_width = (high - low) / 2.0
    if found.runs > 1 and not half_width:  # all futures have the same value, which gives no interval
        return f"{value:{sign},.{digits}f} (all equal){of}"
    return f"{value:{sign},.{digits}f} ± {half_width:,.{digits}f}{of}"


def _future_text(
    pair: "FuturePair",
    words: Sequence[tuple[str, str]],
    report: "ForecastReport",
    number: int | None,
) -> str:
    """One future, without and with the changes: its measures, and the events of the latter."""
    from services.totals.measures import FORECAST_MEASURES

    units = {str(name): measure.unit for name, measure in FORECAST_MEASURES.items()}
    whose = "the twin's own future" if number is None else f"future {number}"
    requested = ", ".join(f"{what} {text}" for what, text in words) or "no changes"
    for_us = round(report.days * US_PER_DAY)
    lines = [f"{whose} from {format_time(report.at_us)} for {format_duration(for_us)}: {requested}", ""]
    sides = [side for side in (pair.without, pair.requested) if side is not None]
    lines += [f"refused: {reason}" for reason in sides[-1].refused]
    rows = [
        (
            f"{name}, {units[name]}" if name in units else name,
            *("-" if (figure := side.figures[name]) is None else f"{figure:,.2f}" for side in sides),
        )
        for name, value in sides[0].figures.items()
        if value is not None
    ]
    lines += [text_table(("FIGURE", "WITHOUT", "WITH")[: 1 + len(sides)], rows), ""]
    shown = [(format_time(one.at_us), one.type, one.text) for one in sides[-1].notable]
    lines.append(text_table(("AT", "MESSAGE", "DETAILS"), shown) if shown else "nothing notable happens")
    return "\n".join(lines)


def _result_json(result: "ForecastResult") -> dict[str, object]:
    """The result of a forecast, each future with its sides as `without` and `with`."""
    each = [{"future": one.future, "without": one.without, "with": one.requested} for one in result.each]
    return {**dict(result), "each": each}


def _pair_json(pair: "FuturePair") -> dict[str, object]:
    """A future by side; without requests, only `without`."""
    sides = {"without": pair.without, "with": pair.requested}
    return {name: side for name, side in sides.items() if side is not None}
