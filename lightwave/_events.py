"""Messages of the log and receipts of requests, as callers see them."""

import json
from dataclasses import dataclass
from typing import Any, Literal

from schemas.body import Body
from schemas.registry import TYPES

MESSAGE_FIELDS = ("id", "type", "fabric", "at_us", "cause", "source", "body", "about", "text")
RECEIPT_FIELDS = ("id", "repeated", "status", "complete", "at_us", "outcome")
"""The fields of each that a twin has to tell."""


@dataclass(frozen=True, slots=True)
class Event:
    """A message of a fabric's log. `at_us` is the simulated time of its site in microseconds, `cause` the id
    of the message that led to this one, None of a root; `about` names all that it is about, `text` says it in
    one line. `body` is as the type has it. `position` is its place on the log, for `subscribe(after=…)`; ""
    where it is not known."""

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


def parse_event(row: dict[str, Any], position: str = "") -> Event:
    """A message as the twin returns it. ValueError, KeyError or TypeError if it is not valid."""
    body = TYPES[row["type"]].model_validate_json(json.dumps(row["body"]))
    given = {name: row[name] for name in MESSAGE_FIELDS if name not in ("body", "about")}
    return Event(**given, body=body, about=tuple(row["about"]), position=position)


def parse_receipt(answer: dict[str, Any]) -> Receipt:
    """The receipt of a request that was not refused. Raises like `parse_event`."""
    if answer["status"] not in ("received", "accepted") or not isinstance(answer["id"], str):
        raise ValueError("it is not a receipt")
    outcome = tuple(parse_event(row) for row in answer["outcome"])
    return Receipt(**{name: answer[name] for name in RECEIPT_FIELDS if name != "outcome"}, outcome=outcome)
