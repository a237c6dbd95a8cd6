"""Selects rows of a list: by value, sorted, page by page."""

import base64
import binascii
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from types import NoneType
from typing import Any, Generic, Literal, get_args, get_origin

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from schemas.api.rows import RowT, SliceRow
from schemas.body import Model
from schemas.names import FABRIC_PATTERN, FaultKind
from services.gateway.resources.status_documents import natural_sort_key
from services.gateway.text.validation_errors import problem_text
from shared.basics.errors import InvalidInput
from shared.basics.parsing import parse_sides
from shared.basics.spelling import truncated
from shared.models.superpod.shapes import shape_text

PAGE_MAX = 10_000
"""Maximum number of rows per page."""
PLAIN = (str, int, float, bool, FaultKind)
FINITE = ConfigDict(allow_inf_nan=False)
TWISTED = "_T"
"""Suffix of the shape of a twisted slice, where it is shown in one word."""
_FABRIC = re.compile(rf"{FABRIC_PATTERN}/")
Order = tuple[tuple[str, int], ...]
"""(column, 1 ascending or −1 descending), most significant first."""
Ranks = Sequence[tuple[bool, Any]]
"""Sort key of a row, by column of an order: (whether there is no value, what to compare)."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The selection that a client requests, as text."""

    where: Mapping[str, Sequence[str]]
    """Column → values; a row must have one of them."""
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


def select(model: type[RowT], rows: Sequence[RowT], selection: Selection) -> SelectionPage[RowT]:
    """The requested page of the matching rows; raise InvalidInput with the invalid value.

    A page starts after the last row of the previous page, wherever that row would be now. So rows that come
    and go in the meantime shift nothing.
    """
    wanted = {name: values_of(model, name, texts) for name, texts in selection.where.items()}
    order = _order(model, selection.sort)
    matching = [
        (n, row) for n, row in enumerate(rows) if all(has_one_of(row, name, wanted[name]) for name in wanted)
    ]
    ranked = [(_ranks(_key(row, order)), n, row) for n, row in matching]
    if order:

        def compare(one: tuple[Ranks, int, RowT], other: tuple[Ranks, int, RowT]) -> int:
            return _compare(one[0], other[0], order)

        ranked.sort(key=cmp_to_key(compare))
    if selection.cursor is not None:
        values, name = _read_cursor(model, selection.cursor, selection.sort, order)
        last, place = _ranks(values), _place(rows, name)
        ranked = [item for item in ranked if (_compare(item[0], last, order), item[1]) > (0, place)]
    page = [row for _, _, row in ranked[: selection.limit]]
    more = len(ranked) > len(page)
    return SelectionPage(
        page, len(matching), _write_cursor(page[-1], selection.sort, order) if more else None
    )


def chosen_fields(model: type[Model], text: str) -> tuple[str, ...]:
    """The fields in `name,state`; raise InvalidInput for an unknown field."""
    names = tuple(dict.fromkeys(text.split(",")))
    for name in names:
        if name not in model.model_fields:
            allowed = ", ".join(model.model_fields)
            raise InvalidInput(f"fields {truncated(repr(name))}: no such field; must be one of {allowed}")
    return names


def columns(model: type[Model]) -> dict[str, Any]:
    """Field → type of its value or list items, for fields with plain values."""
    types = {name: plain_type(field.annotation) for name, field in model.model_fields.items()}
    return {name: kind for name, kind in types.items() if kind is not None}


def plain_type(annotation: Any) -> Any:
    """The type of a plain value, or of the items of a list; None for other types."""
    kinds = [kind for kind in get_args(annotation) if kind is not NoneType]
    if get_origin(annotation) is dict:
        return None
    if get_origin(annotation) is tuple:
        return plain_type(kinds[0])
    if annotation in PLAIN or get_origin(annotation) is Literal:
        return annotation
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return None
    return plain_type(kinds[0]) if kinds else None  # the one type next to None


