"""Answers of the twin, read as the models of `schemas.api` without importing them.

Importing pydantic and the models takes half a second, and a query must not take longer than its answer. So an
answer stays the JSON that it is, and its fields are also attributes. An `ApiPath` names the model of its
answer for the type checker: `client.resource(CLOCK).now_us` is checked against `ClockReport`. At run time,
objects are JsonRecords and arrays are lists.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from schemas.api.requests import RequestReceipt
    from schemas.api.rows import ClockReport, LogMessage

AnswerT = TypeVar("AnswerT")
BodyT = TypeVar("BodyT")

DEFAULTS: dict[str, object] = {
    "asked_by": None,
    "batch": None,
    "batch_verdicts": 0,
    "comment": None,
    "drain_from_us": None,
    "drain_until_us": None,
    "drill": None,
    "far_generation": None,
    "far_impairment": None,
    "impairment": None,
    "job": None,
    "made_by": None,
    "multislice": None,
    "next_drain_from_us": None,
    "next_drain_until_us": None,
    "north_spare": None,
    "note": None,
    "problem": None,
    "reason": None,
    "recent_estimates": None,
    "south_spare": None,
    "target": None,
    "tries": 0,
    "verdict": None,
}
"""Field → its value in an answer that leaves it out, as in the models."""


class JsonRecord(dict[str, Any]):
    """A JSON object whose fields are also attributes. Raises AttributeError for a missing field that has no
    default."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            if name in DEFAULTS:
                return DEFAULTS[name]
            raise AttributeError(f"no field {name!r}") from None


class RowList(list[AnswerT]):
    """The rows of a list. `why_empty`: why there can be none, as a clause; None if there can be some."""

    def __init__(self, rows: Iterable[AnswerT] = (), why_empty: str | None = None) -> None:
        super().__init__(rows)
        self.why_empty = why_empty


@dataclass(frozen=True, slots=True)
class ApiPath(Generic[AnswerT]):
    """A path of the HTTP API. Its answer is an AnswerT, or a list of them."""

    path: str

    def __str__(self) -> str:
        return self.path


@dataclass(frozen=True, slots=True)
class AnswerFields(Generic[AnswerT]):
    """The fields by which an answer is known to be an AnswerT."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MessageType(Generic[BodyT]):
    """A type of message whose body is a BodyT."""

    name: str

    def body(self, message: "LogMessage") -> BodyT | None:
        """Return the body of the message; None if it is of another type."""
        body: Any = message.body
        return body if message.type == self.name else None


def refusal_of(answer: "RequestReceipt") -> str | None:
    """Return why the request was refused, with its id; None if it was not."""
    receipt: Any = answer
    return f"{receipt.reason} ({receipt.id})" if receipt.status == "refused" else None


def with_fields_of(answer: AnswerT, newer: object) -> AnswerT:
    """Return the answer with the fields of a newer one, which replace its own. Both are JsonRecords."""
    earlier: Any = answer
    later: Any = newer
    merged: Any = JsonRecord({**earlier, **later})
    typed: AnswerT = merged
    return typed


CLOCK: "ApiPath[ClockReport]" = ApiPath("/v1/clock")
EVENTS: "ApiPath[LogMessage]" = ApiPath("/v1/events")
NEW_EVENTS: "ApiPath[LogMessage]" = ApiPath("/v1/events/stream")
