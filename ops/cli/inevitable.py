"""`lightwave inevitable`: when something that happened could not be otherwise any more."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ops.cli.groups import application
from ops.cli.names import whole
from ops.cli.options import Output
from ops.cli.output import show
from ops.cli.progress import Line
from ops.cli.types import Duration
from ops.common.client import Client, escape
from ops.common.tables import columns
from shared.basics.errors import InvalidInput
from shared.basics.times import moment, span
from shared.basics.units import US_PER_S

if TYPE_CHECKING:
    from ops.forecast.inevitable import Event, Start, Tried
    from schemas.body import Body

THREE_DAYS_S, HOUR_S = 3 * 86_400, 3_600
MESSAGE = ("id", "type", "at_us", "fabric", "about", "text")
ASKED_MAX = 100_000
FUTURES_MAX = 10_000

app = application()


@app.command()
def inevitable(
    message_id: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            help="of what happened, such as scheduler@pod-0/42; of a thing "
            "like pod-0/slice-7 what happened to it last",
        ),
    ],
    back_s: Annotated[
        int,
        typer.Option(
            "--back",
            click_type=Duration(),
            show_default=False,
            metavar="3d",
            help="how far before it to begin [default: 3d]",
        ),
    ] = THREE_DAYS_S,
    moments: Annotated[int, typer.Option(min=1, max=64, help="from so many moments before it")] = 8,
    futures: Annotated[int, typer.Option(min=1, max=FUTURES_MAX, help="so many from each")] = 20,
    within_s: Annotated[
        int,
        typer.Option(
            "--within",
            click_type=Duration(),
            show_default=False,
            metavar="1h",
            help="it may come so much later, too [default: 1h]",
        ),
    ] = HOUR_S,
    jobs: Annotated[int | None, typer.Option(min=1, help="worker processes [default: one a core]")] = None,
    output: Output = "table",
) -> None:
    """Drive copies of the twin on from several moments before something happened, with other draws in each,
    and show in how many of them it happens again.

    What people asked for meanwhile they ask for again. Nothing happens to the twin.
    """
    from ops.common.workers import Workers
    from ops.forecast.inevitable import since, tried

    client = Client()
    chain = client.rows(f"/v1/why/{escape(whole(client, message_id))}", *MESSAGE)
    event, told = _event(message_id, chain)
    spans = _spans(event, back_s * US_PER_S, moments)
    cores = min(jobs or os.cpu_count() or 1, len(spans) * futures)
    with Workers(cores, tried.__module__) as workers, Line() as line:
        starts = _starts(client, event, spans, line)
        line.say(f"driving {len(starts)} × {futures} futures")
        rows = tried(event, starts, futures, within_s * US_PER_S, workers)
    head = {"id": chain[0]["id"], "type": event.type, "about": event.about, "at_us": event.at_us}
    first = since(rows)
    content = head | {"since_us": None if first is None else first.before_us, "moments": [*map(asdict, rows)]}
    show(content, output, lambda: _table(told, event, rows, first))


def _event(asked: str, chain: Sequence[Mapping[str, Any]]) -> "tuple[Event, str]":
    from ops.forecast.inevitable import Event

    found = chain[0]
    if not found["about"]:
        raise InvalidInput(f"{asked}: is about nothing that could be found again; name another message")
    event = Event(int(found["at_us"]), found["fabric"], found["type"], found["about"][0])
    return event, f"{found['type']} {found['text']}".rstrip()


def _spans(event: "Event", back_us: int, moments: int) -> list[int]:
    from ops.forecast.inevitable import LAST_US, moments_before

    if event.at_us < LAST_US:
        raise InvalidInput(
            f"it happened in the twin's first {span(LAST_US)} ({moment(event.at_us)}): there is no moment "
            "before it to look from"
        )
    most_us = min(back_us, event.at_us)
    return [span_us for span_us in moments_before(most_us, moments) if span_us <= most_us]


def _starts(client: Client, event: "Event", spans: Sequence[int], line: Line) -> "list[Start]":
    """The site at each of these moments before, the earliest first, and what people asked of it since."""
    from ops.common.asks import Ask
    from ops.common.fetched import fetched
    from ops.forecast.inevitable import Start

    site = {row["name"]: row["site"] for row in client.rows("/v1/fabrics", "name", "site")}[event.fabric]
    found = []
    for before_us in spans:
        line.say(f"looking back {span(before_us)}")
        found.append(fetched(Client(client.url, at=f"{event.at_us - before_us}us"), site))
    fabrics = dict.fromkeys(fabric for states in found for fabric in states.snapshot.kinds)
    since_us = found[0].from_us
    asked = [row for fabric in fabrics for row in _asked(client, fabric, since_us, event.at_us)]
    return [
        Start(
            before_us,
            states.held,
            states.from_us,
            tuple(
                Ask(at_us - states.from_us, fabric, body)
                for at_us, fabric, body in asked
                if at_us > states.from_us and fabric in states.snapshot.kinds
            ),
        )
        for before_us, states in zip(spans, found, strict=True)
    ]


def _asked(client: Client, fabric: str, since_us: int, until_us: int) -> "list[tuple[int, str, Body]]":
    """(when, of which fabric, what) people asked after one moment, up to another."""
    from schemas.operator import OperatorBody
    from schemas.registry import TYPES

    types = [name for name, body in TYPES.items() if issubclass(body, OperatorBody)]
    rows, _ = client.pages(
        "/v1/events",
        *("type", "at_us", "body"),
        most=ASKED_MAX,
        fabric=fabric,
        since_us=since_us + 1,
        type=types,
    )
    return [
        (row["at_us"], fabric, TYPES[row["type"]].model_validate(row["body"]))
        for row in rows
        if row["at_us"] <= until_us
    ]


NONE = "at none of these moments was it more likely than not"
EVEN = 0.5


def _table(told: str, event: "Event", rows: "Sequence[Tried]", first: "Tried | None") -> str:
    lines = [f"{told} ({moment(event.at_us)})", ""]
    cells = [
        (
            span(row.before_us),
            f"{row.same} of {row.futures}",
            _share(row.same_share.low, row.same_share.high),
            f"{row.any} of {row.futures}",
            _share(row.any_share.low, row.any_share.high),
        )
        for row in rows
    ]
    lines.append(columns(("BEFORE", "SAME", "SHARE", f"ANY-{event.type}", "SHARE"), cells))
    if first is None:
        few = next((row for row in rows if row.same_share.high > EVEN), None)
        lines += ["", NONE if few is None else f"{few.futures} futures do not tell whether it was likely"]
    else:
        lines += ["", f"more likely than not from {span(first.before_us)} before it on"]
    return "\n".join(lines)


def _share(low: float, high: float) -> str:
    return f"{100 * low:.0f} – {100 * high:.0f} %"
