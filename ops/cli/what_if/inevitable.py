"""`lightwave inevitable`: finds the time from which an event was more likely than not."""

from typing import TYPE_CHECKING, Annotated

import typer

from ops.cli.common.command_groups import command_app, examples
from ops.cli.common.options import OutputOption
from ops.cli.common.output import show
from ops.cli.common.param_types import DurationParam
from ops.cli.explain.events import why_path
from ops.cli.what_if.forecast_job import INEVITABLE, finished_forecast
from ops.client.http_client import Client
from ops.report.tables import count_text, text_table
from ops.requests.object_names import expand_name
from shared.basics.errors import InvalidInput
from shared.basics.time_format import format_duration, format_time

if TYPE_CHECKING:
    from schemas.api.forecast import InevitabilityResult

THREE_DAYS_S, HOUR_S = 3 * 86_400, 3_600
MESSAGE = ("id", "type", "at_us", "fabric", "about", "text")
FUTURES_MAX = 10_000
JOBS_MAX = 1_024

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
        int | None,
        typer.Option(
            min=1,
            max=JOBS_MAX,
            help="number of worker processes on the twin's machine [default: its number of cores]",
        ),
    ] = None,
    output: OutputOption = "table",
) -> None:
    """Find out when an event became more likely than not.

    Copies of the twin run from several points before the event, each with other random draws. The result is
    the share of copies in which the event happens again. Operator requests made in the meantime are repeated.
    Nothing happens to the twin, which computes this as a forecast; Ctrl-C cancels it.
    """
    client = Client()
    (found, *_) = client.rows(why_path(expand_name(client, message_id)), *MESSAGE)
    if not found.about:
        raise InvalidInput(f"{message_id}: is not about an object that copies can have; name another message")
    body: dict[str, object] = {
        "event": found.id,
        "back_s": back_s,
        "moments": moments,
        "futures": futures,
        "within_s": within_s,
        "workers": jobs,
    }
    report = finished_forecast(client, INEVITABLE, body)
    with client.reading():
        result = report.inevitability
        if result is None:
            raise ValueError("a forecast that is done has no result")
        show(dict(result), output, lambda: _table(f"{found.type} {found.text}".rstrip(), result))


NEVER_LIKELY = "it was not more likely than not at any of these times"
LIKELY = 0.5


def _table(event_text: str, found: "InevitabilityResult") -> str:
    rows = found.moments
    lines = [
        f"{event_text} ({format_time(found.at_us)})",
        f"SAME counts futures with this event again, ANY those with any {found.type}",
        "",
    ]
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
    lines.append(text_table(("BEFORE", "SAME", "SAME-SHARE", "ANY", "ANY-SHARE"), cells))
    if found.since_us is None:
        few = next((row for row in rows if row.recurred_share.high > LIKELY), None)
        lines += [
            "",
            NEVER_LIKELY if few is None else _too_few(few.futures),
        ]
    else:
        lines += ["", f"more likely than not from {format_duration(found.since_us)} before the event"]
    return "\n".join(lines)


def _too_few(futures: int) -> str:
    verb = "does" if futures == 1 else "do"
    return f"{count_text(futures, 'future')} {verb} not tell whether it was likely"


def _share(low: float, high: float) -> str:
    return f"{100 * low:.0f} – {100 * high:.0f} %"
