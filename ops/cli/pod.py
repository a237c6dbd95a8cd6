"""`lightwave pod`: what holds for a whole superpod, computed without a twin."""

from typing import Annotated

import typer

from ops.cli.groups import application
from ops.cli.options import Out, PageOutput, seed_option
from ops.cli.output import rendered, write

app = application("pod")


@app.callback()
def pod() -> None:
    """Compute what holds for a whole superpod, without a twin."""


@app.command()
def qualify(
    seed: Annotated[int, seed_option("the OCSes as manufactured")] = 0,
    cubes: Annotated[int, typer.Option(min=4, max=144)] = 64,
    no_mitigation: Annotated[
        bool, typer.Option("--no-mitigation", help="without the notch against interference")
    ] = False,
    no_soft_fec: Annotated[bool, typer.Option("--no-soft-fec", help="without the inner code")] = False,
    return_loss_db: Annotated[
        float | None,
        typer.Option(help="every port of every OCS reflects so much [default: as made]"),
    ] = None,
    worst: Annotated[int, typer.Option(min=0, max=1_000, help="pairings by name")] = 10,
    output: PageOutput = "table",
    out: Out = None,
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