def values_of(model: type[Model], name: str, texts: Sequence[str]) -> frozenset[Any]:
    """The values that texts mean in a column; `null` is no value."""
    if (model, name) == (SliceRow, "shape"):
        return frozenset(_shape(text) for text in texts)
    kind = TypeAdapter(columns(model)[name], config=FINITE)
    return frozenset(None if text == "null" else value_of(kind, name, text) for text in texts)


def _shape(text: str) -> str:
    """A shape as in rows; with the suffix `_T`, as shown in tables, only of twisted slices."""
    sides = parse_sides(text.removesuffix(TWISTED))
    if sides is None:
        raise InvalidInput(
            f"shape {truncated(repr(text))}: must be a shape like 4x4x8, or 4x4x8_T for a twisted one"
        )
    return shape_text(sides) + (TWISTED if text.endswith(TWISTED) else "")


def value_of(kind: TypeAdapter[Any], name: str, text: str) -> Any:
    """The value of a text; raise InvalidInput if it is not of this type."""
    try:
        return kind.validate_strings(text)
    except ValidationError as error:
        problem = problem_text(error.errors()[0])
        raise InvalidInput(f"{name}: {truncated(repr(text))} is not allowed; {problem}") from None


def has_one_of(row: Model, name: str, wanted: frozenset[Any]) -> bool:
    """Whether a row has one of these values, alone or in a list. Names also match without their fabric, as
    tables print them."""
    value = getattr(row, name)
    if name == "shape" and isinstance(row, SliceRow) and row.twisted and value + TWISTED in wanted:
        return True
    return is_one_of(value, wanted)


def is_one_of(value: object, wanted: frozenset[Any]) -> bool:
    """Whether a value, or one of its items, is one of the wanted values."""
    values = value if isinstance(value, tuple) else (value,)
    return any(item in wanted or _short(item) in wanted for item in values)


def _short(value: object) -> object:
    """A name without its fabric; any other value unchanged."""
    fabric = _FABRIC.match(value) if isinstance(value, str) else None
    return value if fabric is None else fabric.string[fabric.end() :]


def _order(model: type[Model], sort: str | None) -> Order:
    order: dict[str, int] = {}
    known = columns(model)
    for word in sort.split(",") if sort is not None else ():
        name = word.removeprefix("-")
        name = f"{name}_us" if name not in known and f"{name}_us" in known else name
        if name not in known:
            allowed = ", ".join(known)
            raise InvalidInput(
                f"sort {truncated(repr(word))}: no such column; must be one of "
                f"{allowed}, descending with a leading -"
            )
        if name in order:
            raise InvalidInput(f"sort {truncated(repr(word))}: is given twice; must be given once")
        order[name] = -1 if word.startswith("-") else 1
    return tuple(order.items())


def _key(row: Model, order: Order) -> list[Any]:
    return [getattr(row, name) for name, _ in order]


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


def _write_cursor(row: Model, sort: str | None, order: Order) -> str:
    """The cursor after a row."""
    state = [sort, _key(row, order), name_of(row)]
    return base64.urlsafe_b64encode(json.dumps(state, separators=(",", ":")).encode()).decode().rstrip("=")


def _checked(annotation: Any, value: object) -> Any:
    """The value, if a field of this type can have it; raise ValidationError otherwise."""
    return TypeAdapter(annotation).validate_python(value)


def _read_cursor(model: type[Model], cursor: str, sort: str | None, order: Order) -> tuple[list[Any], str]:
    """(values of the sort columns, name) of the row of a cursor. Clients can send any text, so the values are
    checked against the columns."""
    try:
        state = json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True))
        same_sort, values, name = state
        values = [
            _checked(model.model_fields[column].annotation, value)
            for (column, _), value in zip(order, values, strict=True)
        ]
    except (binascii.Error, ValueError, TypeError, RecursionError):
        same_sort, values, name = None, None, None
    if values is None or same_sort != sort or not isinstance(name, str):
        raise InvalidInput(
            f"cursor {truncated(repr(cursor))}: must be a cursor returned for this list and sort order"
        )
    return values, name
