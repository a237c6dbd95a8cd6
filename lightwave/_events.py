"""Messages of the log and receipts of requests, as callers see them."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from schemas.body import Body
from schemas.registry import TYPES

if TYPE_CHECKING:
    from schemas.api.bisect import Bisection
    from schemas.api.requests import RequestReceipt
    from schemas.api.rows import LogMessage

MESSAGE_FIELDS = ("id", "type", "fabric", "at_us", "cause", "source", "body", "about", "text")
RECEIPT_FIELDS = ("id", "repeated", "status", "complete", "at_us", "outcome")
"""The fields that a message and a receipt in an answer must have."""


@dataclass(frozen=True, slots=True)
class Event:
    """A message of a fabric's log.

    - `at_us`: simulated time of its site in microseconds.
    - `cause`: id of the message that caused it; None for a root.
    - `about`: names of the objects that it is about. `text`: a summary in one line.
    - `position`: its place on the log, for `subscribe(after=…)`; "" if it is not known.
    """

    id: str
    type: str
    fabric: str
    at_us: int
    cause: str | None
    source: str
    body: Body
    about: tuple[str, ...]
    text: str
    position: str = ""


@dataclass(frozen=True, slots=True)
class Receipt:
    """The status of a request: `received` and not yet on the log, or `accepted` there at `at_us`. `outcome`
    has the messages that followed at once, and `complete` shows whether these are all. `repeated` shows that
    its key had been used before."""

    id: str
    repeated: bool
    status: Literal["received", "accepted"]
    complete: bool
    at_us: int | None
    outcome: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class ConditionChange:
    """From `event` on, a condition `holds` (is true), or no longer is."""

    holds: bool
    event: Event


@dataclass(frozen=True, slots=True)
class ConditionSearch:
    """When a condition was true between `from_us` and `to_us` of simulated time. `held_at_start` is its value
    at the start. `changes` are all later changes, or only the first one to true. `messages` of the site's log
    were replayed."""

    condition: str
    site: str
    from_us: int
    to_us: int
    held_at_start: bool
    changes: tuple[ConditionChange, ...]
    messages: int

    @property
    def was_true(self) -> bool:
        """Whether the condition was true at any time of the search."""
        return self.held_at_start or bool(self.changes)


def parse_event(message: "LogMessage", position: str = "") -> Event:
    """Parse a message in an answer of the twin, which is a JsonRecord. ValueError, KeyError, TypeError or
    AttributeError if it is not valid."""
    return Event(
        id=message.id,
        type=message.type,
        fabric=message.fabric,
        at_us=message.at_us,
        cause=message.cause,
        source=message.source,
        body=TYPES[message.type].model_validate_json(json.dumps(message.body)),
        about=tuple(message.about),
        text=message.text,
        position=position,
    )


def parse_receipt(answer: "RequestReceipt") -> Receipt:
    """Parse the receipt of a request that was not refused. Raises like `parse_event`."""
    if answer.status not in ("received", "accepted") or not isinstance(answer.id, str):
        raise ValueError("it is not a receipt")
    return Receipt(
        id=answer.id,
        repeated=answer.repeated,
        status=answer.status,
        complete=answer.complete,
        at_us=answer.at_us,
        outcome=tuple(parse_event(message) for message in answer.outcome),
    )


def parse_bisection(answer: "Bisection") -> ConditionSearch:
    """Parse the answer to a whole search. Raises like `parse_event`."""
    if not isinstance(answer.held_at_start, bool) or not isinstance(answer.messages, int):
        raise TypeError("it is not the answer to a search")
    return ConditionSearch(
        condition=answer.condition,
        site=answer.site,
        from_us=answer.from_us,
        to_us=answer.to_us,
        held_at_start=answer.held_at_start,
        changes=tuple([ConditionChange(one.holds, parse_event(one.message)) for one in answer.transitions]),
        messages=answer.messages,
    )
