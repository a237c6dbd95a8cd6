"""`lightwave reproduce`: what the papers state, computed anew and put side by side."""

import os
from typing import Annotated

import typer

from ops.cli.groups import application
from ops.cli.options import Out, repeated
from ops.cli.output import PageForm, rendered, write

app = application()


# The words behind the first of --only are extra arguments to click: `--only goodput mix`.
@app.command(context_settings={"allow_extra_args": True})
def reproduce(
    context: typer.Context,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME...",
            help="claims with this name, prefix (goodput) or pattern ('*/lf-*'); may be repeated",
        ),
    ] = None,
    output: Annotated[
        PageForm, typer.Option("-o", "--output", help="form; html draws the papers' figures as well")
    ] = "table",
    out: Out = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=64,
            help="worker processes of lab runs; unless given, as many as processors are free to use",
        ),
    ] = None,
) -> None:
    """Compute what the papers state, and say whether it holds.

    Every row is computed now, by closed form, model or runs of the lab with several seeds, and says what kind
    of evidence it is: predictions count. One that does not hold says why.
    """
    from ops.reproduce.labs import run_ahead
    from ops.reproduce.registry import chosen
    from ops.reproduce.report import table

    names = tuple(repeated(only, context))
    claims = chosen(names)
    run_ahead((run for claim in claims for run in claim.runs), jobs or len(os.sched_getaffinity(0)))
    rows = [claim.row() for claim in claims]
    if output == "html":
        from ops.reproduce.charts import charts
        from ops.reproduce.page import page

        text = page(rows, charts())
    else:
        text = rendered(rows, output, lambda: table(rows))
    write(text, out)
