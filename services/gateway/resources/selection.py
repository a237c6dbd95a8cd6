"""Some rows of a list: those with certain values, in an order, a page at a time."""

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
from schemas.names import FABRIC_PATTERN
from services.gateway.resources.status_documents import natural_sort_key
from services.gateway.text.validation_errors import problem_text
from shared.basics.errors import InvalidInput
from shared.basics.parsing import parse_sides
from shared.basics.spelling import truncated
from shared.models.superpod.shapes import shape_text

PAGE_MAX = 10_000
"""Rows of one page."""
PLAIN = (str, int, float, bool)
FINITE = ConfigDict(allow_inf_nan=False)
TWISTED = "_T"
"""Behind the shape of a twisted slice, where it is shown in one word."""
_FABRIC = re.compile(rf"{FABRIC_PATTERN}/")
Order = tuple[tuple[str, int], ...]
"""(column, 1 upwards or −1 downwards), the most significant first."""
Ranks = Sequence[tuple[bool, Any]]
"""What a row is sorted by: (whether there is no value, what it is compared by) by column of an order."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What somebody wants of a list, as text: `where` maps columns to the values of which a row has one,
    `sort` is `-ber` or `state,-requested_us`, `cursor` what the page before ended with."""

    where: Mapping[str, Sequence[str]]
    sort: str | None = None
    limit: int | None = None
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class SelectionPage(Generic[RowT]):
    """Some rows of the `total` that fit; `cursor` leads to those behind, None if there are none."""

    rows: list[RowT]
    total: int
    cursor: str | None


def select(model: type[RowT], rows: Sequence[RowT], selection: Selection) -> SelectionPage[RowT]:
    """The rows that fit, as they are asked for. InvalidInput names what may not be.

    A page begins behind the row with which the one before ended, wherever that row would stand now, so what
    comes and goes meanwhile shifts nothing.
    """
    wanted = {name: values_of(model, name, texts) for name, texts in selection.where.items()}
    order = _order(model, selection.sort)
    fit = [
        (n, row) for n, row in enumerate(rows) if all(has_one_of(row, name, wanted[name]) for name in wanted)
    ]
    ranked = [(_ranks(_key(row, order)), n, row) for n, row in fit]
    if order:

        def compare(one: tuple[Ranks, int, RowT], other: tuple[Ranks, int, RowT]) -> int:
            return _compare(one[0], other[0], order)

        ranked.sort(key=cmp_to_key(compare))
    if selection.cursor is not None:
        values, name = _read_cursor(model, selection.cursor, selection.sort, order)
        behind, place = _ranks(values), _place(rows, name)
        ranked = [one for one in ranked if (_compare(one[0], behind, order), one[1]) > (0, place)]
    page = [row for _, _, row in ranked[: selection.limit]]
    more = len(ranked) > len(page)
    return SelectionPage(page, len(fit), _write_cursor(page[-1], selection.sort, order) if more else None)


def chosen_fields(model: type[Model], text: str) -> tuple[str, ...]:
    """The fields that `name,state` asks for; InvalidInput if there is none of that name."""
    names = tuple(dict.fromkeys(text.split(",")))
    for name in names:
        if name not in model.model_fields:
            allowed = ", ".join(model.model_fields)
            raise InvalidInput(f"fields {truncated(repr(name))}: no such field; allowed are {allowed}")
    return names


def columns(model: type[Model]) -> dict[str, Any]:
    """Field → type of its value, or of the items in its list, for the fields that hold something plain."""
    found = {name: plain_type(field.annotation) for name, field in model.model_fields.items()}
    return {name: kind for name, kind in found.items() if kind is not None}


def plain_type(annotation: Any) -> Any:
    """The type of the plain value, or of those in a list, that a field may hold; None for others."""
    kinds = [kind for kind in get_args(annotation) if kind is not NoneType]
    if get_origin(annotation) is dict:
        return None
    if get_origin(annotation) is tuple:
        return plain_type(kinds[0])
    if annotation in PLAIN or get_origin(annotation) is Literal:
        return annotation
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return None
    return plain_type(kinds[0]) if kinds else None  # one of them, or None


def values_of(model: type[Model], name: str, texts: Sequence[str]) -> frozenset[Any]:
    """The values that texts mean in a column; `null` is no value."""
    if (model, name) == (SliceRow, "shape"):
        return frozenset(_shape(text) for text in texts)
    kind = TypeAdapter(columns(model)[name], config=FINITE)
    return frozenset(None if text == "null" else value_of(kind, name, text) for text in texts)


