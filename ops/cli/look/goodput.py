"""`lightwave goodput`: the chip-time accounting of the running twin."""

from typing import TYPE_CHECKING, Annotated

import click
import typer

from ops.cli.common.command_groups import command_app, examples
from ops.cli.common.name_completion import NameParam
from ops.cli.common.options import TIME_FORMS, At, Out, PageOutput, check_page
from ops.cli.common.output import render, write_or_print
from ops.cli.common.param_types import ChoiceParam, MomentParam
from ops.client.answers import ApiPath
from ops.client.http_client import Client
from ops.report.tables import text_table
from shared.basics.time_format import format_chip_hours, format_time

if TYPE_CHECKING:
    from schemas.api.goodput_report import GoodputReport

GOODPUT: "ApiPath[GoodputReport]" = ApiPath("/v1/goodput")
BY = ("pod", "owner", "slice", "tier")
FIELDS = ("by", "since_us", "until_us", "total_chip_us", "chip_us", "rows", "spans")
SPANS = 120
"""Maximum number of columns of the chart."""

app = command_app()


@app.command(
    epilog=examples("goodput --by tier", "goodput --by slice --since -2d -o html --out goodput.html")
)
def goodput(
    since: Annotated[
        str | None,
        typer.Option(
            click_type=MomentParam(),
            metavar="TIME",
            help=f"start: {TIME_FORMS}; rounded down to the hour, or with --by owner or slice to the day "
            "[default: the start of the twin]",
        ),
    ] = None,
    by: Annotated[str, typer.Option(click_type=ChoiceParam("grouping", BY), help=", ".join(BY))] = "pod",
    fabric: Annotated[
        str | None,
        typer.Option(
            click_type=NameParam("fabrics"),
            help="the fabric [default: the first pod; with --by pod all]",
        ),
    ] = None,
    at: At = None,
    output: PageOutput = "table",
    out: Out = None,
) -> None:
    """Show where every chip-second of a pod went.

    -o html draws it over time. docs/reference/accounting.md defines the terms.
    """
    check_page(out, output)
    client = Client(at=at)
    ask: dict[str, object] = {"by": by, "since": since}
    if output == "html":
        if by != "pod":
            raise click.UsageError(f"--by {by} cannot be combined with -o html, which draws pods over time")
        # the report has the pods with chip-time in it: no networks, and no pods that retired before it
        pods = [] if fabric is not None else client.resource(GOODPUT, *FIELDS, **ask).rows
        names = [fabric] if fabric is not None else [row.name for row in pods]
        write_or_print(_page(client, names, ask), out)
        return
    found = client.resource(GOODPUT, *FIELDS, fabric=fabric, **ask)
    with client.reading():
        write_or_print(render(found, output, lambda: _table(found)), out)


def _page(client: Client, names: list[str], ask: dict[str, object]) -> str:
    from ops.report.goodput_page import goodput_page

    ask = ask | {"by": "tier", "spans": SPANS}
    found = {name: client.resource(GOODPUT, *FIELDS, fabric=name, **ask) for name in names}
    with client.reading():
        charts = [(name, _whole(one), [*map(dict, one.spans)]) for name, one in found.items()]
        return goodput_page("Where chip-time went", "Columns are whole hours; the last ends now.", charts)


def _whole(found: "GoodputReport") -> dict[str, object]:
    """Return the whole time as one span."""
    filler = next(row.chip_us for row in found.rows if row.name == "filler")
    return {"total_chip_us": found.total_chip_us, "chip_us": found.chip_us, "filler_chip_us": filler}


def _table(found: "GoodputReport") -> str:
    """Format a line with the shares, then a row for each pod, owner, slice or tier. Categories are shares of
    its chip-time."""
    categories = [category for category, us in found.chip_us.items() if us]
    rows = [row for row in found.rows if row.total_chip_us]
    about_owners = any(row.owner is not None for row in rows)
    heads = [found.by.upper(), *(["OWNER"] if found.by == "slice" else [])]
    heads += ["TIER"] if about_owners else []
    table = []
    for row in rows:
        named = [row.name, *([row.owner] if found.by == "slice" else [])]
        named += [row.tier] if about_owners else []
        total = row.total_chip_us
        shares = [_share(row.chip_us.get(category, 0), total) for category in categories]
        table.append([*named, format_chip_hours(total), *shares])
    headers = [*heads, "CHIP-HOURS", *(category.upper().replace("_", "-") for category in categories)]
    return "\n".join([_summary(found), "", text_table(headers, table)] if table else [_summary(found)])


def _summary(found: "GoodputReport") -> str:
    span = f"{format_time(found.since_us)} to {format_time(found.until_us)}"
    if found.utilisation is None or found.utilisation_by_tier is None:
        return f"{span}: no time has passed"
    tiers = ", ".join(f"{tier} {_percent(share)}" for tier, share in found.utilisation_by_tier.items())
    utilisation = f"utilisation {_percent(found.utilisation)} of the chips in order ({tiers})"
    if found.productive_share is not None:
        utilisation += f", productive {_percent(found.productive_share)}"
    lines = [f"{span}: {format_chip_hours(found.total_chip_us)} chip-hours", utilisation]
    if found.runtime_goodput is not None and found.scheduling_goodput is not None:
        lines.append(
            f"scheduling goodput {_percent(found.scheduling_goodput)}, "
            f"runtime goodput {_percent(found.runtime_goodput)}"
        )
    return "\n".join(lines)


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f}%" if part else "-"
