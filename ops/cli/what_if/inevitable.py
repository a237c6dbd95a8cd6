"""`lightwave inevitable`: finds the time from which an event was more likely than not."""

import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from ops.cli.common.command_groups import command_app, examples
from ops.cli.common.name_completion import expand_name
from ops.cli.common.options import OutputOption
from ops.cli.common.output import show
from ops.cli.common.param_types import DurationParam
from ops.cli.common.progress import StatusLine
from ops.cli.explain.events import why_path
from ops.client.answers import EVENTS
from ops.client.http_client import Client, rows_path
from ops.report.tables import text_table
from schemas.resource_kinds import FABRICS
from shared.basics.errors import InvalidInput
from shared.basics.time_format import format_duration, format_time
from shared.basics.units import US_PER_S

if TYPE_CHECKING:
    from schemas.api.rows import LogMessage
    from schemas.body import Body
    from services.forecasts.inevitability import PastEvent, StartPoint, StartPointResult

THREE_DAYS_S, HOUR_S = 3 * 86_400, 3_600
MESSAGE = ("id", "type", "at_us", "fabric", "about", "text")
REQUESTS_MAX = 100_000
FUTURES_MAX = 10_000

app = command_app()


@app.command(
    epilog=examples("inevitable scheduler@pod-0/42", "inevitable pod-0/slice-7 --back 12h --futures 40")
)
def inevitable(
    message_id: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            help="a message, such as scheduler@pod-0/42, or an object, such as pod-0/slice-7, for its "
            "last event",
        ),
    ],
    back_s: Annotated[
        int,
        typer.Option(
            "--back",
            click_type=DurationParam(),
            show_default=False,
            metavar="3d",
            help="how long before the event to start [default: 3d]",
        ),
    ] = THREE_DAYS_S,
    moments: Annotated[int, typer.Option(min=1, max=64, help="number of starting points")] = 8,
    futures: Annotated[
        int, typer.Option(min=1, max=FUTURES_MAX, help="number of futures from each starting point")
    ] = 20,
    within_s: Annotated[
        int,
        typer.Option(
            "--within",
            click_type=DurationParam(),
            show_default=False,
            metavar="1h",
            help="count events up to this much later as the same [default: 1h]",
        ),
    ] = HOUR_S,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="number of worker processes [default: the number of cores]")
    ] = None,
    output: OutputOption = "table",
) -> None:
    """Find out when an event became more likely than not.

    Copies of the twin run from several points before the event, each with other random draws. The result is
    the share of copies in which the event happens again. Operator requests made in the meantime are repeated.
    Nothing happens to the twin.
    """
    from services.forecasts.inevitability import earliest_inevitable, try_start_points
    from shared.runtimes.process_pool import WorkerPool

    client = Client()
    chain = client.rows(why_path(expand_name(client, message_id)), *MESSAGE)
    event, event_text = _event(message_id, chain)
    spans = _spans(event, back_s * US_PER_S, moments)
    cores = min(jobs or os.cpu_count() or 1, len(spans) * futures)
    with WorkerPool(cores, try_start_points.__module__) as workers, StatusLine() as line:
        starts = _starts(client, event, spans, line)
        line.say(f"driving {len(starts)} × {futures} futures")
        rows = try_start_points(event, starts, futures, within_s * US_PER_S, workers)
    head = {"id": chain[0].id, "type": event.type, "about": event.about, "at_us": event.at_us}
    first = earliest_inevitable(rows)
    content = head | {"since_us": None if first is None else first.before_us, "moments": [*map(asdict, rows)]}
    show(content, output, lambda: _table(event_text, event, rows, first))


def _event(requested: str, chain: "Sequence[LogMessage]") -> "tuple[PastEvent, str]":
    from services.forecasts.inevitability import PastEvent

    found = chain[0]
    if not found.about:
        raise InvalidInput(f"{requested}: is not about an object that copies can have; name another message")
    event = PastEvent(int(found.at_us), found.fabric, found.type, found.about[0])
    return event, f"{found.type} {found.text}".rstrip()


