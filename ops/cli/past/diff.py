"""`lightwave diff`: compares two points in time, field by field."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from ops.cli.common.command_groups import TimeArgumentsCommand, command_app, examples
from ops.cli.common.field_cells import field_cell, field_value
from ops.cli.common.options import OutputOption
from ops.cli.common.output import show
from ops.cli.common.param_types import KindParam
from ops.cli.common.progress import ProgressLine
from ops.client.differences import FieldDifference, compare_times
from ops.client.http_client import Client
from ops.report.table_style import ELLIPSIS, current_style
from ops.report.tables import text_table
from schemas.resource_kinds import KINDS
from shared.basics.time_format import format_time
from shared.basics.time_grammar import NOW

EXIT_DIFFERENT = 1
"""The exit code if anything differs, like that of diff(1) and kubectl."""

COMMON_MIN = 12
"""Minimum length of a common start of two texts that a terminal leaves out."""
CONDITIONS = "conditions"
"""The field with all states of an object so far; the table shows only the last one, with `state`."""

app = command_app()


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
    found: list[FieldDifference] = []
    kinds = KINDS if kind is None else (kind,)
    with ProgressLine(lambda done, _: f"{done:.0f} of {len(kinds)} kinds compared", len(kinds)) as progress:
        for number, differences in enumerate(compare_times(Client(), before, after, kinds), 1):
            found += differences
            progress.report_progress(number)
    show([asdict(row) for row in found], output, lambda: _table(found))
    if found:
        raise typer.Exit(EXIT_DIFFERENT)


def _table(found: Sequence[FieldDifference]) -> str:
    if not found:
        return "nothing differs"
    since = {(row.kind, row.name): row for row in found if row.field == CONDITIONS}
    rows = [
        (row.kind, row.name, *_cells(row, since.get((row.kind, row.name))))
        for row in found
        if row.field != CONDITIONS
    ]
    return text_table(("KIND", "NAME", "FIELD", "BEFORE", "AFTER"), rows, ("KIND",))


def _cells(row: FieldDifference, conditions: FieldDifference | None) -> tuple[object, object, object]:
    """(FIELD, BEFORE, AFTER) of a difference. A state says since when, if the object's `conditions` do."""
    if row.field == "name":
        return "exists", row.before is not None, row.after is not None
    lists = [value for value in (row.before, row.after) if isinstance(value, list)]
    if any(isinstance(item, Mapping) for value in lists for item in value):
        return row.field, *_list_cells(row)
    before, after = (_cell(row.field, value) for value in (row.before, row.after))
    if row.field == "state" and conditions is not None:
        before, after = _since(before, conditions.before), _since(after, conditions.after)
    if current_style().width is not None and isinstance(before, str) and isinstance(after, str):
        before, after = differing_parts(before, after)
    return row.field, before, after


def differing_parts(before: str, after: str) -> tuple[str, str]:
    """Return two texts without the words that both begin with, if these are long: a terminal cuts the end."""
    one, two = before.split(" "), after.split(" ")
    pairs = zip(one, two, strict=False)
    same = next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(two)))
    if len(" ".join(one[:same])) < COMMON_MIN or one == two:
        return before, after
    rests = (" ".join(words[same:]) for words in (one, two))
    first, second = (f"{ELLIPSIS} {rest}".rstrip() for rest in rests)
    return first, second


def _cell(field: str, value: object) -> object:
    """A value as the table shows it."""
    last = field.rpartition(".")[2]
    return field_value(last, value) if isinstance(value, list) else field_cell(last, value)


def _since(state: object, conditions: object) -> object:
    """The state and the time at which it began: `running since 0d06:28:00`."""
    last = conditions[-1] if isinstance(conditions, list) and conditions else None
    if not isinstance(last, Mapping) or last.get("state") != state:
        return state
    return f"{state} since {format_time(last['since_us'])}"


def _list_cells(row: FieldDifference) -> tuple[str, str]:
    """A list of objects, such as circuits, before and after: how many, and how many of them are new."""
    before, after = (list(value) if isinstance(value, list) else [] for value in (row.before, row.after))
    gone = sum(item not in after for item in before)
    new = sum(item not in before for item in after)
    return f"{len(before):,}, {gone:,} of them gone", f"{len(after):,}, {new:,} of them new"
