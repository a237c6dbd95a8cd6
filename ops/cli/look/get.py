"""`lightwave get` and `lightwave describe`: lists objects and shows one of them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import click
import typer

from ops.cli.common.command_groups import command_app, examples
from ops.cli.common.event_table import event_rows
from ops.cli.common.field_cells import field_cell, field_title, field_value
from ops.cli.common.kind_tables import kind_table
from ops.cli.common.name_completion import NameParam
from ops.cli.common.options import At, OutputOption, Watch, WideOutput
from ops.cli.common.output import Form, echo, render, watch_loop
from ops.cli.common.param_types import (
    FieldValueParam,
    KindOrNameParam,
    SortOrderParam,
    unknown_name_text,
    unknown_word_text,
)
from ops.cli.common.waiting import check_not_retired, note_retired
from ops.cli.look.reading_tables import (
    NO_ORDER,
    READING_WIDE,
    lane_rows,
    reading_age,
    split_link_order,
    wide_table,
)
from ops.client.answers import CLOCK, ApiPath
from ops.client.http_client import Client, escape_path, row_path, rows_path
from ops.report.light_path_text import patched_port
from ops.report.table_style import current_style
from ops.report.tables import count_text, setting_text, text_table
from ops.requests.name_expansion import without_kind
from ops.requests.object_names import expand_name
from schemas.name_parts import fabric_part
from schemas.resource_kinds import FABRICS, KINDS, LINKS, ResourceKind, RowT, kind_by_name_form
from shared.basics.errors import NotFound
from shared.basics.json_types import JsonObject, JsonValue

if TYPE_CHECKING:
    from schemas.api.descriptions import Description
    from schemas.api.rows import FabricRow, OcsRow

DESCRIPTION = ("object", "related", "events", "events_in_all")
ROWS_MAX = 10
"""Maximum rows of a list in a description on a terminal. The list states how many more there are."""
SECTION_KINDS: Mapping[str, ResourceKind[Any]] = {"partner": LINKS} | KINDS
"""Section of a description → the kind of its rows, whose columns it shows."""
OF_OCSES = ("ocs", "ocs_down", "ocs_held", "ocs_parts_down", "cross_connects")
"""Fields of a fabric that are meaningless without OCSes."""
HEALTHY_TEXT = {
    "ocs": "all up",
    "cubes": "all healthy, none drained",
    "hosts": "all up",
    "links": "none down or degraded",
    "readings": "none: nothing is connected, or there is no telemetry frame yet",
    "slices": "none waits, is degraded or recovering",
    "blocks": "all up",
    "trunks": "none down",
    "rewirings": "none planned or under way",
    "domains": "all have control and power",
    "faults": "none active",
    "verdicts": "none open",
    "repairs": "none open",
}
"""Section of a description → meaning of an empty section."""
LINKS_NOW = "Links of its ends as they are now (Ends and Evidence are of when it was given)"
"""Heading of a verdict's links. Slices may have rewired them since the verdict."""
TOP_MAX = 10_000

KindArgument = Annotated[
    str,
    typer.Argument(
        click_type=KindOrNameParam(needs_name_form=True),
        metavar="KIND",
        help=f"{', '.join(KINDS)}; or the name of one object, such as pod-0/cube-12",
    ),
]

app = command_app()


