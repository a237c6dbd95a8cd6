"""`lightwave link`: budgets, sensitivity and error curves of the optics, of a twin's link or of one's own."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ops.cli.groups import Group
from ops.cli.link_agree import link_agree
from ops.cli.names import Name
from ops.cli.output import output_option, show
from ops.cli.run import OUT_FILE

if TYPE_CHECKING:
    from ops.models.optics.budget import Link

DESIGN = ("launch_dbm", "fibre_loss_db", "length_km", "mitigation", "soft_fec")

rate_option = click.option(
    "--rate", default="50G-PAM4", show_default=True, help="10G-NRZ, 25G-NRZ, 50G-PAM4 or 100G-PAM4"
)


@click.group(cls=Group)
def link() -> None:
    """Optical links: power, interference and bit error rates."""


link.add_command(link_agree)


@link.command(name="budget")
@click.argument("end", type=Name("links"), required=False, metavar="[END]")
@click.option("--to", type=Name("links"), metavar="END", help="not the far end of now, but this one")
@click.option("--loss-db", type=float, help="insertion loss of the OCS, where no END names one")
@click.option(
    "--return-loss-db", type=float, help="what each of its ports reflects [default: -46, or as made]"
)
@click.option("--excess-db", type=float, help="of a dirty connector at the receiving end [default: 0]")
@click.option("--rate", help="10G-NRZ, 25G-NRZ, 50G-PAM4 or 100G-PAM4 [default: the twin's, or 50G-PAM4]")
@click.option("--kind", help="of the modules, where no END names a link [default: cwdm4-bidi]")
@click.option("--launch-dbm", type=float, help="average power of a lane into the mux")
@click.option("--fibre-loss-db", type=float, help="fibre and connectors of both ends")
@click.option("--length-km", type=float, help="of the fibre, for its dispersion")
@click.option(
    "--mitigation/--no-mitigation", default=None, help="interference mitigation [default: the twin's, or on]"
)
@click.option("--soft-fec/--no-soft-fec", default=None, help="the inner code [default: the twin's, or on]")
@output_option
def link_budget(end: str | None, to: str | None, output: str, **given: Any) -> None:
    """Print a link's budget, element by element and lane by lane, as one end receives it.

    END is a link end of the running twin, such as pod-0/cube-12/+y/7; without one, --loss-db describes the
    OCS and no twin is asked. Lightwave Fabrics, 3.3, 4.1.2.
    """
    from shared.models.optics.budget import RANGES, check_ranges

    options = {name: value for name, value in given.items() if value is not None}
    check_ranges({name: options[name] for name in RANGES if name in options})
    if end is None:
        if to is not None:
            raise click.UsageError("--to goes with the END of a twin's link")
        if "loss_db" not in options:
            raise click.UsageError("needs the END of a twin's link, or --loss-db of one's own")
        found = _own(options)
    else:
        for name in ("loss_db", "kind"):
            if name in options:
                raise click.UsageError(f"--{name.replace('_', '-')} goes without an END: the twin knows it")
        found = _of_twin(end, to, options)
    from ops.models.optics.budget import report, table

    content = report(found)
    show(content, output, lambda: table(content))


def _own(options: dict[str, Any]) -> "Link":
    from ops.models.optics.budget import Link, Strand
    from shared.models.optics.link import LinkDesign
    from shared.models.optics.modules import lane_rate, module_kind
    from shared.models.optics.palomar import RETURN_LOSS_TYPICAL_DB

    design = {name: options[name] for name in DESIGN if name in options}
    design["rate"] = lane_rate(options.get("rate", "50G-PAM4"))
    design["kind"] = module_kind(options.get("kind", "cwdm4-bidi"))
    reflects = options.get("return_loss_db", RETURN_LOSS_TYPICAL_DB)
    return Link(
        LinkDesign(**design),
        (Strand(options["loss_db"], reflects, reflects),),
        near_excess_db=options.get("excess_db", 0.0),
    )


def _of_twin(end: str, to: str | None, options: dict[str, Any]) -> "Link":
    """The twin's link, with whatever the options say otherwise."""
    from dataclasses import replace

    from ops.common.client import Client
    from ops.models.optics.ask import link_of_twin
    from shared.models.optics.modules import lane_rate

    changed = {name: options[name] for name in DESIGN if name in options}
    if "rate" in options:
        changed["rate"] = lane_rate(options["rate"])
    found = link_of_twin(Client(), end, to)
    strands = found.strands
    if "return_loss_db" in options:
        reflects = options["return_loss_db"]
        strands = tuple(replace(one, near_return_db=reflects, far_return_db=reflects) for one in strands)
    return replace(
        found,
        design=replace(found.design, **changed),
        strands=strands,
        near_excess_db=found.near_excess_db + options.get("excess_db", 0.0),
    )


@link.command(name="sensitivity")
@rate_option
@click.option("--mpi-db", type=float, required=True, help="interference over the signal: -80 to 0")
@click.option("--ber", type=float, default=2e-4, show_default=True, help="before the outer code, KP4")
@click.option("--mitigation/--no-mitigation", help="interference mitigation [default: off]")
@click.option("--soft-fec/--no-soft-fec", help="the inner code [default: off]")
@output_option
def link_sensitivity(
    rate: str, mpi_db: float, ber: float, mitigation: bool, soft_fec: bool, output: str
) -> None:
    """Print the least received power at which a lane keeps to a bit error rate.

    Lightwave Fabrics, 4.1.2, Figures 11 and 12.
    """
    from shared.models.optics.sensitivity import sensitivity_dbm

    needed_dbm = sensitivity_dbm(rate, mpi_db, ber, mitigation=mitigation, soft_fec=soft_fec)
    asked = {
        "rate": rate.upper(),
        "mpi_db": mpi_db,
        "ber": ber,
        "mitigation": mitigation,
        "soft_fec": soft_fec,
    }
    show({"sensitivity_dbm": needed_dbm} | asked, output, lambda: f"{needed_dbm:.2f} dBm")


@link.command(name="curve")
@rate_option
@click.option(
    "--mpi-db",
    type=float,
    multiple=True,
    default=(-32.0,),
    show_default=True,
    help="interference over the signal; may be repeated",
)
@click.option("--out", type=OUT_FILE, required=True, metavar="FILE", help="page to write: .html")
def link_curve(rate: str, mpi_db: tuple[float, ...], out: Path) -> None:
    """Draw bit error rate against received power, with and without mitigation and soft FEC.

    Lightwave Fabrics, 4.1.2, Figures 11 and 12.
    """
    from ops.models.optics.curve import curves, gains, page

    if out.suffix != ".html":
        raise click.UsageError(f"--out {out}: ends in {out.suffix!r}; allowed is .html")
    found = curves(rate, mpi_db)
    out.write_text(page(rate.upper(), found), encoding="utf-8")
    click.echo("\n".join([*gains(found), f"written to {out}"]))
