"""The port of the inbox: operators' requests on their way to the log, and their idempotency keys.

A key identifies one request in the whole twin, while the request waits and as long as the log contains it. If
a store loses keys, it gets them back from the log (`Inbox.record_logged`): key, requester and comment are in
the body there.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from schemas.body import Body
from schemas.envelope import Envelope
from schemas.messages.sequencer import SequencerBody
from schemas.request_metadata import METADATA_FIELDS, RequestBody, idempotency_key
from shared.basics.errors import InvalidInput, RateLimited
from shared.engine.message_order import Request, request_id
from shared.storage.store.state_store import StateStore

CLAIM_EXPIRES_S = 86_400
"""How long a key stays reserved if its request never reaches the inbox, or is cancelled there."""
FINGERPRINT_DIGITS = 32


@dataclass(frozen=True, slots=True)
class InboxReceipt:
    """`number` is the request's; `repeated` is True if the idempotency key was used before."""

    number: int
    repeated: bool


@dataclass(frozen=True, slots=True)
class KnownRequest:
    """What is stored of a request under its key."""

    partition: int
    number: int
    """Its number in the inbox. For a logged commissioning or retirement of a fabric: the number on the
    log."""
    place: int | None
    """Its position on the log of its partition; None while it waits."""
    mark: str
    """Its fingerprint."""
    fabric: str
    kind: str

    def message_id(self, site: str) -> str:
        """The id of its message on the log, now or later."""
        return request_id(site, self.fabric, self.kind, self.number)


@dataclass(frozen=True, slots=True)
class LoggedRequest:
    """A request on the log of a partition; `place` is its position there."""

    number: int
    place: int
    fabric: str
    body: Body


class CancelOutcome(StrEnum):
    """The result of cancelling a request."""

    DONE = "done"
    TOO_LATE = "too late"
    """The sequencer has taken it and appends it to the log."""
    UNKNOWN = "unknown"
    """No request with this number waits."""


def logged_requests(messages: Iterable[tuple[int, Envelope]]) -> list[LoggedRequest]:
    """The operators' requests among some messages of a log, each with its position."""
    return [
        LoggedRequest(message.seq, place, message.fabric, message.body)
        for place, message in messages
        if isinstance(message.body, RequestBody)
        and (message.body.key is not None or not isinstance(message.body, SequencerBody))
    ]


def fingerprint(fabric: str, body: Body) -> str:
    """A hash that tells whether two requests under one key are the same, whoever sends them and why."""
    text = f"{fabric} {type(body).__name__} {body.model_dump_json(exclude=set(METADATA_FIELDS))}"
    return hashlib.sha256(text.encode()).hexdigest()[:FINGERPRINT_DIGITS]


def key_reused_error(key: str) -> InvalidInput:
    return InvalidInput(f"Idempotency-Key {key!r}: was used for another request; use a new key")


def key_cancelled_error(key: str) -> InvalidInput:
    return InvalidInput(f"Idempotency-Key {key!r}: its request was cancelled; use a new key")


WAITING_MAX = 100
"""Requests of one requester that may wait in one inbox. Requests without a name share one allowance."""
RETRY_AFTER_S = 1


def requester_of(body: Body) -> str:
    """The requester's name in a message; empty if it has none."""
    return (body.asked_by if isinstance(body, RequestBody) else None) or ""


def allowance_error(name: str) -> RateLimited:
    whose = f"of {name}" if name else "without a name"
    return RateLimited(
        f"inbox: {WAITING_MAX} requests {whose} wait already, the maximum; retry when some of them are on "
        "the log",
        RETRY_AFTER_S,
    )


def name_taken_error(fabric: str, site: str) -> InvalidInput:
    return InvalidInput(
        f"name {fabric}: is already a fabric of {site}, or requested as one; fabric names are unique in a "
        "twin and never reused"
    )


class Inbox(Protocol):
    """Operators' requests that wait for their place on the log, by partition, numbered in order of
    arrival."""

    def put(self, partition: int, fabric: str, body: Body) -> InboxReceipt:
        """Number and store a request, in one transaction. If its key was used before for the same request,
        store nothing and return the first number.

        Raises InvalidInput if the key was used for another request of any fabric, or for one that was
        cancelled within a day. Raises InvalidInput, too, if the commissioning of this fabric was put before;
        of several at once, one is stored. Raises RateLimited while WAITING_MAX requests of the same requester
        wait.
        """

    def find_repeat(self, partition: int, fabric: str, body: Body) -> InboxReceipt | None:
        """What `put` would return if the key was used before, else None. Changes nothing."""

    def find(self, key: str) -> KnownRequest | None:
        """The request under a key; None if no such request waits or is on the log."""

    def was_cancelled(self, key: str) -> bool:
        """Whether the request of this key was cancelled within a day."""

    def record_logged(self, partition: int, requests: Sequence[LoggedRequest]) -> None:
        """Record requests that are on the log. Their keys now belong to them. These requests, and others
        under their keys, no longer wait; later numbers are higher. Recording twice changes nothing, and calls
        for one partition may come in any order."""

    def discard_after(self, partition: int, end: Callable[[], int]) -> None:
        """Forget the keys of requests beyond the end of the log, which lost its tail; they may be sent again.
        `end` is called after the keys were read, because the log may grow meanwhile."""

    def raise_last_number(self, partition: int, number: int) -> None:
        """Assign no number up to this one any more; the log uses them."""

    def take(self, partition: int, numbers: Sequence[int]) -> list[int]:
        """Mark requests as about to be appended, so that they cannot be cancelled; returns those that still
        wait."""

    def cancel(self, partition: int, number: int) -> CancelOutcome:
        """Remove a waiting request that was not taken. Its key cannot be used for another request for a
        day."""

    def waiting(self, partition: int, most: int) -> list[Request]:
        """The oldest requests, in order of number."""

    def size(self, partition: int) -> int: ...


class RequestStore(StateStore, Inbox, Protocol):
    """A state store with the inbox of the same partitions."""


def known_request(partition: int, request: LoggedRequest) -> KnownRequest:
    """What is stored of a logged request under its key."""
    return KnownRequest(
        partition,
        request.number,
        request.place,
        fingerprint(request.fabric, request.body),
        request.fabric,
        type(request.body).__name__,
    )


def inbox_numbers(requests: Sequence[LoggedRequest]) -> list[int]:
    """The inbox numbers of logged requests. Commissionings and retirements of fabrics have none on the
    log."""
    return [request.number for request in requests if not isinstance(request.body, SequencerBody)]


def requests_by_key(requests: Sequence[LoggedRequest]) -> list[tuple[str, LoggedRequest]]:
    """The requests that have a key, each with it."""
    return [(key, request) for request in requests if (key := idempotency_key(request.body)) is not None]
