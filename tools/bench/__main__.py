"""`lightwave bench`: how fast it is on this machine."""

from typing import Annotated

import typer

from ops.cli.common.command_groups import command_app
from ops.cli.common.options import Output
from ops.cli.common.output import show
from ops.report.tables import text_table

app = command_app()


@app.command()
def bench(
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="lab, speed, resume, queries, streams, live, topology, availability, reliability, optics, "
            "scheduler, dcn, hardware, diagnosis, experiments or past; may be repeated"
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="shorter runs, for a first look")] = False,
    output: Output = "table",
) -> None:
    """Measure the lab, a living twin and the models on this machine."""
    from tools.bench.run import run_bench

    result = run_bench(only=only or [], quick=quick)
    rows = [[f["name"], f"{f['value']:,}", f["unit"], f["goal"], f["how"]] for f in result["figures"]]
    show(result, output, lambda: text_table(("FIGURE", "VALUE", "UNIT", "GOAL", "HOW"), rows))
