"""What changed of a state since it was last committed.

Records are frozen, so a row that is still the same object has not changed; the same holds for plain values.
Only arrays change in place, and are compared with a copy.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from shared.dispatch import Held
from shared.state.codec import (
    BOOK,
    FieldCodec,
    codecs,
    encode_array,
    encode_book,
    encode_held,
    encode_order,
    row_field,
)
from shared.state.store import StateChange


@dataclass(slots=True)
class _Table:
    """The rows as last committed; `ids` and `keys` make the comparison of an unchanged table cheap."""

    rows: dict[Any, Any]
    keys: list[Any]
    ids: list[int]


def _kept(value: Any, codec: FieldCodec) -> Any:
    if codec.kind == "array":
        return value.copy()
    if codec.kind == "table":
        return _Table(dict(value), list(value), [*map(id, value.values())])
    return value


def _keep_all(held: Held) -> dict[str, Any]:
    state = held.state
    if state is None:
        return {}
    return {name: _kept(getattr(state, name), codec) for name, codec in codecs(type(state)).items()}


class Tracker:
    """Follows one service's state for one fabric; begins with what the store holds of it."""

    def __init__(self, held: Held) -> None:
        self._last = _keep_all(held)

    def changes(self, held: Held) -> StateChange | None:
        """What must be stored so that the store holds the present state; None before commissioning."""
        state = held.state
        if state is None:
            return None
        if not self._last:
            self._last = _keep_all(held)
            return StateChange(held.service.name, held.fabric, encode_held(held))
        written = {BOOK: encode_book(held)}
        removed: list[str] = []
        for name, codec in codecs(type(state)).items():
            value, last = getattr(state, name), self._last[name]
            if codec.kind == "value":
                if value is not last:
                    written[name] = codec.encode(value)
                    self._last[name] = value
            elif codec.kind == "table":
                if _is_changed(value, last):
                    _table_changes(name, codec, value, last, written, removed)
                    self._last[name] = _kept(value, codec)
            elif not np.array_equal(value, last):
                written[name] = encode_array(value)
                np.copyto(last, value)
        return StateChange(held.service.name, held.fabric, written, tuple(removed))


def _is_changed(table: dict[Any, Any], last: _Table) -> bool:
    return [*map(id, table.values())] != last.ids or [*table] != last.keys


def _table_changes(
    name: str,
    codec: FieldCodec,
    table: dict[Any, Any],
    last: _Table,
    written: dict[str, bytes],
    removed: list[str],
) -> None:
    rows = last.rows
    missing = object()
    for key, row in table.items():
        if rows.get(key, missing) is not row:
            written[row_field(name, key)] = codec.encode(row)
    removed.extend(row_field(name, key) for key in rows if key not in table)
    if [*table] != last.keys:
        written[name] = encode_order(table)
