"""`lightwave reproduce`: computes the papers' figures and compares them."""

import os
from typing import Annotated

import typer

from ops.cli.common.command_groups import command_app, examples
from ops.cli.common.options import Out, split_repeated
from ops.cli.common.output import PageForm, render, write_or_print

app = command_app()


# click sees the values of --only after the first as extra arguments: `--only goodput mix`.
@app.command(
    context_settings={"allow_extra_args": True},
    epilog=examples("reproduce --only 'twist/*' 'goodput/*'", "reproduce --jobs 4 -o html --out claims.html"),
)
def reproduce(
    context: typer.Context,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME...",
            help="compute only claims with this name, prefix (goodput) or pattern ('*/lf-*'); may be "
            "repeated",
        ),
    ] = None,
    output: Annotated[
        PageForm, typer.Option("-o", "--output", help="output format; html draws the papers' figures too")
    ] = "table",
    out: Out = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=64,
            help="number of worker processes for lab runs [default: the number of available processors]",
        ),
    ] = None,
) -> None:
    """Compute the papers' figures and check them.

    Every row is computed now: in closed form, by a model, or by lab runs with several seeds. Each row states
    its kind of evidence; predictions count. A row that does not match says why.
    """
    from dataclasses import asdict

    from ops.reproduce.claim_tables import claim_table
    from ops.reproduce.lab_runs import run_ahead
    from ops.reproduce.registry import select_claims

    names = tuple(split_repeated(only, context))
    claims = select_claims(names)
    run_ahead((run for claim in claims for run in claim.runs), jobs or len(os.sched_getaffinity(0)))
    rows = [claim.row() for claim in claims]
    if output == "html":
        from ops.reproduce.charts import charts
        from ops.reproduce.claims_page import claims_page

        text = claims_page(rows, charts())
    else:
        text = render([asdict(row) for row in rows], output, lambda: claim_table(rows))
    write_or_print(text, out)