@app.command(
    epilog=examples("get slices", "get pod-0/cube-12", "get links --where state=up --sort=-ber --top 5")
)
def get(
    kind: KindArgument,
    name: Annotated[
        str | None, typer.Argument(click_type=NameParam(), metavar="NAME", help="show only this object")
    ] = None,
    fabric: Annotated[
        str | None, typer.Option(click_type=NameParam("fabrics"), help="show only objects of this fabric")
    ] = None,
    state: Annotated[
        list[str] | None,
        typer.Option(metavar="STATE", help="show only objects in this state; may be repeated"),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            click_type=FieldValueParam(),
            metavar="FIELD=VALUE",
            help="show only objects that pass this test: FIELD=VALUE, FIELD!=VALUE, 'FIELD>NUMBER' or "
            "'FIELD in [A, B]'; may be repeated",
        ),
    ] = None,
    sort: Annotated[
        str | None,
        typer.Option(
            "--sort",
            "--sort-by",
            click_type=SortOrderParam(),
            metavar="FIELDS",
            help="sort by these fields, such as ber; --sort=-ber sorts the highest first",
        ),
    ] = None,
    top: Annotated[
        int | None, typer.Option(min=1, max=TOP_MAX, metavar="N", help="show only the first N")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="on a terminal, show finished objects as well; a pipe has all")
    ] = False,
    at: At = None,
    output: WideOutput = "table",
    watch: Watch = False,
) -> None:
    """List the objects of a KIND, or show one by NAME.

    --where and --sort take the fields of `-o json`, and every heading. Values are as in JSON or as in the
    table: yes or true, 64 or 64.0, 50%, 2h, 3d02:15. Names may omit their fabric. `null` means no value.

    A terminal shows the columns that fit, and one object as a list. It leaves out finished objects: slices,
    faults, repairs, verdicts, rewirings and fabrics that are over. WAIT-MEDIAN and WAIT-P95 of fabrics are of
    the production and research slices in the queue, not of filler. `-o wide` of links shows what their
    modules read.
    """
    kind, name = _meant_objects(kind, name)
    resources, is_one = KINDS[kind], name is not None
    given = {"--state": state, "--where": where, "--sort": sort, "--top": top}
    if is_one and (unfit := [option for option, value in given.items() if value]):
        raise click.UsageError(f"{unfit[0]} cannot be combined with a NAME")
    tests = [*state_tests(resources, state or ()), *(where or ())]
    is_hidden = None if every or state or where else _hidden_on_terminal(resources)
    query = {"fabric": fabric, "where": tests, "sort": sort, "limit": top if is_hidden is None else None}
    order = split_link_order(query, is_wide=current_style().wide) if kind == "links" else NO_ORDER
    client = Client(at=at)
    full_name = expand_name(client, name, fabric) if name is not None else ""
    path = row_path(resources, full_name) if name is not None else None
    form: Form = "table" if output == "wide" else output
    table = partial(_table, kind=resources, is_one=is_one, keep=_sorted_headings(sort))
    if current_style().wide and kind == "links":
        table = partial(wide_table, order=order)

    def look() -> str:
        if path is not None:
            one = [client.resource(path, "name")]
            return render(one[0], form, lambda: table(client, one))
        rows = client.rows(rows_path(resources), "name", **query)
        shown = [row for row in rows if is_hidden is None or not is_hidden(row)]
        some = shown if is_hidden is None else shown[:top]
        why_empty = _none_text(resources, rows.why_empty, is_empty=not some)
        text = render(some, form, lambda: table(client, some) if some else why_empty)
        return "\n".join([text, *_hidden_note(resources, len(rows) - len(shown))])

    _show_rows(client, look, full_name or fabric, form, watch)


def _meant_objects(word: str, name: str | None) -> tuple[str, str | None]:
    """(kind, name) of the arguments KIND and NAME, of which the first may be a name that shows its kind."""
    if word in KINDS and name == "":
        raise click.UsageError(f"NAME '': is empty; without one, `lightwave get {word}` lists all")
    if word in KINDS:
        return word, name
    if name is not None:
        raise click.UsageError(unknown_word_text("kind", word, tuple(KINDS)))
    return _kind_and_name(word)


def _hidden_on_terminal(kind: ResourceKind[Any]) -> Callable[[Any], bool] | None:
    """Which rows of a kind a terminal leaves out; None if none, or if this is not a terminal."""
    return kind.is_finished if current_style().on_terminal else None


def state_tests(kind: ResourceKind[Any], states: Sequence[str]) -> list[str]:
    """The tests of --state. UsageError, with the option to use, for a kind whose state has another name."""
    if states and "STATE" not in [column.heading for column in kind.columns]:
        field = kind.state_field
        other = f"use --where {field}={states[0]}" if field != "state" else "use --where"
        raise click.UsageError(f"--state {states[0]}: {kind.word} have no field state; {other}")
    return [f"state={state}" for state in states]


def _hidden_note(kind: ResourceKind[Any], hidden: int) -> list[str]:
    """Return a note that finished objects are left out, and how to see them."""
    if not hidden:
        return []
    word = "retired" if kind is FABRICS else "finished"
    return [f"({count_text(hidden, f'{word} {kind.title}', f'{word} {kind.word}')} hidden; --all)"]


def _none_text(kind: ResourceKind[Any], why: str | None, *, is_empty: bool) -> str:
    """Return that a list is empty and, if there can be no such rows, why. With `-o name`, which prints
    nothing then, report it on stderr."""
    text = f"no {kind.word}" if why is None else f"no {kind.word}: {why}"
    if is_empty and current_style().names_only:
        echo(f"lightwave: {text}", to_stderr=True)
    return text


