"""Commands that only look at things: get, describe, trace."""

from collections.abc import Mapping
from typing import Annotated, Any

import click
import typer

from ops.cli.groups import application
from ops.cli.kinds import table_of
from ops.cli.messages import event_rows
from ops.cli.names import Name, whole
from ops.cli.options import Output, Watch
from ops.cli.output import rendered, show, watched
from ops.cli.types import FieldValue, Kind
from ops.common.client import Client, escape
from ops.common.light_path import unmade
from ops.common.tables import columns, shown
from schemas.kinds import KINDS
from shared.basics.times import moment, span

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
DESCRIPTION = ("object", "related", "events", "events_in_all")
OF_OCSES = ("ocs", "ocs_down", "cross_connects")
"""Fields of a fabric that say nothing of one without OCSes."""
WELL = {
    "ocs": "all up",
    "cubes": "all healthy, none drained",
    "hosts": "all up",
    "links": "none down or degraded",
    "slices": "none waits, is degraded or recovering",
    "faults": "none active",
    "repairs": "none open",
}
"""Section of a description → what it means that nothing is in it."""
SPANS = frozenset({"duration_us", "waited_us", "ran_us", "left_us", "median_us", "p95_us"})
"""Fields that are lengths of time and not points in it."""
SPELT = {"ocs": "OCS", "ber": "BER", "db": "dB"}
"""Words of a field's name that people write otherwise."""


TOP_MAX = 10_000

KindArgument = Annotated[str, typer.Argument(click_type=Kind(), metavar="KIND", help=", ".join(KINDS))]

app = application()


@app.command()
def get(
    kind: KindArgument,
    name: Annotated[
        str | None, typer.Argument(click_type=Name(), metavar="NAME", help="only this one")
    ] = None,
    fabric: Annotated[
        str | None, typer.Option(click_type=Name("fabrics"), help="only of this fabric")
    ] = None,
    state: Annotated[
        list[str] | None, typer.Option(metavar="STATE", help="only in this state; may be repeated")
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            click_type=FieldValue(), metavar="FIELD=VALUE", help="only with this value; may be repeated"
        ),
    ] = None,
    sort: Annotated[
        str | None, typer.Option(metavar="FIELDS", help="such as `ber`; --sort=-ber has the highest first")
    ] = None,
    top: Annotated[int | None, typer.Option(min=1, max=TOP_MAX, metavar="N", help="only the first N")] = None,
    output: Output = "table",
    watch: Watch = False,
) -> None:
    """List things of a KIND, or show one by NAME.

    Fields are those of `-o json`; `null` is no value. `get links --where state=up --sort=-ber --top 5`
    """
    given = {"--fabric": fabric, "--state": state, "--where": where, "--sort": sort, "--top": top}
    if name is not None and (unfit := [option for option, value in given.items() if value]):
        raise click.UsageError(f"{unfit[0]} goes with a whole list, not with a NAME")
    query = {"fabric": fabric, "sort": sort, "limit": top} | values_by_field(state, where)
    if name == "":
        raise click.UsageError(f"NAME '': is empty; without one, `lightwave get {kind}` lists all")
    client = Client()
    path = f"/v1/{kind}/{escape(whole(client, name))}" if name is not None else None

    def look() -> str:
        if path is not None:
            thing = client.thing(path, "name")
            return rendered(thing, output, lambda: _table(client, kind, [thing]))
        things = client.rows(f"/v1/{kind}", "name", **query)
        return rendered(things, output, lambda: _table(client, kind, things))

    watched(look, watch)


def values_by_field(states: list[str] | None, where: list[str] | None) -> dict[str, list[str]]:
    """Field → the values of which a row must have one, from --state and --where."""
    found: dict[str, list[str]] = {"state": states} if states else {}
    for pair in where or ():
        field, _, value = pair.partition("=")
        found.setdefault(field, []).append(value)
    return found


def _table(client: Client, kind: str, rows: list[dict[str, Any]]) -> str:
    if not rows:
        return f"no {kind}"
    now_us = client.thing("/v1/clock", "now_us")["now_us"]
    with client.reading():
        return columns(*table_of(kind, rows, now_us))


@app.command()
def describe(
    kind: KindArgument,
    name: Annotated[str, typer.Argument(click_type=Name(), metavar="NAME", help="such as pod-0/cube-12")],
    output: Output = "table",
    watch: Watch = False,
) -> None:
    """Show one thing, what stands around it, and its last events."""
    client = Client()
    path = f"/v1/describe/{kind}/{escape(whole(client, name))}"

    def look() -> str:
        content = client.thing(path, *DESCRIPTION)
        with client.reading():
            return rendered(content, output, lambda: _described(kind, content))

    watched(look, watch)