def _shape(text: str) -> str:
    """A shape as rows have it; with `_T` behind it, as tables show it, only of twisted slices."""
    sides = parse_sides(text.removesuffix(TWISTED))
    if sides is None:
        raise InvalidInput(
            f"shape {truncated(repr(text))}: no shape; allowed are "
            "those like 4x4x8, and 4x4x8_T for twisted ones"
        )
    return shape_text(sides) + (TWISTED if text.endswith(TWISTED) else "")


def value_of(kind: TypeAdapter[Any], name: str, text: str) -> Any:
    """The value that a text means; InvalidInput where it is none of this type."""
    try:
        return kind.validate_strings(text)
    except ValidationError as error:
        raise InvalidInput(f"{name} {truncated(repr(text))}: {problem_text(error.errors()[0])}") from None


def has_one_of(row: Model, name: str, wanted: frozenset[Any]) -> bool:
    """Whether a row has one of these values, alone or in a list; names also without their fabric, as tables
    print them."""
    value = getattr(row, name)
    if name == "shape" and isinstance(row, SliceRow) and row.twisted and value + TWISTED in wanted:
        return True
    return is_one_of(value, wanted)


def is_one_of(value: object, wanted: frozenset[Any]) -> bool:
    """The same of a value by itself."""
    values = value if isinstance(value, tuple) else (value,)
    return any(one in wanted or _short(one) in wanted for one in values)


def _short(value: object) -> object:
    """A name without its fabric; any other value as it is."""
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
                f"sort {truncated(repr(word))}: no such column; allowed "
                f"are {allowed}, downwards with - in front"
            )
        if name in order:
            raise InvalidInput(f"sort {truncated(repr(word))}: this column stands twice; allowed is once")
        order[name] = -1 if word.startswith("-") else 1
    return tuple(order.items())


def _key(row: Model, order: Order) -> list[Any]:
    return [getattr(row, name) for name, _ in order]


def _ranks(values: Sequence[Any]) -> Ranks:
    """The ranks of these values; numbers in names count as numbers."""
    return [(value is None, natural_sort_key(value) if isinstance(value, str) else value) for value in values]


def _compare(one: Ranks, other: Ranks, order: Order) -> int:
    """Below, at or above 0 as the ranks of one row come before, with or behind those of another. What has no
    value comes last, upwards and downwards."""
    for mine, theirs, (_, way) in zip(one, other, order, strict=True):
        if mine == theirs:
            continue
        if mine[0] or theirs[0]:
            return 1 if mine[0] else -1
        return way if mine > theirs else -way
    return 0


def _place(rows: Sequence[Model], name: str) -> float:
    """Where a row stands in the whole list; one that has gone, between those that its name lies between."""
    names = [name_of(row) for row in rows]
    if name in names:
        return names.index(name)
    mark = natural_sort_key(name)
    return sum(natural_sort_key(other) < mark for other in names) - 0.5


def name_of(row: Model) -> str:
    """Every row has a name, of which their common base knows nothing."""
    name: str = vars(row)["name"]
    return name


def _write_cursor(row: Model, sort: str | None, order: Order) -> str:
    """The cursor behind a row."""
    mark = [sort, _key(row, order), name_of(row)]
    return base64.urlsafe_b64encode(json.dumps(mark, separators=(",", ":")).encode()).decode().rstrip("=")


def _checked(annotation: Any, value: object) -> Any:
    """The value, if a field of this type can hold it; ValidationError otherwise."""
    return TypeAdapter(annotation).validate_python(value)


def _read_cursor(model: type[Model], cursor: str, sort: str | None, order: Order) -> tuple[list[Any], str]:
    """(the sorted columns, the name) of the row that a cursor stands behind. Anybody can write one: what it
    holds is checked as the columns are."""
    try:
        mark = json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True))
        same_sort, values, name = mark
        values = [
            _checked(model.model_fields[column].annotation, value)
            for (column, _), value in zip(order, values, strict=True)
        ]
    except (binascii.Error, ValueError, TypeError, RecursionError):
        same_sort, values, name = None, None, None
    if values is None or same_sort != sort or not isinstance(name, str):
        raise InvalidInput(f"cursor {truncated(repr(cursor))}: not one that this list gave in this order")
    return values, name