def _table(
    client: Client,
    rows: Sequence[RowT],
    *,
    kind: ResourceKind[RowT],
    is_one: bool,
    keep: Collection[str],
) -> str:
    now_us = client.resource(CLOCK, "now_us").now_us
    with client.reading():
        return kind_table(kind, rows, now_us, as_list=is_one or kind is FABRICS, keep=keep)


def _show_rows(client: Client, look: Callable[[], str], name: str | None, form: Form, watch: bool) -> None:
    """Print rows once, with a note if their fabric has retired, or watch them until it has. `name` is that of
    the fabric or of an object in it; None for all fabrics."""
    fabric = None if name is None else fabric_part(name)

    def look_once() -> str:
        text = look()
        if fabric is not None and form == "table":
            note_retired(client, fabric)
        return text

    watch_loop(look if watch else look_once, watch, lambda: check_not_retired(client, fabric))


def _sorted_headings(sort: str | None) -> frozenset[str]:
    """The headings of the columns by which rows are sorted."""
    names = [name.strip().lstrip("+-").upper().replace("_", "-") for name in (sort or "").split(",")]
    return frozenset(name.removesuffix("-US") for name in names)


@app.command(epilog=examples("describe pod-0/cube-12", "describe slice pod-0/slice-3 --at -2h"))
def describe(
    kind: Annotated[
        str | None,
        typer.Argument(
            click_type=KindOrNameParam(),
            metavar="[KIND]",
            help=f"{', '.join(KINDS)}; may be omitted if the name shows it",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Argument(click_type=NameParam(), metavar="NAME", help="such as pod-0/cube-12"),
    ] = None,
    at: At = None,
    output: OutputOption = "table",
    watch: Watch = False,
) -> None:
    """Show one object, related objects and its last events."""
    if kind is None:
        raise click.UsageError("Missing argument 'NAME'.")
    if name is None:
        kind, name = _kind_and_name(kind)
    elif kind not in KINDS:
        raise click.UsageError(unknown_word_text("kind", kind, tuple(KINDS)))
    client = Client(at=at)
    full_name = expand_name(client, name)
    path: ApiPath[Description[Any, Any]] = ApiPath(f"/v1/describe/{kind}/{escape_path(full_name)}")

    def look() -> str:
        content = client.resource(path, *DESCRIPTION)
        if current_style().names_only:
            return str(content.object.name)

        def now_us() -> int:
            return client.resource(CLOCK, "now_us").now_us

        with client.reading():
            return render(content, output, lambda: _description_text(kind, content, now_us))

    def look_once() -> str:
        text = look()
        if output == "table" and kind != FABRICS.word:
            note_retired(client, fabric_part(full_name))
        return text

    watch_loop(look if watch else look_once, watch, lambda: check_not_retired(client, fabric_part(full_name)))


def _kind_and_name(word: str) -> tuple[str, str]:
    """(kind, name) if the user gave one word: a name, which shows its kind."""
    if word in KINDS:
        raise click.UsageError("Missing argument 'NAME'.")
    word = without_kind(word)
    found = kind_by_name_form(word)
    if (found is None and "/" in word) or word.startswith("batch-"):
        raise NotFound(unknown_name_text(word))
    if found is None:
        near = unknown_word_text("kind", word, tuple(KINDS))
        raise click.UsageError(f"{near}; names are like pod-0/cube-12 or dcn-0/block-3/trunk-7")
    return found.word, word


def _description_text(kind: str, content: "Description[Any, Any]", now_us: Callable[[], int] = int) -> str:
    """The fields of the object, a list for each kind of related objects, and the last events. `now_us`
    returns the current time."""
    shown: JsonObject = dict(content.object)
    if kind == "fabrics":
        shown = _fabric_fields(content.object)
    if kind == "ocs":
        shown = _ocs_fields(content.object)
    things = {field_title(field): value for field, value in shown.items()}
    widest = max(map(len, things), default=0) + 1
    lines = []
    for (field, value), title in zip(shown.items(), things, strict=True):
        if isinstance(value, list) and value and isinstance(value[0], dict):
            lines += [f"{title}:", *_rows(field, value, now_us)]
        elif isinstance(value, dict) and any(isinstance(item, dict) for item in value.values()):
            lines += [
                f"{title}:",
                *(
                    line
                    for name, item in value.items()
                    for line in current_style().entry(f"  {field_title(name)}:  ", field_value(name, item))
                ),
            ]
        else:
            lines += current_style().entry(f"{title}:", field_value(field, value), widest + 2)
    for section, rows in dict(content.related).items():
        if rows is None:  # a fabric of this kind has none
            continue
        well = f"  {_empty_section_text(kind, section, shown)}"
        listed = lane_rows(rows) if section == "readings" else _others(kind, section, rows, content)
        if section == "parameters":
            listed = [
                {**row, **{name: setting_text(row[name]) for name in ("value", "commissioned")}}
                for row in rows
            ]
        title = LINKS_NOW if (kind, section) == ("verdicts", "links") else field_title(section)
        if section == "readings" and rows:
            title = f"Readings, taken at {reading_age(rows, now_us())}"
        well = "  no others" if section == kind else well
        lines += [f"{title}:", *(_rows(section, listed, now_us) if listed else [well])]
    shown_count, count = len(content.events), content.events_in_all
    count_text = f" ({shown_count} of {count})" if shown_count < count else ""
    lines.append(f"Last events{count_text}:")
    lines.append(event_rows(content.events, indent=2))
    return "\n".join(lines)


def _ocs_fields(ocs: "OcsRow") -> JsonObject:
    """The fields of an OCS with its ports in words, and its circuits without the fields of the other kind of
    fabric: slices, or blocks."""
    is_network = any(row.north_block for row in ocs.circuits)
    other = ("slice",) if is_network else ("north_block", "south_block")
    north, south = ocs.spares_left
    return dict(ocs) | {
        "circuits": [
            {field: value for field, value in dict(row).items() if field not in other} for row in ocs.circuits
        ],
        "patches": [patched_port(patch.port, patch.spare) for patch in ocs.patches],
        "spares_left": f"{north} North, {south} South",
    }


def _fabric_fields(fabric: "FabricRow") -> JsonObject:
    """The fields of a fabric without those that its kind does not have, which are null, or 0 for OCSes."""
    of_any = {"retired_us"} if fabric.slices is None else {"retired_us", "waits"}
    absent = () if fabric.ocs else OF_OCSES
    return {
        field: value
        for field, value in dict(fabric).items()
        if field not in absent and (value is not None or field in of_any)
    }


def _empty_section_text(kind: str, section: str, shown: Mapping[str, JsonValue]) -> str:
    """Return the meaning of an empty list below a title, because the list contains only exceptions."""
    if kind == "fabrics" and section in ("ocs", "cubes"):
        return f"{shown[section]}, {HEALTHY_TEXT[section]}" if shown.get(section) else "none"
    is_whole = (kind, section) in (("slices", "cubes"), ("cubes", "slices"), ("slices", "ocs"))
    return "none" if is_whole else HEALTHY_TEXT.get(section, "none")


def _others(kind: str, section: str, rows: list[Any], content: "Description[Any, Any]") -> list[Any]:
    """The rows of a section without the described object itself."""
    return [row for row in rows if row["name"] != content.object.name] if section == kind else rows


def _rows(section: str, rows: list[Any], now_us: Callable[[], int]) -> list[str]:
    """Format the rows of a section below its title, with the columns of their kind, or else all plain fields.
    A terminal shows only the first few, and how many more there are."""
    if not current_style().on_terminal or len(rows) <= ROWS_MAX:
        return _all_rows(section, rows, now_us)
    more = f"  … and {len(rows) - ROWS_MAX:,} more (-o json has all)"
    return [*_all_rows(section, rows[:ROWS_MAX], now_us), more]


def _all_rows(section: str, rows: list[Any], now_us: Callable[[], int]) -> list[str]:
    if not isinstance(rows[0], dict):
        return [f"  {row}" for row in rows]
    kind = SECTION_KINDS.get(section)
    if kind is not None and kind.state_field in rows[0]:
        return [kind_table(kind, rows, now_us(), indent=2)]
    plain = [[field for field, value in row.items() if not isinstance(value, list | dict)] for row in rows]
    fields = list(dict.fromkeys(field for found in plain for field in found))
    headers = [field.removesuffix("_us").removesuffix("_ppm").upper().replace("_", "-") for field in fields]
    cells = [[field_cell(field, row.get(field)) for field in fields] for row in rows]
    return [text_table(headers, cells, READING_WIDE if section == "readings" else (), indent=2)]
