"""The envelope around every message of a fabric's log."""

from typing import Annotated, Any, TypedDict

from pydantic import Field, SerializeAsAny

from schemas.body import Body, Model
from schemas.limits import COUNT_MAX
from schemas.names import FabricName

AtUs = Annotated[
    int, Field(ge=0, le=COUNT_MAX, description="simulated time of the fabric's site, in microseconds")
]


class EnvelopeFields(TypedDict):
    """A message as its line of the log says it, not validated. `body` has the fields of its type."""

    id: str
    type: str
    fabric: str
    at_us: int
    cause: str | None
    source: str
    seq: int
    v: int
    body: dict[str, Any]


class Envelope(Model):
    """One message of one fabric's log.

    `id` is `source/seq`, so the same input always yields the same id. `cause` is the id of the message that
    led to this one, null for a root (an operator's request, a Tick, the commissioning).
    """

    id: str
    type: str
    fabric: FabricName
    at_us: AtUs
    cause: str | None
    source: str
    seq: Annotated[int, Field(ge=0, le=COUNT_MAX)]
    v: Annotated[int, Field(ge=1, le=COUNT_MAX)]
    body: SerializeAsAny[Body]


def enclose(body: Body, *, fabric: str, at_us: int, cause: str | None, source: str, seq: int) -> Envelope:
    """The envelope that carries `body`: id, type and version follow from the rest. Not validated: all values
    come from the engine."""
    message = Envelope.__new__(Envelope)
    _set(
        message,
        "__dict__",
        {
            "id": f"{source}/{seq}",
            "type": type(body).__name__,
            "fabric": fabric,
            "at_us": at_us,
            "cause": cause,
            "source": source,
            "seq": seq,
            "v": body.version,
            "body": body,
        },
    )
    _set(message, "__pydantic_fields_set__", _FIELDS)
    _set(message, "__pydantic_extra__", None)
    _set(message, "__pydantic_private__", None)
    return message


_set = object.__setattr__
_FIELDS = set(Envelope.model_fields)
"""Shared by all: an envelope is frozen, and a copy gets its own set."""