def _spans(event: "PastEvent", back_us: int, moments: int) -> list[int]:
    from services.forecasts.inevitability import LAST_US, start_spans_us

    if event.at_us < LAST_US:
        raise InvalidInput(
            f"it happened in the twin's first {format_duration(LAST_US)} "
            f"({format_time(event.at_us)}): there is no moment "
            "before it to look from"
        )
    most_us = min(back_us, event.at_us)
    return [span_us for span_us in start_spans_us(most_us, moments) if span_us <= most_us]


def _starts(client: Client, event: "PastEvent", spans: Sequence[int], line: StatusLine) -> "list[StartPoint]":
    """The site at each of these moments before, the earliest first, and what people asked of it since."""
    from ops.client.remote_snapshot import fetch_snapshot
    from schemas.api.changes import TimedRequest
    from services.forecasts.inevitability import StartPoint

    site = {row.name: row.site for row in client.rows(rows_path(FABRICS), "name", "site")}[event.fabric]
    found = []
    for before_us in spans:
        line.say(f"looking back {format_duration(before_us)}")
        found.append(fetch_snapshot(Client(client.url, at=f"{event.at_us - before_us}us"), site))
    fabrics = dict.fromkeys(fabric for states in found for fabric in states.snapshot.kinds)
    since_us = found[0].from_us
    requested = [
        row for fabric in fabrics for row in _operator_requests(client, fabric, since_us, event.at_us)
    ]
    return [
        StartPoint(
            before_us,
            states.snapshot_bytes,
            states.from_us,
            tuple(
                TimedRequest(at_us - states.from_us, fabric, body)
                for at_us, fabric, body in requested
                if at_us > states.from_us and fabric in states.snapshot.kinds
            ),
        )
        for before_us, states in zip(spans, found, strict=True)
    ]


def _operator_requests(
    client: Client, fabric: str, since_us: int, until_us: int
) -> "list[tuple[int, str, Body]]":
    """(when, of which fabric, what) people asked after one moment, up to another."""
    from schemas.messages.operator import OperatorBody
    from schemas.registry import TYPES

    types = [name for name, body in TYPES.items() if issubclass(body, OperatorBody)]
    rows, _ = client.pages(
        EVENTS,
        *("type", "at_us", "body"),
        most=REQUESTS_MAX,
        fabric=fabric,
        since_us=since_us + 1,
        type=types,
    )
    return [
        (row.at_us, fabric, TYPES[row.type].model_validate(row.body)) for row in rows if row.at_us <= until_us
    ]


NEVER_LIKELY = "at none of these moments was it more likely than not"
LIKELY = 0.5


def _table(
    event_text: str, event: "PastEvent", rows: "Sequence[StartPointResult]", first: "StartPointResult | None"
) -> str:
    lines = [f"{event_text} ({format_time(event.at_us)})", ""]
    cells = [
        (
            format_duration(row.before_us),
            f"{row.same} of {row.futures}",
            _share(row.recurred_share.low, row.recurred_share.high),
            f"{row.any} of {row.futures}",
            _share(row.type_share.low, row.type_share.high),
        )
        for row in rows
    ]
    lines.append(text_table(("BEFORE", "SAME", "SHARE", f"ANY-{event.type}", "SHARE"), cells))
    if first is None:
        few = next((row for row in rows if row.recurred_share.high > LIKELY), None)
        lines += [
            "",
            NEVER_LIKELY if few is None else f"{few.futures} futures do not tell whether it was likely",
        ]
    else:
        lines += ["", f"more likely than not from {format_duration(first.before_us)} before it on"]
    return "\n".join(lines)


def _share(low: float, high: float) -> str:
    return f"{100 * low:.0f} – {100 * high:.0f} %"
