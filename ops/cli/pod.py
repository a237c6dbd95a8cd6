"""`lightwave pod`: what holds for a whole superpod, computed without a twin."""

from pathlib import Path

import click

from ops.cli.groups import Group
from ops.cli.output import rendered, write
from ops.cli.run import OUT_FILE, SEED


@click.group(cls=Group)
def pod() -> None:
    """Compute what holds for a whole superpod, without a twin."""


@pod.command()
@click.option("--seed", type=SEED, default=0, show_default=True, help="the OCSes as manufactured")
@click.option("--cubes", type=click.IntRange(4, 144), default=64, show_default=True)
@click.option("--no-mitigation", is_flag=True, help="without the notch against interference")
@click.option("--no-soft-fec", is_flag=True, help="without the inner code")
@click.option(
    "--return-loss-db", type=float, help="every port of every OCS reflects so much [default: as made]"
)
@click.option(
    "--worst", type=click.IntRange(0, 1_000), default=10, show_default=True, help="pairings by name"
)
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json", "yaml", "html"]),
    default="table",
    show_default=True,
    help="form",
)
@click.option("--out", type=OUT_FILE, metavar="FILE", help="write it there")
def qualify(
    seed: int,
    cubes: int,
    no_mitigation: bool,
    no_soft_fec: bool,
    return_loss_db: float | None,
    worst: int,
    output: str,
    out: Path | None,
) -> None:
    """Compute the bit error rate of every link end with every possible partner.

    Lightwave Fabrics, 4.1.2, Figure 13.
    """
    from ops.models.optics.qualify import report, table
    from shared.models.optics.budget import check_ranges
    from shared.models.optics.link import LinkDesign
    from shared.models.optics.qualification import Conditions, qualify_pod

    if return_loss_db is not None:
        check_ranges({"return_loss_db": return_loss_db})
    conditions = Conditions(
        seed=seed,
        cubes=cubes,
        design=LinkDesign(mitigation=not no_mitigation, soft_fec=not no_soft_fec),
        return_loss_db=return_loss_db,
    )
    result = qualify_pod(conditions)
    content = report(result, worst)
    if output == "html":
        from ops.models.optics.qualify_page import page

        text = page(result, content)
    else:
        text = rendered(content, output, lambda: table(content))
    write(text, out)
