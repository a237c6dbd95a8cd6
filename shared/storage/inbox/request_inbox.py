"""The port of the inbox: operators' requests on their way to the log, and the keys under which they were
made.

A key is one request in all of a twin. It is known while its request waits, and from then on as long as the
log holds it; whatever a store forgets, it is told again from the log (`Inbox.log_holds`), for key, asker and
comment stand in the body there.
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
from shared.engine.roots import Request, request_id
from shared.storage.store.state_store import StateStore

CLAIM_EXPIRES_S = 86_400
"""How long a key is held for a request that never came into the inbox, or was cancelled there."""
FINGERPRINT_DIGITS = 32


@dataclass(frozen=True, slots=True)
class InboxReceipt:
    """`number` is the request's, and `repeated` says that the idempotency key had been used before."""

    number: int
    repeated: bool


@dataclass(frozen=True, slots=True)
class KnownRequest:
    """What is kept of a request under its key: its number in the inbox (of a fabric's beginning or end that
    the log holds, the one there), its fingerprint, and its place on the log of its partition, None while it
    waits."""

    partition: int
    number: int
    place: int | None
    mark: str
    fabric: str
    kind: str

    def message_id(self, site: str) -> str:
        """The id of the message that it becomes, or became."""
        return request_id(site, self.fabric, self.kind, self.number)


@dataclass(frozen=True, slots=True)
class LoggedRequest:
    """A request that the log of a partition holds, at this place."""

    number: int
    place: int
    fabric: str
    body: Body


class CancelOutcome(StrEnum):
    """What became of the wish to cancel a request."""

    DONE = "done"
    TOO_LATE = "too late"
    """The sequencer has taken it: it is on its way to the log."""
    UNKNOWN = "unknown"
    """None waits under this number."""


def logged_requests(messages: Iterable[tuple[int, Envelope]]) -> list[LoggedRequest]:
    """Those of some messages of a log, each with its place, that somebody asked for."""
    return [
        LoggedRequest(message.seq, place, message.fabric, message.body)
        for place, message in messages
        if isinstance(message.body, RequestBody)
        and (message.body.key is not None or not isinstance(message.body, SequencerBody))
    ]


def fingerprint(fabric: str, body: Body) -> str:
    """What tells whether a request under a used key is the same request, whoever asks and why."""
    text = f"{fabric} {type(body).__name__} {body.model_dump_json(exclude=set(METADATA_FIELDS))}"
    return hashlib.sha256(text.encode()).hexdigest()[:FINGERPRINT_DIGITS]


def key_reused_error(key: str) -> InvalidInput:
    return InvalidInput(f"Idempotency-Key {key!r}: used before for another request; use a new one")


def key_cancelled_error(key: str) -> InvalidInput:
    return InvalidInput(f"Idempotency-Key {key!r}: its request was cancelled; use a new key")


WAITING_MAX = 100
"""Requests of one name that may wait in one inbox; who gives no name shares one allowance with the others."""
RETRY_AFTER_S = 1


def requester_of(body: Body) -> str:
    """The name of who asks, as the message says it; empty where it says none."""
    return (body.asked_by if isinstance(body, RequestBody) else None) or ""


def allowance_error(name: str) -> RateLimited:
    whose = f"of {name}" if name else "without a name"
    return RateLimited(
        f"inbox: {WAITING_MAX} requests {whose} wait already, the most that may; ask again when some are on "
        "the log",
        RETRY_AFTER_S,
    )


def name_taken_error(fabric: str, site: str) -> InvalidInput:
    return InvalidInput(
        f"name {fabric}: is a fabric of {site} already, or asked for as one; names of fabrics are unique in "
        "a twin and never used again"
    )


class Inbox(Protocol):
    """Operators' requests that wait for their place in the log, by partition, numbered as they arrive."""

    def put(self, partition: int, fabric: str, body: Body) -> InboxReceipt:
        """Number and keep a request, in one transaction. Where its key was used before, nothing is kept and
        the first number is returned; a key that was used for another request of any fabric raises
        InvalidInput, and so does one whose request was cancelled within a day. So does the commissioning of a
        fabric that was put here before: of several at once, one is kept.
        AllowanceUsed while WAITING_MAX requests of the same asker wait."""

    def find_repeat(self, partition: int, fabric: str, body: Body) -> InboxReceipt | None:
        """What `put` would answer where the key was used, None where it was not; changes nothing."""

    def find(self, key: str) -> KnownRequest | None:
        """The request under a key; None if there is none that waits or stands on the log."""

    def was_cancelled(self, key: str) -> bool:
        """Whether the request of this key was cancelled within a day."""

    def record_logged(self, partition: int, requests: Sequence[LoggedRequest]) -> None:
        """Learn what the log holds: the keys are those of these requests from now on, as long as they are not
        forgotten; neither they nor others under their keys wait any more; later numbers are higher. To be
        told again changes nothing. Two such calls for one partition may come in any order."""

    def discard_after(self, partition: int, end: Callable[[], int]) -> None:
        """Forget the keys of requests that stood where the log has no place any more: it lost its end, and
        they may be asked for again. `end` tells where it ends, once it is known what was kept: it may
        grow."""

    def raise_last_number(self, partition: int, number: int) -> None:
        """Give no number up to this one any more: the log holds it."""

    def take(self, partition: int, numbers: Sequence[int]) -> list[int]:
        """Those of these requests that still wait, about to be appended: none of them is cancelled any
        more."""

    def cancel(self, partition: int, number: int) -> CancelOutcome:
        """Remove a request that waits and was not taken; its key is not given to another for a day."""

    def waiting(self, partition: int, most: int) -> list[Request]:
        """The oldest requests, in order of number."""

    def size(self, partition: int) -> int: ...


class RequestStore(StateStore, Inbox, Protocol):
    """A state store with the inbox of the same partitions."""


def known_request(partition: int, request: LoggedRequest) -> KnownRequest:
    """What is kept of it under its key."""
    return KnownRequest(
        partition,
        request.number,
        request.place,
        fingerprint(request.fabric, request.body),
        request.fabric,
        type(request.body).__name__,
    )


def inbox_numbers(requests: Sequence[LoggedRequest]) -> list[int]:
    """Their numbers in the inbox, as far as the log tells: a fabric's beginning and end have none there."""
    return [request.number for request in requests if not isinstance(request.body, SequencerBody)]


def requests_by_key(requests: Sequence[LoggedRequest]) -> list[tuple[str, LoggedRequest]]:
    """Those that have a key, each with it."""
    return [(key, request) for request in requests if (key := idempotency_key(request.body)) is not None]
