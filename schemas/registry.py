"""Every message type of the twin: by name, with its one writer. The way in and out of bytes."""

import orjson
from pydantic import BaseModel, ValidationError

from schemas import cubes, failures, ocs, operator, repairs, scheduler, sequencer, transceivers, workload
from schemas.body import Body
from schemas.envelope import Envelope

MODULES = (cubes, failures, ocs, operator, repairs, scheduler, sequencer, transceivers, workload)


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


class Unreadable(Exception):
    """A line that is no message of this twin; `str()` is the sentence for the dead letters."""


def encode(envelope: Envelope) -> bytes:
    """One line of JSON, without the newline; fields in the envelope's order. TypeError for a value that JSON
    does not know."""
    return orjson.dumps(envelope.__dict__, default=_fields_of)


def _fields_of(value: object) -> dict[str, object]:
    if isinstance(value, BaseModel):
        return value.__dict__
    raise TypeError(f"{type(value).__name__} is no value of a message")


def writer_of(source: str) -> str:
    """The writing service of a source: `scheduler@pod-0` → scheduler, `operator@pod-0` → operator,
    `tick.ocs@pod-0` and `skip.ocs@pod-0` → sequencer."""
    name = source.split("@", 1)[0].split("/", 1)[0]
    return "sequencer" if name.startswith(("tick.", "skip.")) else name


def decode(line: bytes) -> Envelope:
    """The envelope in one line of JSON; raises Unreadable with one sentence otherwise."""
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
    if writer_of(envelope.source) != model.writer:
        raise Unreadable(f"{envelope.type}: written by {envelope.source!r}, only {model.writer} may")
