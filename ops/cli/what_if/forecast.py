"""`lightwave forecast`: compares many random futures with and without a request."""

import math
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ops.cli.common.command_groups import command_app, examples
from ops.cli.common.options import At, Output
from ops.cli.common.output import show
from ops.cli.common.param_types import NumberParam
from ops.cli.common.progress import ProgressLine
from ops.client.http_client import NOW, Client
from ops.report.tables import text_table
from shared.basics.errors import InvalidInput, OperationFailed
from shared.basics.time_format import format_duration, format_time
from shared.basics.units import US_PER_DAY

if TYPE_CHECKING:
    from ops.forecast.future_run import FutureRun
    from ops.forecast.paired_forecast import Forecast, ForecastCase, ForecastRow
    from ops.local.process_pool import WorkerPool
    from ops.requests.timed_requests import TimedRequest
    from shared.models.statistics.means import Interval

DAYS_MAX = 3_650
FUTURES = 20
FUTURES_MAX = 10_000
FORECAST_MODULE = "ops.forecast.paired_forecast"
"""The module whose functions the workers call."""
INJECT = "inject a fault: KIND:TARGET@IN+FOR, such as ocs:pod-0/ocs-17@3h+2h; @IN and +FOR are optional"

app = command_app()

RequestWords = list[str] | None


@app.command(
    epilog=examples(
        "forecast --drain pod-0/cube-12 --days 2 --futures 20", "forecast --request 4x4x8+2h --days 1"
    )
)
def forecast(
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
    undrain: Annotated[RequestWords, typer.Option(metavar="CUBE@IN", help="a cube")] = None,
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
            help="show the twin's own future, which comes true if nobody requests anything else; no "
            "statistics",
        ),
    ] = False,
    site: Annotated[str | None, typer.Option(help="the site, if the twin has several")] = None,
    at: At = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="number of worker processes [default: the number of cores]")
    ] = None,
    output: Output = "table",
) -> None:
    """Forecast the effect of a request over many random futures.

    Copies of the twin run with and without the requests. The result is the difference of each measure, with a
    confidence interval. Nothing happens to the twin. Futures differ in everything random: faults, repairs and
    slice requests. The hardware is the same in all.
    """
    from ops.local.process_pool import WorkerPool

    if own_draws and future is not None:
        raise InvalidInput("--own-draws: cannot be combined with --future, which has its own draws")
    if futures is not None and (own_draws or future is not None):
        alone = "--own-draws" if own_draws else "--future"
        raise InvalidInput(f"--futures {futures}: cannot be combined with {alone}, which is a single future")
    given = {"inject": inject, "drain": drain, "undrain": undrain, "request": request, "set": settings}
    words = [(what, text) for what, texts in given.items() for text in texts or ()]
    client = Client(at=at or NOW)
    requests, place = _requests_and_site(client, words, site)
    for_us = round(days * US_PER_DAY)
    _check_in_time(requests, for_us, days)
    if own_draws or future is not None:
        case = _case(client, place, for_us, requests)
        pair = _one_future(case, future)
        show(_future_json(pair), output, lambda: _future_text(pair, words, case, future))
        return
    count = futures or FUTURES
    with WorkerPool(min(jobs or os.cpu_count() or 1, count), FORECAST_MODULE) as workers:
        case = _case(client, place, for_us, requests)  # while the workers import
        found = _run_forecast(case, count, workers)
    again = _repeat_command(words, days, case.from_us, site)
    head = {"site": place, "at_us": case.from_us, "days": days, "requested": [f"{a} {b}" for a, b in words]}
    show(head | _forecast_json(found), output, lambda: _table(head, found, again))


def _check_in_time(requests: "Sequence[TimedRequest]", for_us: int, days: float) -> None:
    late = max((ask.after_us for ask in requests), default=0)
    if late > for_us:
        raise InvalidInput(
            f"--days {days:g}: the futures end {format_duration(for_us)} "
            "from now, and a request comes after "
            f"{format_duration(late)}; must be before the end of the futures"
        )


def _case(client: Client, site: str, for_us: int, requests: "Sequence[TimedRequest]") -> "ForecastCase":
    from ops.client.remote_snapshot import fetch_snapshot
    from ops.forecast.paired_forecast import ForecastCase

    states = fetch_snapshot(client, site)
    return ForecastCase(states.snapshot_bytes, states.from_us, for_us, tuple(requests))


def _one_future(case: "ForecastCase", number: int | None) -> "list[FutureRun]":
    """One future, without and, where anything is asked, with it."""
    from ops.forecast.paired_forecast import run_pair

    return [one for one in run_pair(case, number, keep=True) if one is not None]


def _run_forecast(case: "ForecastCase", futures: int, workers: "WorkerPool") -> "Forecast":
    from ops.forecast.paired_forecast import run_forecast as forecast_of

    with ProgressLine(partial(_progress_text, futures), futures) as progress:
        return forecast_of(case, futures, workers, progress.report_progress)


def _progress_text(futures: int, done: float, pace: float) -> str:
    return f"{done:.0f} of {futures} futures, {pace:.1f}/s"


