"""Converts a service's state to named byte strings and back, exactly.

Arrays are stored as raw buffers, everything else as JSON through pydantic. A table is stored row by row,
under `name/key`, with its key order under `name`, so a loaded table iterates like the original.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import lru_cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt
import orjson
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from shared.basics.errors import LogDamaged
from shared.engine.dispatch import ServiceInstance
from shared.engine.service import AnyService
from shared.engine.state import State, StateT, stored_fields

COUNTERS = "_counters"
"""The stored field with the counters of the service itself: messages read, messages emitted, and Ticks."""


@dataclass(frozen=True, slots=True)
class FieldCodec:
    """How one field of a state is stored. For a table, `encode` and `decode` are those of a row."""

    kind: str
    """`array`, `table` or `value`."""
    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]
    key: type = str


def codecs(state_type: type[State]) -> dict[str, FieldCodec]:
    """Stored field → its codec, from the type hints of the state; in order of declaration."""
    return _codecs(state_type)


def _codecs_by_hints(state_type: type[State]) -> dict[str, FieldCodec]:
    hints = get_type_hints(state_type, include_extras=True)
    return {name: _codec(hints[name]) for name in stored_fields(state_type)}


_codecs: Callable[[Any], dict[str, FieldCodec]] = lru_cache(maxsize=256)(_codecs_by_hints)


def _codec(hint: Any) -> FieldCodec:
    plain = _without_annotation(hint)
    origin = get_origin(plain) or plain
    if origin is np.ndarray:
        return FieldCodec("array", encode_array, decode_array)
    if origin is dict:
        key, row = get_args(plain)
        encode, decode = _json(row)
        return FieldCodec("table", encode, decode, key)
    return FieldCodec("value", *_json(hint))


def _json(hint: Any) -> tuple[Callable[[Any], bytes], Callable[[bytes], Any]]:
    # Pydantic accepts a configuration for plain types only, and passes it to the records inside. So a record
    # is wrapped into "or None"; models have their own configuration.
    plain = _without_annotation(hint)
    model = isinstance(plain, type) and issubclass(plain, BaseModel)
    config = None if model else ConfigDict(ser_json_inf_nan="constants")
    adapter: TypeAdapter[Any] = TypeAdapter(hint | None if is_dataclass(plain) else hint, config=config)
    return adapter.serializer.to_json, adapter.validator.validate_json


def _without_annotation(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def encode_array(array: npt.NDArray[Any]) -> bytes:
    """dtype and shape as a line of JSON, then the elements in C order."""
    head = json.dumps([array.dtype.str, list(array.shape)]).encode()
    return head + b"\n" + np.ascontiguousarray(array).tobytes()


def decode_array(data: bytes) -> npt.NDArray[Any]:
    head, _, elements = data.partition(b"\n")
    dtype, shape = json.loads(head)
    return np.frombuffer(elements, dtype=np.dtype(dtype)).reshape(shape).copy()


def row_field(name: str, key: object) -> str:
    """The stored field of one row of a table."""
    return f"{name}/{key}"


def encode_order(table: Mapping[Any, Any]) -> bytes:
    """The stored field of a table itself: its keys in order."""
    return orjson.dumps(list(table))


def encode_state(state: State) -> dict[str, bytes]:
    """Every stored field of a state."""
    found: dict[str, bytes] = {}
    for name, codec in codecs(type(state)).items():
        value = getattr(state, name)
        if codec.kind == "table":
            found[name] = encode_order(value)
            found.update({row_field(name, key): codec.encode(row) for key, row in value.items()})
        else:
            found[name] = codec.encode(value)
    return found


def decode_state(
    state_type: type[StateT],
    stored: Mapping[str, bytes],
    known: tuple[StateT, Mapping[str, bytes]] | None = None,
) -> StateT:
    """The state with these stored fields; LogDamaged names a field that is missing or unreadable. `known` is
    an earlier state with its stored fields: the values of equal fields are shared with it."""
    values: dict[str, Any] = {}
    name = ""
    try:
        for name, codec in codecs(state_type).items():
            if codec.kind == "table":
                keys = [codec.key(key) for key in orjson.loads(stored[name])]
                values[name] = _decode_table(name, codec, keys, stored, known)
            elif known is not None and known[1].get(name) == stored[name]:
                values[name] = getattr(known[0], name)
            else:
                values[name] = codec.decode(stored[name])
    except (KeyError, TypeError, ValueError) as error:
        raise _unreadable(state_type, name, error) from None
    positional = {f.name: values[f.name] for f in fields(state_type) if f.init and f.name in values}
    return state_type(**positional)


def _decode_table(
    name: str,
    codec: FieldCodec,
    keys: Iterable[Any],
    stored: Mapping[str, bytes],
    known: tuple[State, Mapping[str, bytes]] | None,
) -> dict[Any, Any]:
    if known is None:
        return {key: codec.decode(stored[row_field(name, key)]) for key in keys}
    table: dict[Any, Any] = {}
    rows, before = getattr(known[0], name), known[1]
    for key in keys:
        text = stored[field := row_field(name, key)]
        table[key] = rows[key] if before.get(field) == text else codec.decode(text)
    return table


def _unreadable(state_type: type[State], name: str, error: Exception) -> LogDamaged:
    problem = error.errors()[0]["msg"] if isinstance(error, ValidationError) else repr(error)
    return LogDamaged(
        f"stored state {state_type.__name__}: field {name} is missing or unreadable ({problem}); "
        "`lightwave up --rebuild` rebuilds it from the log"
    )


def encode_instance(instance: ServiceInstance) -> dict[str, bytes]:
    """Every stored field of a service's state for one fabric, with its counters; empty before
    commissioning."""
    if instance.state is None:
        return {}
    return encode_state(instance.state) | {COUNTERS: encode_counters(instance)}


def encode_counters(instance: ServiceInstance) -> bytes:
    """The counters of a service instance as they are stored."""
    counters = {
        "seen": instance.seen,
        "emitted": instance.emitted,
        "ticks": instance.ticks,
        "ticked_us": instance.ticked_us,
        "due_us": instance.due_us,
        "begun_us": instance.begun_us,
    }
    return orjson.dumps(counters, option=orjson.OPT_SORT_KEYS)


def restore_instance(
    service: AnyService,
    fabric: str,
    stored: Mapping[str, bytes],
    known: tuple[ServiceInstance, Mapping[str, bytes]] | None = None,
) -> ServiceInstance:
    """The service instance with these stored fields; without a state if there are none. With `known`, an
    earlier instance with its stored fields, values that did not change are shared with it: then neither must
    be changed."""
    if not stored:
        return ServiceInstance(service, fabric)
    before = known[0].state if known is not None else None
    state = decode_state(service.state, stored, (before, known[1]) if known and before is not None else None)
    try:
        return ServiceInstance(service, fabric, state=state, **orjson.loads(stored[COUNTERS]))
    except (KeyError, TypeError, ValueError) as error:
        raise _unreadable(service.state, COUNTERS, error) from None


def state_digest(states: Iterable[tuple[str, Mapping[str, bytes]]]) -> str:
    """SHA-256 over the names and stored fields of some states, both in sorted order."""
    digest = hashlib.sha256()
    for name, stored in sorted(states, key=lambda pair: pair[0]):
        for field in sorted(stored):
            for part in (name.encode(), field.encode(), stored[field]):
                digest.update(len(part).to_bytes(8, "little"))
                digest.update(part)
    return digest.hexdigest()
