"""`lightwave trace`: traces the light path of a link end, or all circuits of a trunk."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from ops.cli.common.command_groups import command_app, examples
from ops.cli.common.name_completion import TraceableNameParam, expand_name
from ops.cli.common.options import At, Output
from ops.cli.common.output import show
from ops.client.http_client import Client, escape_path
from ops.report.light_path_text import patched_port, unmade_reason
from ops.report.tables import display_value, text_table
from schemas.kinds import TRUNKS, kind_by_name_form

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
    output: Output = "table",
) -> None:
    """Trace the light path of a link end, or a trunk's circuits."""
    client = Client(at=at)
    is_trunk = kind_by_name_form(name) is TRUNKS
    fields = TRUNK_FIELDS if is_trunk else PATH_FIELDS
    content = client.resource(f"/v1/trace/{escape_path(expand_name(client, name))}", *fields)
    with client.reading():
        show(content, output, lambda: _trunk(content) if is_trunk else _path(content))


# --- a trunk ------------------------------------------------------------------------------------------------


def _trunk(path: Mapping[str, Any]) -> str:
    """The trunk, a line for each of its circuits, and what they come to."""
    trunk, circuits = path["trunk"], path["circuits"]
    one, other = trunk["blocks"]
    head = (
        f"{trunk['name']} is {trunk['state']}: {trunk['links']} of {trunk['wired']} links carry "
        f"{trunk['carries_gbps']:,.0f} Gb/s each way, {trunk['rate_gbps']} Gb/s a link"
    )
    ways = ((one, other, "out"), (other, one, "back"))
    loads = [
        f"  {_short(a)} to {_short(b)}: {trunk[f'{way}_gbps']:,.1f} Gb/s, "
        + ("no use" if (use := trunk[f"use_{way}"]) is None else f"{100 * use:.1f}% of it")
        for a, b, way in ways
    ]
    rows = [
        [
            *(circuit["ocs"], f"N{circuit['north']}", _short(circuit["north_block"])),
            *(f"S{circuit['south']}", _short(other if circuit["north_block"] == one else one)),
            *(_short(circuit["rack"]), _short(circuit["control"])),
            *(circuit["made"], circuit["lit"], display_value("loss_db", circuit["loss_db"])),
        ]
        for circuit in circuits
    ]
    total = f"in all {len(circuits)} circuits, {path['made']} made, {path['lit']} lit"
    if path["loss_db_max"] is not None:
        mean, worst = (display_value("loss_db", path[f"loss_db_{name}"]) for name in ("mean", "max"))
        total += f", loss {mean} dB in the mean and {worst} dB at most"
    return "\n".join([head, *loads, "", text_table(CIRCUIT, rows), total])


def _short(name: str) -> str:
    return name.rpartition("/")[2]


# --- a light path -------------------------------------------------------------------------------------------


def _path(path: Mapping[str, Any]) -> str:
    """The path as light takes it, one line a station."""
    used = f", used by {path['slice']}" if path["slice"] else ""
    lines = [
        f"{path['end']} is {path['state']} ({_condition(path)}){used}",
        "",
        *_end(path["end"], path["chip"]),
        *(f"  ├ {_strand(path['end'], strand)}" for strand in path["strands"]),
    ]
    if path["far_end"] is None:
        return "\n".join([*lines, f"far end   none: {unmade_reason(path)}"])
    return "\n".join([*lines, *reversed(_end(path["far_end"], path["far_chip"]))])


def _condition(path: Mapping[str, Any]) -> str:
    """What the module says of itself and of what it receives, and why it may receive nothing."""
    words = f"module {path['condition']}"
    if path["loss_db"] is not None:
        ber = "-" if path["ber"] is None else display_value("ber", path["ber"])
        words += f", path loss {display_value('loss_db', path['loss_db'])} dB, BER {ber}"
    if path["far_condition"] == "failed":
        words += "; the far end's module has failed"
    for which, whose in (("impairment", "it"), ("far_impairment", "the far end")):
        if (path.get(which) or {}).get("worked_on"):
            words += f"; a technician has {whose} in hand"
    return words


def _end(name: str, chip: Mapping[str, Any]) -> list[str]:
    face, index = name.split("/")[2:]
    return [
        f"chip      ({chip['x']}, {chip['y']}, {chip['z']}) of {chip['cube']}",
        f"face      {face}, index {index}: {name}",
    ]


def _strand(end: str, strand: Mapping[str, Any]) -> str:
    """One strand into the OCS and out again, or straight on: strand 0 of a + face enters at the North, that
    of a − face at the South, and strand 1 the other way round."""
    name = f"strand {strand['strand']}"
    if strand["ocs"] is None:
        return f"{name} ──"
    at_north = end.split("/")[2].startswith("+") == (strand["strand"] == 0)
    sides = ("north", "south") if at_north else ("south", "north")
    first, last = (_port(strand, side) for side in sides)
    if last is None:
        return f"{name} ── {first} {strand['ocs']}, no circuit made"
    return f"{name} ── {first} {strand['ocs']} {last} ──"


def _port(strand: Mapping[str, Any], side: str) -> str | None:
    """Where the fibre is on this side, None if nothing leads there."""
    if strand[side] is None:
        return None
    letter, spare = side[0].upper(), strand.get(f"{side}_spare")
    port = f"{letter}{strand[side]}"
    return port if spare is None else patched_port(port, f"{letter}{spare}")
