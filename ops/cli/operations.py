"""`lightwave operations`: what concerned all of the twin, with who did it and when."""

from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from ops.cli.groups import application
from ops.cli.options import Output
from ops.cli.output import show
from ops.common.client import Client
from ops.common.tables import columns
from shared.basics.brief import brief
from shared.basics.units import US_PER_S

FIELDS = ("number", "wall_us", "who", "type", "body")

app = application()


@app.command()
def operations(
    start: Annotated[
        int | None, typer.Option("--from", min=0, metavar="NUMBER", help="[default: the last ones]")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="at most so many")] = 100,
    output: Output = "table",
) -> None:
    """Show clock changes, rebuilds, skips and the like: who did what, and when."""
    client = Client()
    rows = client.rows("/v1/operations", *FIELDS, start=start, limit=limit)
    with client.reading():
        show(rows, output, lambda: _table(rows))


def _table(rows: list[dict[str, Any]]) -> str:
    headers = ("NUMBER", "WHEN", "WHO", "WHAT", "")
    return columns(headers, [[r["number"], _when(r["wall_us"]), r["who"], r["type"], _said(r)] for r in rows])


def _when(wall_us: int) -> str:
    return datetime.fromtimestamp(wall_us / US_PER_S, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _said(row: dict[str, Any]) -> str:
    """What it says in short; a plan by its sites."""
    body = dict(row["body"])
    if row["type"] == "TwinPlanned":
        body["sites"] = ",".join(site["site"] for site in body["sites"])
    return brief(body)
