"""`lightwave link`: power budgets, sensitivities and error curves of optical links."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click
import typer

from ops.cli.common.command_groups import command_app, examples
from ops.cli.common.name_completion import NameParam
from ops.cli.common.options import OutputOption
from ops.cli.common.output import echo, show
from ops.cli.common.param_types import OUT_FILE
from ops.local.output_file import write_output_text

if TYPE_CHECKING:
    from ops.models.optics.link_report import LinkCase


def link_agree(
    module: Annotated[str, typer.Argument(metavar="MODULE", help="such as cwdm4-bidi-800G")],
    other: Annotated[str, typer.Argument(metavar="OTHER", help="such as cwdm4-bidi-400G")],
    output: OutputOption = "table",
) -> None:
    """Print the best lane rate that two modules share.

    If they share none, print why. A module is a kind and a generation. Lightwave Fabrics, 2.3, 3.3.1.
    """
    from shared.models.optics.module_kinds import agree, parse_module

    one, two = parse_module(module), parse_module(other)
    found = agree(one, two)
    content = {
        "modules": [one.name, two.name],
        "rate": None if found.rate is None else found.rate.name,
        "lanes": found.lanes,
        "gbps": found.gbps,
        "reason": found.reason,
    }
    show(content, output, lambda: found.reason)


DESIGN = ("launch_dbm", "fibre_loss_db", "length_km", "mitigation", "soft_fec")
RATES = "10G-NRZ, 25G-NRZ, 50G-PAM4 or 100G-PAM4"
MPI_DB = (-32.0,)
"""Interference over the signal, in dB, that is drawn by default."""

Rate = Annotated[str, typer.Option(help=RATES)]

app = command_app("link")


@app.callback()
def link() -> None:
    """Compute optical links: power, interference, bit errors."""


app.command(
    "agree",
    epilog=examples(
        "link agree cwdm4-bidi-800G cwdm4-bidi-400G", "link agree cwdm4-bidi-800G cwdm4-bidi-800G -o json"
    ),
)(link_agree)


@dataclass(frozen=True, slots=True)
class LinkOptions:
    """The link options; None if an option is not given."""

    loss_db: float | None
    return_loss_db: float | None
    excess_db: float | None
    warmer_k: float
    rate: str | None
    kind: str | None
    launch_dbm: float | None
    fibre_loss_db: float | None
    length_km: float | None
    mitigation: bool | None
    soft_fec: bool | None

    def given(self) -> dict[str, Any]:
        """Return the given options by name."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    def design(self) -> dict[str, Any]:
        """Return the given options of modules and fibre, as `LinkDesign` takes them."""
        from shared.models.optics.module_kinds import lane_rate

        found = {name: value for name, value in self.given().items() if name in DESIGN}
        return found if self.rate is None else found | {"rate": lane_rate(self.rate)}


@app.command(
    "budget",
    epilog=examples(
        "link budget pod-0/cube-12/+y/7 --to pod-0/cube-3/-y/7",
        "link budget --loss-db 2.5 --return-loss-db -30",
    ),
)
def link_budget(
    end: Annotated[
        str | None,
        typer.Argument(click_type=NameParam("links"), metavar="[END]", help="such as pod-0/cube-12/+y/7"),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            click_type=NameParam("links"),
            metavar="END",
            help="compute for this far end instead of the current one",
        ),
    ] = None,
    loss_db: Annotated[float | None, typer.Option(help="insertion loss of the OCS, instead of END")] = None,
    return_loss_db: Annotated[
        float | None, typer.Option(help="return loss of each OCS port [default: -46, or as manufactured]")
    ] = None,
    excess_db: Annotated[
        float | None, typer.Option(help="loss of a dirty connector at the receiving end [default: 0]")
    ] = None,
    warmer_k: Annotated[
        float,
        typer.Option(help="temperature of END's module above the far one's, which makes the lasers drift"),
    ] = 0.0,
    rate: Annotated[str | None, typer.Option(help=f"{RATES} [default: the twin's, or 50G-PAM4]")] = None,
    kind: Annotated[
        str | None, typer.Option(help="kind of the modules, if END is not given [default: cwdm4-bidi]")
    ] = None,
    launch_dbm: Annotated[
        float | None, typer.Option(help="average power of a lane at the multiplexer")
    ] = None,
    fibre_loss_db: Annotated[
        float | None, typer.Option(help="loss of the fibre and the connectors of both ends")
    ] = None,
    length_km: Annotated[float | None, typer.Option(help="length of the fibre, for its dispersion")] = None,
    mitigation: Annotated[
        bool | None, typer.Option(help="interference mitigation [default: the twin's, or on]")
    ] = None,
    soft_fec: Annotated[
        bool | None, typer.Option(help="soft FEC, the inner code [default: the twin's, or on]")
    ] = None,
    output: OutputOption = "table",
) -> None:
    """Print the power budget of a link, element by element.

    The budget is that of the receiving END, a link end of the running twin. Without END, --loss-db describes
    the OCS and no twin is needed. Lightwave Fabrics, 3.3, 4.1.2.
    """
    options = LinkOptions(
        loss_db=loss_db,
        return_loss_db=return_loss_db,
        excess_db=excess_db,
        warmer_k=warmer_k,
        rate=rate,
        kind=kind,
        launch_dbm=launch_dbm,
        fibre_loss_db=fibre_loss_db,
        length_km=length_km,
        mitigation=mitigation,
        soft_fec=soft_fec,
    )
    found = _link(end, to, options)
    from ops.models.optics.link_report import link_report, link_table

    report = link_report(found)
    show(report.as_json(), output, lambda: link_table(report))


