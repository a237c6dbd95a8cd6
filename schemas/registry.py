"""Registry of all message types by name, with encoding to and decoding from JSON lines."""

import math
from functools import cache
from typing import Any, get_args

import orjson
from pydantic import BaseModel, ValidationError

from schemas.body import Body
from schemas.envelope import Envelope
from schemas.message_writers import may_write, writer_of
from schemas.messages import (
    cubes,
    demands,
    diagnosis,
    drill_requests,
    drills,
    failures,
    jobs,
    ocs,
    operator,
    repairs,
    scheduler,
    sequencer,
    topology,
    traffic,
    transceivers,
    trunks,
    upgrade,
    workload,
)

MODULES = (
    *(cubes, demands, diagnosis, drill_requests, drills, failures, jobs, ocs, operator, repairs),
    *(scheduler, sequencer),
    *(topology, traffic, transceivers, trunks, upgrade, workload),
)


def _types() -> dict[str, type[Body]]:
    found = {
        name: thing
        for module in MODULES
        for name, thing in vars(module).items()
        if isinstance(thing, type) and issubclass(thing, Body) and thing.__module__ == module.__name__
    }
    return {name: found[name] for name in sorted(found) if not name.endswith("Body")}


TYPES: dict[str, type[Body]] = _types()
"""Message type name → body model, in name order."""

REFUSALS: dict[str, type[Body]] = {
    request.__name__: body for body in TYPES.values() for request in body.refuses
}
"""Type of a request → the type that refuses it."""


class Unreadable(Exception):
    """A line that is not a valid message of this twin; `str()` is the sentence for the dead letters."""


def encode(envelope: Envelope) -> bytes:
    """One line of JSON, without the newline; fields in the envelope's order. TypeError for a value that
    JSON cannot express, such as NaN."""
    try:
        return orjson.dumps(envelope.__dict__, default=_fields_of)
    except TypeError as error:
        raise TypeError(f"{envelope.type}: {error.__cause__ or error}") from None


def _fields_of(value: Any) -> dict[str, object]:
    """The fields of the body, and of every model in it; orjson calls this for each."""
    float_fields, optional_fields = _float_and_optional_fields(type(value))  # type: ignore[arg-type]  # mypy takes a class for unhashable
    fields: dict[str, object] = value.__dict__
    for name in float_fields:
        if not _is_finite(fields[name]):
            raise TypeError(f"{name}: {fields[name]} is not a finite number")  # orjson would write null
    if optional_fields:
        return {k: v for k, v in fields.items() if k not in optional_fields or v is not None}
    return fields


@cache
def _float_and_optional_fields(model: type) -> tuple[tuple[str, ...], frozenset[str]]:
    """The fields of a model that may hold a float, and the fields that are left out when unset. They are
    cached per model: few models have any, and checking every message would be wasted work."""
    if not issubclass(model, BaseModel):
        raise TypeError(f"{model.__name__} is not a message value")
    fields = model.model_fields.items()
    floats = tuple(name for name, field in fields if _may_be_float(field.annotation))
    return floats, frozenset(name for name, field in fields if field.exclude_if is not None)


def _may_be_float(annotation: object) -> bool:
    return annotation is float or any(map(_may_be_float, get_args(annotation)))


def _is_finite(value: object) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_finite, value))
    return not isinstance(value, float) or math.isfinite(value)


def decode(line: bytes) -> Envelope:
    """The envelope in one line of JSON; Unreadable with one sentence if it is not valid."""
    try:
        fields = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise Unreadable(f"not JSON: {error}") from None
    if not isinstance(fields, dict):
        raise Unreadable("not a JSON object")
    kind = fields.get("type")
    model = TYPES.get(kind) if isinstance(kind, str) else None
    if model is None:
        raise Unreadable(f"unknown message type {kind!r}")
    try:
        body = model.model_validate_json(orjson.dumps(fields.pop("body", None)))
        envelope = Envelope(body=body, **fields)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "body"
        raise Unreadable(f"{kind}: {where}: {first['msg']}") from None
    except TypeError as error:
        raise Unreadable(f"{kind}: {error}") from None
    _check_consistent(envelope, model)
    return envelope


def _check_consistent(envelope: Envelope, model: type[Body]) -> None:
    if envelope.v != model.version:
        raise Unreadable(f"{envelope.type}: schema version {envelope.v}, this twin reads {model.version}")
    if envelope.id != f"{envelope.source}/{envelope.seq}":
        raise Unreadable(f"{envelope.type}: id {envelope.id!r} is not {envelope.source}/{envelope.seq}")
    if not may_write(writer_of(envelope.source), model):
        raise Unreadable(f"{envelope.type}: written by {envelope.source!r}, only {model.writer} may")
