"""The tables of `lightwave get`: formats the columns of `schemas.resource_kinds`."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from ops.report.table_style import current_style
from ops.report.tables import Table, display_value, text_table
from schemas.resource_kinds import CellFormat, ResourceKind, RowT
from shared.basics.field_text import format_gbps
from shared.basics.time_format import format_duration, format_time


def kind_table(
    kind: ResourceKind[RowT],
    rows: Sequence[RowT],
    now_us: int,
    *,
    indent: int = 0,
    as_list: bool = False,
    keep: Collection[str] = (),
) -> str:
    """The table of some resources of one kind at `now_us` of simulated time, as text; see `text_table`."""
    wide_only = {column.heading for column in kind.columns if column.wide}
    return text_table(*table_of(kind, rows, now_us), wide_only, indent=indent, as_list=as_list, keep=keep)


def table_of(kind: ResourceKind[RowT], rows: Sequence[RowT], now_us: int) -> Table:
    """The table of some resources of one kind at `now_us` of simulated time, without the columns that none of
    them has, unless the user chose them."""
    chosen = current_style().columns
    columns = [
        column
        for column in kind.columns
        if column.only_if is None or column.heading in chosen or any(map(column.only_if, rows))
    ]
    cells: list[Sequence[object]] = [
        [_cell(column.format, column.value(row), now_us) for column in columns] for row in rows
    ]
    return [column.heading for column in columns], cells


def _cell(name: CellFormat, value: Any, now_us: int) -> object:
    return None if value is None else FORMATS[name](value, now_us)


def _share(digits: int) -> Callable[[float, int], str]:
    return lambda value, _now_us: f"{100 * value:.{digits}f}%"


def _elapsed(span: tuple[int | None, int | None], now_us: int) -> str | None:
    from_us, to_us = span
    return (
        None if from_us is None else format_duration(max(0, (now_us if to_us is None else to_us) - from_us))
    )


def _share_change(shares: tuple[float, float], now_us: int) -> str:
    before, after = (_share(1)(value, now_us) for value in shares)
    return f"{before} → {after}"


def _queue_reason(value: tuple[int | None, str | None, int | None], _now_us: int) -> str | None:
    position, reason, promised_us = value
    if not reason:
        return None
    place = "" if position is None else f"{position} in the queue: "
    return f"{place}{reason}{'' if promised_us is None else f'; starts by {format_time(promised_us)}'}"


FORMATS: dict[CellFormat, Callable[[Any, int], object]] = {
    "plain": lambda value, _: value,
    "list": lambda value, _: ",".join(value),
    "ratio": lambda value, _: "/".join(map(str, value)),
    "time": lambda value, _: format_time(value),
    "span": lambda value, _: format_duration(value),
    "elapsed": _elapsed,
    "remaining": lambda value, now_us: format_duration(value - now_us),
    "share": _share(1),
    "whole-share": _share(0),
    "fine-share": _share(2),
    "share-change": _share_change,
    "gbps": lambda value, _: format_gbps(value),
    "ber": lambda value, _: display_value("ber", value),
    "loss-db": lambda value, _: display_value("loss_db", value),
    "queue-reason": _queue_reason,
}
"""Format → the cell of a value at a time."""