def _link(end: str | None, to: str | None, options: LinkOptions) -> "LinkCase":
    """Return the twin's link from this end, or without an end the link that the options describe."""
    from shared.models.optics.budget import RANGES, check_ranges

    given = options.given()
    check_ranges({name: given[name] for name in RANGES if name in given})
    if end is not None:
        for name in ("loss_db", "kind"):
            if name in given:
                raise click.UsageError(
                    f"--{name.replace('_', '-')} cannot be combined with END; the twin knows it"
                )
        return _twin_link(end, to, options)
    if to is not None or options.warmer_k:
        word = "--to" if to is not None else "--warmer-k"
        raise click.UsageError(f"{word} requires END, a link end of the twin")
    if options.loss_db is None:
        raise click.UsageError("requires END, a link end of the twin, or --loss-db")
    return _custom_link(options.loss_db, options)


def _custom_link(loss_db: float, options: LinkOptions) -> "LinkCase":
    from ops.models.optics.link_report import LinkCase, StrandCase
    from shared.models.optics.link_design import LinkDesign
    from shared.models.optics.module_kinds import lane_rate, module_kind
    from shared.models.optics.palomar import RETURN_LOSS_TYPICAL_DB

    design = {"rate": lane_rate("50G-PAM4")} | options.design()
    design["kind"] = module_kind("cwdm4-bidi" if options.kind is None else options.kind)
    reflects = RETURN_LOSS_TYPICAL_DB if options.return_loss_db is None else options.return_loss_db
    return LinkCase(
        LinkDesign(**design),
        (StrandCase(loss_db, reflects, reflects),),
        near_excess_db=options.excess_db or 0.0,
    )


def _twin_link(end: str, to: str | None, options: LinkOptions) -> "LinkCase":
    """Return the twin's link, changed by the given options."""
    from dataclasses import replace

    from ops.client.http_client import Client
    from ops.models.optics.twin_link import link_of_twin

    changed = options.design()
    found = link_of_twin(Client(), end, to, options.warmer_k)
    strands = found.strands
    if options.return_loss_db is not None:
        reflects = options.return_loss_db
        strands = tuple(replace(one, near_return_db=reflects, far_return_db=reflects) for one in strands)
    return replace(
        found,
        design=replace(found.design, **changed),
        strands=strands,
        near_excess_db=found.near_excess_db + (options.excess_db or 0.0),
    )


@app.command(
    "sensitivity",
    epilog=examples("link sensitivity --mpi-db -32 --mitigation", "link sensitivity --mpi-db -32 --ber 1e-5"),
)
def link_sensitivity(
    mpi_db: Annotated[float, typer.Option(help="interference relative to the signal: -80 to 0")],
    rate: Rate = "50G-PAM4",
    ber: Annotated[float, typer.Option(help="bit error rate before the outer code, KP4")] = 2e-4,
    mitigation: Annotated[
        bool, typer.Option(show_default=False, help="interference mitigation [default: off]")
    ] = False,
    soft_fec: Annotated[
        bool, typer.Option(show_default=False, help="soft FEC, the inner code [default: off]")
    ] = False,
    output: OutputOption = "table",
) -> None:
    """Print the lowest received power that meets a BER limit.

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


@app.command(
    "curve", epilog=examples("link curve --out curve.html", "link curve --out curve.html --mpi-db -28")
)
def link_curve(
    out: Annotated[Path, typer.Option(click_type=OUT_FILE, metavar="FILE", help="the .html page to write")],
    rate: Rate = "50G-PAM4",
    mpi_db: Annotated[
        list[float] | None,
        typer.Option(help="interference relative to the signal; may be repeated [default: -32]"),
    ] = None,
) -> None:
    """Draw bit error rate against received power.

    With and without interference mitigation and soft FEC. Lightwave Fabrics, 4.1.2, Figures 11 and 12.
    """
    from ops.models.optics.ber_curves import ber_curves, curve_page, gain_sentences

    if out.suffix != ".html":
        raise click.UsageError(f"--out {out}: ends in {out.suffix!r}; must end in .html")
    found = ber_curves(rate, tuple(mpi_db or MPI_DB))
    write_output_text(out, curve_page(rate.upper(), found))
    echo("\n".join([*gain_sentences(found), f"written to {out}"]))
