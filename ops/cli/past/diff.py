"""`lightwave diff`: compares two points in time, field by field."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated

import typer

from ops.cli.common.command_groups import NOW_MINUS, TimeArgumentsCommand, command_app, examples
from ops.cli.common.options import OutputOption
from ops.cli.common.output import show
from ops.cli.common.param_types import KindParam
from ops.client.http_client import Client, rows_path
from ops.report.tables import display_value, text_table
from schemas.resource_kinds import CLOCK_FIELDS, KINDS, MEAN_FIELDS
from shared.basics.time_format import format_time
from shared.basics.time_grammar import NOW

EXIT_DIFFERENT = 1
"""The exit code if anything differs, like that of diff(1) and kubectl."""

Row = Mapping[str, object]

app = command_app()


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """One field of an object that differs. `before` or `after` is None if the object did not exist, and then
    the field is its name."""

    kind: str
    name: str
    field: str
    before: object
    after: object


@app.command(cls=TimeArgumentsCommand, epilog=examples("diff -2h now slices", "diff 3d 3d12h -o json"))
def diff(
    before: Annotated[
        str,
        typer.Argument(
            metavar="FROM", help="a time, as for `get --at`: -2h is two hours ago, 5d3h since the start"
        ),
    ],
    after: Annotated[str, typer.Argument(metavar="TO", help="another time, or now")] = NOW,
    kind: Annotated[
        str | None,
        typer.Argument(
            click_type=KindParam(), metavar="[KIND]", help=f"compare only this kind: {', '.join(KINDS)}"
        ),
    ] = None,
    output: OutputOption = "table",
) -> None:
    """Compare two points in time, field by field.

    Fields that only time changes are left out. The exit code is 1 if anything differs.
    """
    clients = {text: Client(at=_at(text)) for text in (before, after)}  # equal times are one time
    found: list[FieldDifference] = []
    for word in KINDS if kind is None else (kind,):
        rows, others = (clients[text].rows(rows_path(KINDS[word]), "name") for text in (before, after))
        found += differences(word, rows, others)
    show([asdict(row) for row in found], output, lambda: _table(found))
    if found:
        raise typer.Exit(EXIT_DIFFERENT)


def _at(text: str) -> str:
    return re.sub(f"^{NOW_MINUS}", "-", text)


def differences(kind: str, before: Sequence[Row], after: Sequence[Row]) -> Iterator[FieldDifference]:
    """The differences of objects of one kind, in the order of the lists; removed objects first."""
    was, is_ = ({str(row["name"]): dict(_flat(row)) for row in rows} for rows in (before, after))
    for name in [one for one in was if one not in is_]:
        yield FieldDifference(kind, name, "name", name, None)
    for name, row in is_.items():
        if name not in was:
            yield FieldDifference(kind, name, "name", None, name)
            continue
        for field in dict.fromkeys([*was[name], *row]):
            if was[name].get(field) != row.get(field):
                yield FieldDifference(kind, name, field, was[name].get(field), row.get(field))


def _flat(row: Row, above: str = "") -> Iterator[tuple[str, object]]:
    """The fields of a row, nested ones by their full names, without the fields that time changes."""
    for field, value in row.items():
        if field in CLOCK_FIELDS or field in MEAN_FIELDS:
            continue
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{field}.")
        else:
            yield f"{above}{field}", value


def _table(found: Sequence[FieldDifference]) -> str:
    if not found:
        return "nothing differs"
    rows = [
        (row.kind, row.name, row.field, _cell(row.field, row.before), _cell(row.field, row.after))
        for row in found
    ]
    return text_table(("KIND", "NAME", "FIELD", "BEFORE", "AFTER"), rows)


def _cell(field: str, value: object) -> object:
    """A value as the table shows it."""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if field.endswith("_us") and isinstance(value, int):
        return format_time(value)
    return display_value(field, value)
