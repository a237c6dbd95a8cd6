"""`lightwave pod`: computes the links of a whole superpod without a twin."""

from typing import Annotated

import click
import typer

from ops.cli.common.command_groups import command_app, examples
from ops.cli.common.options import Out, PageOutput, seed_option
from ops.cli.common.output import render, write_or_print

app = command_app("pod")


@app.callback()
def pod() -> None:
    """Compute the links of a whole superpod."""


@app.command(epilog=examples("pod qualify --seed 7", "pod qualify --cubes 16 --rate 100G-PAM4"))
def qualify(
    seed: Annotated[int, seed_option("seed of the manufactured OCSes")] = 0,
    cubes: Annotated[int, typer.Option(min=4, max=144, help="number of cubes of the pod")] = 64,
    no_mitigation: Annotated[
        bool, typer.Option("--no-mitigation", help="switch interference mitigation off")
    ] = False,
    no_soft_fec: Annotated[
        bool, typer.Option("--no-soft-fec", help="switch soft FEC, the inner code, off")
    ] = False,
    rate: Annotated[str, typer.Option(help="10G-NRZ, 25G-NRZ, 50G-PAM4 or 100G-PAM4")] = "50G-PAM4",
    launch_dbm: Annotated[
        float | None,
        typer.Option(help="average power of a lane at the multiplexer [default: that of the rate's laser]"),
    ] = None,
    circulator: Annotated[
        str,
        typer.Option(
            click_type=click.Choice(["integrated", "external"]),
            help="circulator in the module, or in front of it",
        ),
    ] = "integrated",
    laser: Annotated[
        str,
        typer.Option(
            click_type=click.Choice(["EML", "DML"]),
            help="laser with external (EML) or direct (DML) modulation",
        ),
    ] = "EML",
    return_loss_db: Annotated[
        float | None,
        typer.Option(help="return loss of every OCS port [default: as manufactured]"),
    ] = None,
    worst: Annotated[int, typer.Option(min=0, max=1_000, help="number of worst pairings to list")] = 10,
    output: PageOutput = "table",
    out: Out = None,
) -> None:
    """Compute the bit error rate of every possible link.

    Pairs every link end with every possible partner. Lightwave Fabrics, 4.1.2, Figure 13.
    """
    from dataclasses import asdict

    from ops.models.optics.qualification_report import qualification_report, qualification_table
    from shared.models.optics.budget import check_ranges
    from shared.models.optics.link_design import LinkDesign
    from shared.models.optics.module_kinds import lane_rate
    from shared.models.optics.qualification import Conditions, qualify_pod

    given = {"return_loss_db": return_loss_db, "launch_dbm": launch_dbm}
    check_ranges({name: value for name, value in given.items() if value is not None})
    conditions = Conditions(
        seed=seed,
        cubes=cubes,
        design=LinkDesign(
            rate=lane_rate(rate),
            launch_dbm=launch_dbm,
            mitigation=not no_mitigation,
            soft_fec=not no_soft_fec,
            circulator="external" if circulator == "external" else "integrated",
            laser="DML" if laser == "DML" else "EML",
        ),
        return_loss_db=return_loss_db,
    )
    result = qualify_pod(conditions)
    report = qualification_report(result, worst)
    if output == "html":
        from ops.models.optics.qualification_page import qualification_page

        text = qualification_page(result, report)
    else:
        text = render(asdict(report), output, lambda: qualification_table(report))
    write_or_print(text, out)
