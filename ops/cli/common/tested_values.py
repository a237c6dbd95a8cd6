"""The values of fields in reports of conditions, as tables show them."""

from collections.abc import Callable
from typing import Any

from ops.cli.common.field_cells import field_cell
from ops.cli.common.kind_tables import FORMATS
from schemas.resource_kinds import SPAN_FIELDS, CellFormat, Column, find_kind
from shared.basics.field_text import format_percent
from shared.basics.time_format import format_duration
from shared.basics.value_words import read_number

FLAGS = {"true": "yes", "false": "no"}
_LENGTHS: tuple[CellFormat, ...] = ("span", "elapsed", "remaining")
_FORMATS: tuple[CellFormat, ...] = ("time", "share", "whole-share", "fine-share", "gbps", "ber", "loss-db")


def shown_value(word: str, field: str, text: str) -> str:
    """Return the value of a field, or of a column, of a kind of resource (`word`) as `get` shows it: times,
    durations, shares, yes or no. `text` is the value in a report of a condition: a number of microseconds, a
    fraction. A value of another form is unchanged."""
    value = _number(text)
    if value is None:
        return "-" if text == "null" and field == field.upper() else FLAGS.get(text, text)
    shown = _formatter(word, field)(value)
    return text if shown is value else str(shown)


def _number(text: str) -> int | float | None:
    try:
        return int(text)
    except ValueError:
        return read_number(text)


def _formatter(word: str, field: str) -> Callable[[int | float], object]:
    """How a number of this field is shown."""
    leaf = field.rpartition(".")[2]
    name = leaf.lower().replace("-", "_")
    span = next((one for one in (name, f"{name}_us") if one in SPAN_FIELDS), None)
    column = _column(word, leaf)
    form = None if column is None else column.format
    if form in _LENGTHS or (span is not None and (form is None or form == "plain")):
        return lambda value: format_duration(int(value))
    if form == "share-change":
        return format_percent
    if form is not None and form in _FORMATS:
        return lambda value: FORMATS[form](value, 0)
    return lambda value: field_cell(name, value)


def _column(word: str, leaf: str) -> Column[Any] | None:
    """The column of this heading, or of the field of this name with or without the end of its unit."""
    kind = find_kind(word)
    heading = leaf.upper().replace("_", "-")
    wanted = (heading, heading.removesuffix("-US"))
    columns = () if kind is None else kind.columns
    return next((one for one in columns if one.heading in wanted), None)