def _requests_and_site(
    client: Client, words: Sequence[tuple[str, str]], site: str | None
) -> "tuple[list[TimedRequest], str]":
    """What is asked, and the site that all of it is of."""
    from ops.requests.request_syntax import parse_requests

    rows = client.rows("/v1/fabrics", "name", "site", "kind", "retired_us")
    living = {str(row["name"]): row for row in rows if row["retired_us"] is None}
    of = {name: str(row["site"]) for name, row in living.items()}
    if site is not None and site not in of.values():
        raise InvalidInput(f"--site {site}: no such site; there is {', '.join(dict.fromkeys(of.values()))}")
    names = [name for name, its in of.items() if site in (None, its)]
    if not names:
        raise OperationFailed("forecast: no fabric lives there any more; nothing is to come")
    requests = parse_requests(words, {name: str(living[name]["kind"]) for name in names})
    places = list(dict.fromkeys(of[ask.fabric] for ask in requests))
    if len(places) > 1:
        raise InvalidInput(f"{', '.join(places)}: a forecast covers one site; run one forecast for each site")
    return requests, places[0] if places else of[names[0]]


def _repeat_command(words: Sequence[tuple[str, str]], days: float, at_us: int, site: str | None) -> str:
    """The command that does the same, but for which future is to be seen."""
    requested = [word for what, text in words for word in (f"--{what}", text)]
    where = [] if site is None else ["--site", site]
    return shlex.join(
        ["lightwave", "forecast", *requested, "--days", f"{days:g}", *where, "--at", f"{at_us}us"]
    )


def _table(head: Mapping[str, Any], found: "Forecast", again: str) -> str:
    requested = ", ".join(head["requested"]) or "as it stands"
    title = (
        f"{head['site']} from {format_time(head['at_us'])} for "
        f"{format_duration(round(head['days'] * US_PER_DAY))}"
    )
    lines = [f"{title}, {found.futures} futures: {requested}", ""]
    rows = [
        forecast_cells(row, found.futures, requested=bool(head["requested"]))
        for row in found.rows
        if row.without or row.requested
    ]
    heads = ("FIGURE", "WITHOUT", "WITH", "DIFFERENCE") if head["requested"] else ("FIGURE", "MEAN")
    lines += [text_table(heads, rows), ""]
    for reason, count in found.refused.items():
        lines.append(f"refused in {count} of {found.futures} futures: {reason}")
    if found.worst is not None and found.worst_value is not None:
        unit = next(row.unit for row in found.rows if row.name == found.worst_by)
        sign = "+" if head["requested"] else ""
        lines += [
            f"worst: future {found.worst}, {found.worst_by} {found.worst_value:{sign}.2f} {unit}",
            f"  {again} --future {found.worst}",
        ]
    return "\n".join(lines)


def forecast_cells(row: "ForecastRow", futures: int, *, requested: bool) -> tuple[str, ...]:
    """A row of the table. A figure that not every future has says how many have it: the difference is of
    those that have it on both sides, and so need not be that of the means beside it."""
    name = f"{row.name}, {row.unit}"
    if not requested:
        return name, _interval_text(row.without, row.digits, futures)
    return (
        name,
        _interval_text(row.without, row.digits, futures),
        _interval_text(row.requested, row.digits, futures),
        _interval_text(row.difference, row.digits, futures, "+"),
    )


def _interval_text(found: "Interval | None", digits: int, futures: int, sign: str = "") -> str:
    if found is None:
        return "-"
    of = "" if found.runs == futures else f" ({found.runs} of {futures})"
    if math.isinf(found.half_width):
        return f"{found.value:{sign},.{digits}f}{of}"
    if found.runs > 1 and not found.half_width:  # no interval: none of them was otherwise
        return f"{found.value:{sign},.{digits}f} in all{of}"
    return f"{found.value:{sign},.{digits}f} ± {found.half_width:,.{digits}f}{of}"


def _future_text(
    pair: "Sequence[FutureRun]",
    words: Sequence[tuple[str, str]],
    case: "ForecastCase",
    number: int | None,
) -> str:
    """One future, with and without what is asked: its figures, and what happens in the last of both."""
    whose = "the twin's own future" if number is None else f"future {number}"
    requested = ", ".join(f"{what} {text}" for what, text in words) or "as it stands"
    lines = [f"{whose} from {format_time(case.from_us)} for {format_duration(case.for_us)}: {requested}", ""]
    lines += [f"refused: {reason}" for reason in pair[-1].refused]
    rows = [
        (name, *("-" if one.figures[name] is None else f"{one.figures[name]:,.2f}" for one in pair))
        for name, value in pair[0].figures.items()
        if value is not None
    ]
    lines += [text_table(("FIGURE", "WITHOUT", "WITH")[: 1 + len(pair)], rows), ""]
    shown = [(format_time(one.at_us), one.type, one.text) for one in pair[-1].notable]
    lines.append(text_table(("AT", "MESSAGE", "SAYS"), shown) if shown else "nothing notable happens")
    return "\n".join(lines)


def _forecast_json(found: "Forecast") -> dict[str, Any]:
    from ops.report.intervals import interval_json

    sides = ("without", "requested", "difference")
    rows = [
        asdict(row) | {side: interval_json(told) if (told := getattr(row, side)) else None for side in sides}
        for row in found.rows
    ]
    each = [
        {"future": number, "without": left.figures, "with": None if done is None else done.figures}
        for number, (left, done) in enumerate(found.each, 1)
    ]
    return asdict(replace(found, each=())) | {"rows": rows, "each": each}


def _future_json(pair: "Sequence[FutureRun]") -> dict[str, Any]:
    names = ("without", "with")
    return {name: asdict(one) for name, one in zip(names, pair, strict=False)}
