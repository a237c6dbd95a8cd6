"""Selects rows of a list: by value, sorted, page by page."""

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from typing import Any, Generic

from schemas.api.rows import RowT
from schemas.body import Model
from schemas.resource_kinds import ResourceKind
from services.gateway.resources.field_values import RowField, TextCheck
from services.gateway.resources.row_fields import RowFields
from services.gateway.resources.status_documents import natural_sort_key
from shared.basics.errors import InvalidInput
from shared.basics.field_tests import FieldTest
from shared.basics.spelling import truncated

PAGE_MAX = 10_000
"""Maximum number of rows per page."""
Order = tuple[tuple[RowField, int], ...]
"""(field, 1 ascending or −1 descending), most significant first."""
Ranks = Sequence[tuple[bool, Any]]
"""Sort key of a row, by column of an order: (whether there is no value, what to compare)."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The selection that a client requests, as text."""

    tests: Sequence[FieldTest] = ()
    """What rows must pass; several equalities of one field are met by one of the values."""
    sort: str | None = None
    """Columns such as `-ber` or `state,-requested_us`."""
    limit: int | None = None
    cursor: str | None = None
    """The cursor returned with the previous page."""


@dataclass(frozen=True, slots=True)
class SelectionPage(Generic[RowT]):
    """One page of the `total` matching rows; `cursor` leads to the next page, None if there is none."""

    rows: list[RowT]
    total: int
    cursor: str | None


def select(
    model: type[RowT],
    rows: Sequence[RowT],
    selection: Selection,
    *,
    kind: ResourceKind[RowT] | None = None,
    now_us: int = 0,
    check: TextCheck | None = None,
) -> SelectionPage[RowT]:
    """The requested page of the matching rows at `now_us` of simulated time; raise InvalidInput with the
    invalid value. `kind` is that of the rows, whose columns may be named; `check` refuses texts that no
    row can have.

    A page starts after the last row of the previous page, wherever that row would be now. So rows that come
    and go in the meantime shift nothing.
    """
    fields = RowFields(model, kind, check)
    tests = fields.tests(selection.tests, now_us)
    order = _order(fields, selection.sort)
    matching = [(n, row) for n, row in enumerate(rows) if all(test(row) for test in tests)]
    ranked = [(_ranks(_key(row, order, now_us)), n, row) for n, row in matching]
    if order:

        def compare(one: tuple[Ranks, int, RowT], other: tuple[Ranks, int, RowT]) -> int:
            return _compare(one[0], other[0], order)

        ranked.sort(key=cmp_to_key(compare))
    if selection.cursor is not None:
        values, name = _read_cursor(selection.cursor, selection.sort, order)
        last, place = _ranks(values), _place(rows, name)
        try:
            ranked = [item for item in ranked if (_compare(item[0], last, order), item[1]) > (0, place)]
        except TypeError:  # a list where rows have a value, or the reverse
            raise _invalid_cursor(selection.cursor) from None
    page = [row for _, _, row in ranked[: selection.limit]]
    more = len(ranked) > len(page)
    return SelectionPage(
        page, len(matching), _write_cursor(page[-1], selection.sort, order, now_us) if more else None
    )


def chosen_fields(model: type[Model], text: str) -> tuple[str, ...]:
    """The fields in `name,state`; raise InvalidInput for an unknown field."""
    names = tuple(dict.fromkeys(text.split(",")))
    for name in names:
        if name not in model.model_fields:
            allowed = ", ".join(model.model_fields)
            raise InvalidInput(f"fields {truncated(repr(name))}: no such field; must be one of {allowed}")
    return names


def _order(fields: RowFields, sort: str | None) -> Order:
    order: dict[str, tuple[RowField, int]] = {}
    for word in sort.split(",") if sort is not None else ():
        found = fields.find(word.removeprefix("-"))
        if not found:
            raise InvalidInput(
                f"sort {truncated(repr(word))}: no such column; must be one of "
                f"{', '.join(fields.names)}, descending with a leading -"
            )
        if found[0].name in order:
            raise InvalidInput(f"sort {truncated(repr(word))}: is given twice; must be given once")
        order[found[0].name] = found[0], -1 if word.startswith("-") else 1
    return tuple(order.values())


def _key(row: Model, order: Order, now_us: int) -> list[Any]:
    return [field.sort_key(row, now_us) for field, _ in order]


def _ranks(values: Sequence[Any]) -> Ranks:
    """The sort keys of these values; numbers in names compare as numbers."""
    return [(value is None, natural_sort_key(value) if isinstance(value, str) else value) for value in values]


def _compare(one: Ranks, other: Ranks, order: Order) -> int:
    """Negative, 0 or positive if one row sorts before, with or after another. Rows without a value come last
    in either direction."""
    for mine, theirs, (_, direction) in zip(one, other, order, strict=True):
        if mine == theirs:
            continue
        if mine[0] or theirs[0]:
            return 1 if mine[0] else -1
        return direction if mine > theirs else -direction
    return 0


def _place(rows: Sequence[Model], name: str) -> float:
    """The index of a row in the whole list; for a row that has gone, a number between its
    neighbours by name."""
    names = [name_of(row) for row in rows]
    if name in names:
        return names.index(name)
    state = natural_sort_key(name)
    return sum(natural_sort_key(other) < state for other in names) - 0.5


def name_of(row: Model) -> str:
    """The name of a row. Every row has one, but their base class does not declare it."""
    name: str = vars(row)["name"]
    return name


def _write_cursor(row: Model, sort: str | None, order: Order, now_us: int) -> str:
    """The cursor after a row."""
    state = [sort, _key(row, order, now_us), name_of(row)]
    return base64.urlsafe_b64encode(json.dumps(state, separators=(",", ":")).encode()).decode().rstrip("=")


def _checked(field: RowField, value: object) -> Any:
    """The value, if a row can sort by it; raise ValueError otherwise."""
    if isinstance(value, list):
        return tuple(_checked_item(field, item) for item in value)
    return _checked_item(field, value)


def _checked_item(field: RowField, value: object) -> Any:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is None or (field.is_number and is_number):
        return value
    if field.is_number or not isinstance(value, bool if field.kind is bool and not field.words else str):
        raise ValueError(value)
    return value


def _read_cursor(cursor: str, sort: str | None, order: Order) -> tuple[list[Any], str]:
    """(values of the sort columns, name) of the row of a cursor. Clients can send any text, so the values are
    checked against the columns."""
    try:
        state = json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True))
        same_sort, values, name = state
        values = [_checked(field, value) for (field, _), value in zip(order, values, strict=True)]
    except (binascii.Error, ValueError, TypeError, RecursionError):
        same_sort, values, name = None, None, None
    if values is None or same_sort != sort or not isinstance(name, str):
        raise _invalid_cursor(cursor)
    return values, name


def _invalid_cursor(cursor: str) -> InvalidInput:
    return InvalidInput(
        f"cursor {truncated(repr(cursor))}: must be a cursor returned for this list and sort order"
    )