def _described(kind: str, content: Mapping[str, Any]) -> str:
    shown = content["object"]
    if kind == "fabrics" and not shown["ocs"]:
        shown = {field: value for field, value in shown.items() if field not in OF_OCSES}
    things = {_title(field): value for field, value in shown.items()}
    widest = max(map(len, things), default=0) + 1
    lines = []
    for (field, value), title in zip(shown.items(), things, strict=True):
        if isinstance(value, list) and value and isinstance(value[0], dict):
            lines += [f"{title}:", *_rows(value)]
        else:
            lines.append(f"{title + ':':<{widest}}  {_value(field, value)}")
    for section, rows in content["related"].items():
        well = f"  {_all_well(kind, section, shown)}"
        lines += [f"{_title(section)}:", *(_rows(rows) if rows else [well])]
    said = len(content["events"])
    told = f" ({said} of {content['events_in_all']})" if said < content["events_in_all"] else ""
    lines.append(f"Last events{told}:")
    lines += [f"  {line}" for line in event_rows(content["events"]).splitlines()]
    return "\n".join(lines)


def _all_well(kind: str, section: str, shown: Mapping[str, Any]) -> str:
    """What an empty list below a title means, which holds only what is not as it should be."""
    if kind == "fabrics" and section in ("ocs", "cubes"):
        return f"{shown[section]}, {WELL[section]}" if shown.get(section) else "none"
    is_whole = (kind, section) in (("slices", "cubes"), ("cubes", "slices"), ("slices", "ocs"))
    return "none" if is_whole else WELL.get(section, "none")


def _rows(rows: list[Any]) -> list[str]:
    """Related things below their title: of objects the plain fields, as a table."""
    if not isinstance(rows[0], dict):
        return [f"  {row}" for row in rows]
    fields = [field for field, value in rows[0].items() if not isinstance(value, list | dict)]
    headers = [field.removesuffix("_us").upper().replace("_", "-") for field in fields]
    table = columns(headers, [[_cell(field, row[field]) for field in fields] for row in rows])
    return [f"  {line}" for line in table.splitlines()]


def _cell(field: str, value: Any) -> object:
    if field.endswith("_us"):
        return span(value) if field in SPANS else moment(value)
    return shown(field, value)


def _word(field: str) -> str:
    return " ".join(SPELT.get(word, word) for word in field.removesuffix("_us").split("_"))


def _title(field: str) -> str:
    words = _word(field)
    return words[:1].upper() + words[1:]


def _value(field: str, value: Any) -> str:
    if value is None or value == []:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if field.endswith("_us"):
        return span(value) if field in SPANS else moment(value)
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{_word(name)} {_cell(name, item)}" for name, item in value.items())
    value = shown(field, value)
    return f"{value:.4f}" if isinstance(value, float) else str(value)


@app.command()
def trace(
    end: Annotated[
        str, typer.Argument(click_type=Name("links"), metavar="END", help="such as pod-0/cube-12/+y/7")
    ],
    output: Output = "table",
) -> None:
    """Show the whole light path from a link END."""
    client = Client()
    content = client.thing(f"/v1/trace/{escape(whole(client, end))}", *PATH_FIELDS)
    with client.reading():
        show(content, output, lambda: _path(content))


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
        return "\n".join([*lines, f"far end   none: {unmade(path)}"])
    return "\n".join([*lines, *reversed(_end(path["far_end"], path["far_chip"]))])


def _condition(path: Mapping[str, Any]) -> str:
    """What the module says of itself and of what it receives, and why it may receive nothing."""
    words = f"module {path['condition']}"
    if path["loss_db"] is not None:
        ber = "-" if path["ber"] is None else shown("ber", path["ber"])
        words += f", path loss {shown('loss_db', path['loss_db'])} dB, BER {ber}"
    return f"{words}; the far end's module has failed" if path["far_condition"] == "failed" else words


def _end(name: str, chip: Mapping[str, Any]) -> list[str]:
    face, index = name.split("/")[2:]
    return [
        f"chip      ({chip['x']}, {chip['y']}, {chip['z']}) of {chip['cube']}",
        f"face      {face}, index {index}: {name}",
    ]


def _strand(end: str, strand: Mapping[str, Any]) -> str:
    """One strand into the OCS and out again, or straight on: + faces enter at the North, − faces at the
    South."""
    name = f"strand {strand['strand']}"
    if strand["ocs"] is None:
        return f"{name} ──"
    sides = ("north", "south") if end.split("/")[2].startswith("+") else ("south", "north")
    first, last = (None if strand[s] is None else f"{s[0].upper()}{strand[s]}" for s in sides)
    if last is None:
        return f"{name} ── {first} {strand['ocs']}, no circuit made"
    return f"{name} ── {first} {strand['ocs']} {last} ──"
