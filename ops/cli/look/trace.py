"""`lightwave trace`: traces the light path of a link end, or all circuits of a trunk."""

from typing import TYPE_CHECKING, Annotated

import typer

from ops.cli.common.command_groups import command_app, examples
from ops.cli.common.name_completion import TraceableNameParam
from ops.cli.common.options import At, OutputOption
from ops.cli.common.output import show
from ops.cli.common.waiting import note_retired
from ops.client.answers import ApiPath
from ops.client.http_client import Client, escape_path
from ops.report.light_path_text import patched_port, unmade_reason
from ops.report.tables import display_value, text_table
from ops.requests.object_names import expand_name
from schemas.name_parts import fabric_part, last_part
from schemas.resource_kinds import TRUNKS, kind_by_name_form

if TYPE_CHECKING:
    from schemas.api.network_rows import TrunkPath
    from schemas.api.rows import ChipLocation, LightPath, StrandPath

PATH_FIELDS = (
    "end",
    "chip",
    "far_end",
    "far_chip",
    "wanted_end",
    "state",
    "condition",
    "far_condition",
    "loss_db",
    "ber",
    "slice",
    "strands",
)
TRUNK_FIELDS = ("trunk", "circuits", "made", "lit", "loss_db_mean", "loss_db_max")
CIRCUIT = ("OCS", "NORTH", "FROM", "SOUTH", "TO", "RACK", "DOMAIN", "MADE", "LIT", "LOSS-DB")

app = command_app()


@app.command(epilog=examples("trace pod-0/cube-12/+y/7", "trace dcn-0/block-3/trunk-7 -o json"))
def trace(
    name: Annotated[
        str,
        typer.Argument(
            click_type=TraceableNameParam(),
            metavar="NAME",
            help="a link end or a trunk, such as pod-0/cube-12/+y/7 or dcn-0/block-3/trunk-7",
        ),
    ],
    at: At = None,
    output: OutputOption = "table",
) -> None:
    """Trace the light path of a link end, or a trunk's circuits."""
    client = Client(at=at)
    full_name = expand_name(client, name)
    path = f"/v1/trace/{escape_path(full_name)}"
    if kind_by_name_form(name) is TRUNKS:
        of_trunk: ApiPath[TrunkPath] = ApiPath(path)
        trunk = client.resource(of_trunk, *TRUNK_FIELDS)
        if output == "table":
            note_retired(client, fabric_part(full_name))
        with client.reading():
            show(trunk, output, lambda: _trunk(trunk))
        return
    of_link: ApiPath[LightPath] = ApiPath(path)
    link = client.resource(of_link, *PATH_FIELDS)
    if output == "table":
        note_retired(client, fabric_part(full_name))
    with client.reading():
        show(link, output, lambda: _path(link))


# --- a trunk ------------------------------------------------------------------------------------------------


def _trunk(path: "TrunkPath") -> str:
    """Format the trunk, a line for each of its circuits, and their totals."""
    trunk, circuits = path.trunk, path.circuits
    one, other = trunk.blocks
    head = (
        f"{trunk.name} is {trunk.state}: {trunk.links} of {trunk.wired} links carry "
        f"{trunk.carries_gbps:,.0f} Gb/s each way, {trunk.rate_gbps} Gb/s a link"
    )
    ways = ((one, other, trunk.out_gbps, trunk.use_out), (other, one, trunk.back_gbps, trunk.use_back))
    loads = [
        f"  {last_part(a)} to {last_part(b)}: {gbps:,.1f} Gb/s, "
        + ("no use" if use is None else f"{100 * use:.1f}% of it")
        for a, b, gbps, use in ways
    ]
    rows = [
        [
            *(circuit.ocs, f"N{circuit.north}", last_part(circuit.north_block)),
            *(f"S{circuit.south}", last_part(other if circuit.north_block == one else one)),
            *(last_part(circuit.rack), last_part(circuit.control)),
            *(circuit.made, circuit.lit, display_value("loss_db", circuit.loss_db)),
        ]
        for circuit in circuits
    ]
    total = f"in all {len(circuits)} circuits, {path.made} made, {path.lit} lit"
    if path.loss_db_max is not None:
        mean, worst = (display_value("loss_db", loss) for loss in (path.loss_db_mean, path.loss_db_max))
        total += f", loss {mean} dB on average and {worst} dB at most"
    return "\n".join([head, *loads, "", text_table(CIRCUIT, rows), total])


# --- a light path -------------------------------------------------------------------------------------------


def _path(path: "LightPath") -> str:
    """Format the path in the direction of the light, one line per station."""
    used = f", used by {path.slice}" if path.slice else ""
    lines = [
        f"{path.end} is {path.state} ({_condition(path)}){used}",
        "",
        *_end(path.end, path.chip),
        *(f"  ├ {_strand(path.end, strand)}" for strand in path.strands),
    ]
    if path.far_end is None or path.far_chip is None:
        return "\n".join([*lines, f"far end   none: {unmade_reason(dict(path))}"])
    return "\n".join([*lines, *reversed(_end(path.far_end, path.far_chip))])


def _condition(path: "LightPath") -> str:
    """Describe what the module reports of itself and of its received light, and why it may receive none."""
    words = f"module {path.condition}"
    if path.loss_db is not None:
        ber = "-" if path.ber is None else display_value("ber", path.ber)
        words += f", path loss {display_value('loss_db', path.loss_db)} dB, BER {ber}"
    if path.far_condition == "failed":
        words += "; the far end's module has failed"
    for impairment, whose in ((path.impairment, "it"), (path.far_impairment, "the far end")):
        if impairment is not None and impairment.worked_on:
            words += f"; a technician has {whose} in hand"
    return words


def _end(name: str, chip: "ChipLocation") -> list[str]:
    face, index = name.split("/")[2:]
    return [
        f"chip      ({chip.x}, {chip.y}, {chip.z}) of {chip.cube}",
        f"face      {face}, index {index}: {name}",
    ]


def _strand(end: str, strand: "StrandPath") -> str:
    """Format one strand through the OCS, or past it without a circuit: strand 0 of a + face enters at the
    North, that of a − face at the South; strand 1 is the other way round."""
    name = f"strand {strand.strand}"
    if strand.ocs is None:
        return f"{name} ──"
    at_north = end.split("/")[2].startswith("+") == (strand.strand == 0)
    north = _port("N", strand.north, strand.north_spare)
    south = _port("S", strand.south, strand.south_spare)
    first, last = (north, south) if at_north else (south, north)
    if last is None:
        return f"{name} ── {first} {strand.ocs}, no circuit made"
    return f"{name} ── {first} {strand.ocs} {last} ──"


def _port(side: str, number: int | None, spare: int | None) -> str | None:
    """The port of the fibre on a side, N or S; None if no circuit leads there."""
    if number is None:
        return None
    return f"{side}{number}" if spare is None else patched_port(f"{side}{number}", f"{side}{spare}")
