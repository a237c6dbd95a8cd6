"""Messages of the log and receipts of requests, as callers see them."""

import json
from dataclasses import dataclass
from typing import Literal, TypedDict, cast

from schemas.body import Body
from schemas.registry import TYPES
from shared.basics.json_types import JsonObject

MESSAGE_FIELDS = ("id", "type", "fabric", "at_us", "cause", "source", "body", "about", "text")
RECEIPT_FIELDS = ("id", "repeated", "status", "complete", "at_us", "outcome")
"""The fields that an answer must have: those of `MessageFields` and `ReceiptFields`."""


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


class MessageFields(TypedDict):
    """A message in an answer of the twin."""

    id: str
    type: str
    fabric: str
    at_us: int
    cause: str | None
    source: str
    body: JsonObject
    about: list[str]
    text: str


class ReceiptFields(TypedDict):
    """A receipt in an answer of the twin."""

    id: str
    repeated: bool
    status: Literal["received", "accepted"]
    complete: bool
    at_us: int | None
    outcome: list[JsonObject]


def parse_event(answer: JsonObject, position: str = "") -> Event:
    """Parse a message in an answer of the twin. ValueError, KeyError or TypeError if it is not valid."""
    row = cast("MessageFields", answer)
    return Event(
        id=row["id"],
        type=row["type"],
        fabric=row["fabric"],
        at_us=row["at_us"],
        cause=row["cause"],
        source=row["source"],
        body=TYPES[row["type"]].model_validate_json(json.dumps(row["body"])),
        about=tuple(row["about"]),
        text=row["text"],
        position=position,
    )


def parse_receipt(answer: JsonObject) -> Receipt:
    """Parse the receipt of a request that was not refused. Raises like `parse_event`."""
    if answer["status"] not in ("received", "accepted") or not isinstance(answer["id"], str):
        raise ValueError("it is not a receipt")
    row = cast("ReceiptFields", answer)
    return Receipt(
        id=row["id"],
        repeated=row["repeated"],
        status=row["status"],
        complete=row["complete"],
        at_us=row["at_us"],
        outcome=tuple(parse_event(message) for message in row["outcome"]),
    )
