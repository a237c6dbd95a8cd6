"""`lightwave reproduce`: what the papers state, computed anew and put side by side."""

from pathlib import Path

import click

from ops.cli.output import rendered, write
from ops.cli.run import OUT_FILE


@click.command()
@click.option(
    "--only",
    multiple=True,
    metavar="NAME...",
    help="claims with this name, prefix (goodput) or pattern ('*/lf-*'); may be repeated",
)
@click.argument("more", nargs=-1, metavar="")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json", "yaml", "html"]),
    default="table",
    show_default=True,
    help="form; html draws the papers' figures as well",
)
@click.option("--out", type=OUT_FILE, metavar="FILE", help="write it there")
def reproduce(only: tuple[str, ...], more: tuple[str, ...], output: str, out: Path | None) -> None:
    """Compute what the papers state, and say whether it holds.

    Every row is computed now: by closed form, model or a run of the lab. One that does not hold says why.
    """
    from ops.reproduce.registry import chosen
    from ops.reproduce.report import table

    if more and not only:
        raise click.UsageError(f"Got unexpected extra argument ({more[0]})")
    names = tuple(name for words in (*only, *more) for name in words.split(","))
    rows = [claim.row() for claim in chosen(names)]
    if output == "html":
        from ops.reproduce.charts import charts
        from ops.reproduce.page import page

        text = page(rows, charts())
    else:
        text = rendered(rows, output, lambda: table(rows))
    write(text, out)
