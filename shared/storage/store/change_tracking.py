"""Finds what changed in a state since its last commit.

Records are frozen, so a row that is still the same object has not changed; the same is true for plain values.
Only arrays change in place, and are compared with their bytes at the last commit. A comparison by value would
fail: NaN always differs, and −0.0 equals 0.0.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import compress, filterfalse, islice, repeat
from operator import is_not
from typing import Any

import numpy as np
import numpy.typing as npt

from shared.engine.dispatch import ServiceInstance
from shared.engine.message_order import ServiceProgress
from shared.engine.service import DocumentKey
from shared.engine.state import State
from shared.engine.state_codec import (
    COUNTERS,
    FieldCodec,
    codecs,
    encode_array,
    encode_counters,
    encode_instance,
    encode_order,
    row_field,
)
from shared.storage.store.state_store import DocumentChange, StateChange

_MISSING = object()


@dataclass(frozen=True, slots=True)
class _Array:
    """An array at the last commit."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    elements: bytes

    def is_same(self, array: npt.NDArray[Any]) -> bool:
        return array.shape == self.shape and array.dtype == self.dtype and array.tobytes() == self.elements


def _tracked_value(value: Any, codec: FieldCodec) -> Any:
    if codec.kind == "array":
        return _Array(value.dtype, value.shape, value.tobytes())
    if codec.kind == "table":
        return dict(value)
    return value


def _tracked_values(instance: ServiceInstance) -> dict[str, Any]:
    state = instance.state
    if state is None:
        return {}
    return {name: _tracked_value(getattr(state, name), codec) for name, codec in codecs(type(state)).items()}


class StateTracker:
    """Tracks one service's state for one fabric; starts with what the store has, or with nothing."""

    def __init__(self, stored: ServiceInstance | None = None) -> None:
        self._last = _tracked_values(stored) if stored is not None else {}

    @property
    def is_new(self) -> bool:
        """Whether the store has no state of it yet."""
        return not self._last

    def changes(self, instance: ServiceInstance) -> StateChange | None:
        """The fields to write so that the store has the current state; None before commissioning."""
        state = instance.state
        if state is None:
            return None
        if not self._last:
            self._last = _tracked_values(instance)
            return StateChange(instance.service.name, instance.fabric, encode_instance(instance))
        written = {COUNTERS: encode_counters(instance)}
        removed: list[str] = []
        for name, codec in codecs(type(state)).items():
            value, last = getattr(state, name), self._last[name]
            if codec.kind == "value":
                if value is not last:
                    written[name] = codec.encode(value)
                    self._last[name] = value
            elif codec.kind == "table":
                self._last[name] = _table_changes(name, codec, value, last, written, removed)
            elif not last.is_same(value):
                written[name] = encode_array(value)
                self._last[name] = _tracked_value(value, codec)
        return StateChange(instance.service.name, instance.fabric, written, tuple(removed))


@dataclass(frozen=True, slots=True)
class CommitChanges:
    """What a commit must write of some services' states."""

    states: tuple[StateChange, ...]
    documents: tuple[DocumentChange, ...]
    clocks: tuple[ServiceProgress, ...]


def changes_of(readers: Iterable[ServiceInstance], trackers: dict[str, StateTracker]) -> CommitChanges:
    """The changes of all services that read something since the last commit. `trackers` are by source. A
    service that is not stored yet gets a tracker, and is written completely with all its documents."""
    states: list[StateChange] = []
    documents: list[DocumentChange] = []
    clocks: list[ServiceProgress] = []
    for reader in readers:
        tracker = trackers.setdefault(reader.source, StateTracker())
        is_new = tracker.is_new
        change = tracker.changes(reader)
        if change is not None:
            states.append(change)
        documents.extend(document_changes(reader, everything=is_new))
        clocks.append(service_clock(reader))
    return CommitChanges(tuple(states), tuple(documents), tuple(clocks))


def document_changes(instance: ServiceInstance, *, everything: bool = False) -> list[DocumentChange]:
    """The status documents that changed since the last call, or all of them."""
    state = instance.state
    if state is None:
        return []
    if everything:
        state.changed_documents.update(instance.service.document_keys(state))
    keys = sorted(state.changed_documents)
    state.changed_documents.clear()
    changes = []
    for kind, name in keys:
        text = _document_text(instance, state, (kind, name))
        changes.append(DocumentChange(instance.fabric, kind, name, text, instance.name))
    return changes


def _document_text(instance: ServiceInstance, state: State, key: DocumentKey) -> bytes | None:
    document = instance.service.document(state, key)
    return None if document is None else document.__pydantic_serializer__.to_json(document)


@dataclass(frozen=True, slots=True)
class DocumentDifference:
    """A stored document that its service would not write. Either side is None if there is no document.
    `service` is empty for a document that no service of the fabric has."""

    service: str
    fabric: str
    kind: str
    name: str
    expected: bytes | None
    found: bytes | None


def document_differences(
    instances: Iterable[ServiceInstance],
    stored: Mapping[tuple[str, str], Mapping[str, bytes]],
    *,
    whole: bool,
) -> Iterator[DocumentDifference]:
    """Compare stored documents, (fabric, kind) → name → JSON, with those of the services' states. With
    `whole`, these are all services of their fabrics, and other documents of the fabrics are differences."""
    known: set[tuple[str, str, str]] = set()
    fabrics = set()
    for instance in instances:
        state, fabric = instance.state, instance.fabric
        fabrics.add(fabric)
        keys = () if state is None else sorted({*instance.service.document_keys(state)})
        for kind, name in keys:
            known.add((fabric, kind, name))
            expected = None if state is None else _document_text(instance, state, (kind, name))
            found = stored.get((fabric, kind), {}).get(name)
            if found != expected:
                yield DocumentDifference(instance.name, fabric, kind, name, expected, found)
    for (fabric, kind), rows in sorted(stored.items()):
        for name in sorted(rows):
            if whole and fabric in fabrics and (fabric, kind, name) not in known:
                yield DocumentDifference("", fabric, kind, name, None, rows[name])


def service_clock(instance: ServiceInstance) -> ServiceProgress:
    """The public progress of a service for one fabric."""
    now_us = instance.state.now_us if instance.state is not None else 0
    due_us, ticks = instance.due_us, instance.ticks
    return ServiceProgress(instance.name, instance.fabric, due_us, ticks, now_us, instance.ticked_us)


def _table_changes(
    name: str,
    codec: FieldCodec,
    table: dict[Any, Any],
    last: dict[Any, Any],
    written: dict[str, bytes],
    removed: list[str],
) -> dict[Any, Any]:
    """Collect the differences from `last`, a copy of the table at the last commit; returns the current copy.

    This runs after every root message over tables of hundreds of rows, so the comparison avoids Python loops.
    """
    keys = [*table]
    same_order = keys == [*last]
    before = last.values() if same_order else map(last.get, keys, repeat(_MISSING))
    changed = [*compress(keys, map(is_not, table.values(), before))]
    for key in changed:
        written[row_field(name, key)] = codec.encode(table[key])
    if not same_order:
        gone = len(last) + sum(key not in last for key in changed) - len(table)
        removed.extend(row_field(name, key) for key in islice(filterfalse(table.__contains__, last), gone))
        written[name] = encode_order(table)
        return dict(table)
    last.update({key: table[key] for key in changed})
    return last
