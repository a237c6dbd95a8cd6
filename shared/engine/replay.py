"""Folds a recorded log again: runs the lab on its root messages and compares the output with the record,
message by message.

One mechanism serves four purposes: `lab replay`, the audit, recovery after a crash (the tail of the log
beyond the last commit), and rebuilding every state from the log alone. It relies on the sequencer's order
being the lab's order.
"""

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b

from schemas.envelope import Envelope
from schemas.messages.sequencer import FabricCommissioned, FabricRetired, MessageSkipped, Tick
from schemas.messages.upgrade import Upgraded
from schemas.registry import encode
from shared.engine.code_version import RULES
from shared.engine.dispatch import ServiceInstance
from shared.engine.message_order import (
    RETIREMENT_SEQ,
    Request,
    commissioning_message,
    request_message,
    tick_message,
    tick_source,
    upgrade_message,
)
from shared.engine.request_time import request_time_us
from shared.engine.site import Site

NUMBER_BYTES = DIGEST_BYTES = 8
ROW_BYTES = NUMBER_BYTES + DIGEST_BYTES
"""The stored part of a message that may be repeated: little, because a log has millions."""


@dataclass(frozen=True, slots=True)
class ReplayMismatch:
    """The first difference between the record and the fold. Either side may be missing."""

    position: int
    expected: str | None
    found: str | None

    def __str__(self) -> str:
        expected, found = self.expected or "nothing", self.found or "nothing"
        return f"position {self.position}: expected {expected}, found {found}"


class Replay:
    """Feeds a site the record of its own log. Feed every message in order; the first difference ends it.

    A log on Kafka may contain a message twice, because a restarted writer may write again. Readers drop the
    second one, whatever it contains. If the second differs from the first, a foreign writer wrote it.
    `forged` is the first such place, and the fold continues. For this check, feed it from the start of the
    log. A file with one writer has no repeats (`may_repeat` False): an apparent repeat was written by a
    foreign writer.
    """

    def __init__(
        self,
        site: Site,
        on_delivery: Callable[[ServiceInstance, Envelope], None] | None = None,
        *,
        may_repeat: bool = True,
    ) -> None:
        self.site = site
        self.pending: deque[Envelope] = deque()
        """What must follow next; empty when the site is quiet."""
        self.repeats = 0
        """Messages that readers drop, including forged ones."""
        self.forged: ReplayMismatch | None = None
        self._on_read = on_delivery
        self._may_repeat = may_repeat
        self._seen = _seen(site)
        self._rows: defaultdict[str, bytearray] = defaultdict(bytearray)
        """Source → number and digest of each of its messages, in order of number."""

    def feed(self, position: int, message: Envelope) -> ReplayMismatch | None:
        """Feed one recorded message. Return None if it is the expected one, or one that readers drop."""
        seen = self._seen.get(message.source, -1)
        if message.seq <= seen:
            return self._repeated(position, message, seen)
        self._seen[message.source] = message.seq
        if isinstance(message.body, MessageSkipped):
            return self._skipped(position, message, message.body)
        if isinstance(message.body, Upgraded) and not self.pending:
            return self._upgraded(position, message, message.body)
        if not self.pending:
            root = self._root(message)
            if isinstance(root, str):
                return ReplayMismatch(position, root, _text(message))
            self.pending.extend(self.site.cascade(root, self._on_read))
        expected = self.pending.popleft()
        if expected != message:
            return ReplayMismatch(position, _text(expected), _text(message))
        self._keep(message)
        return None

    def _repeated(self, position: int, message: Envelope, seen: int) -> ReplayMismatch | None:
        """Check a message whose number was there before."""
        if message.fabric not in self.site.fabrics:
            return ReplayMismatch(position, f"a message of site {self.site.name}", _text(message))
        if not self._may_repeat:
            return ReplayMismatch(
                position, f"from {message.source} only numbers above {seen}", _text(message)
            )
        self.repeats += 1
        if isinstance(message.body, MessageSkipped):
            return self._skipped(position, message, message.body)
        if self.forged is None and not self._was_there(message):
            self.forged = ReplayMismatch(
                position, f"{message.id} as it was before, if at all", _text(message)
            )
        return None

    def remember(self, message: Envelope) -> None:
        """Record a message from before the start of this fold, because later messages may repeat it."""
        rows, row = self._rows[message.source], _row(message)
        if self._may_repeat and row[:NUMBER_BYTES] > bytes(rows[-ROW_BYTES:][:NUMBER_BYTES]):
            rows.extend(row)

    def _keep(self, message: Envelope) -> None:
        if self._may_repeat:
            self._rows[message.source].extend(_row(message))

    def _was_there(self, message: Envelope) -> bool:
        """Whether exactly this message was fed before."""
        rows, row = self._rows[message.source], _row(message)

        def row_at(place: int) -> bytes:
            return bytes(rows[ROW_BYTES * place : ROW_BYTES * (place + 1)])

        return row_at(bisect_left(range(len(rows) // ROW_BYTES), row, key=row_at)) == row

    def _skipped(self, position: int, message: Envelope, body: MessageSkipped) -> ReplayMismatch | None:
        """Check a skip. It may be written at any time, but takes effect at the message that it names."""
        known = (message.fabric, body.service, body.message) in self.site.skips
        return (
            None if known else ReplayMismatch(position, "no skip that is unknown to the fold", _text(message))
        )

    def _upgraded(self, position: int, message: Envelope, body: Upgraded) -> ReplayMismatch | None:
        """Check an upgrade. If it changed only the layout of states, nothing changes here. After a change of
        rules, the log continues from states that this fold does not have."""
        expected = upgrade_message(self.site.name, message.fabric, message.seq, body, self.site.now_us)
        if expected != message or message.fabric not in self.site.fabrics:
            return ReplayMismatch(position, _text(expected), _text(message))
        if not body.changed_rules:
            self._keep(message)
            return None
        why = (
            f"this version has rules {RULES}, which are older: only that version can replay what follows"
            if body.after.rules > RULES
            else "what follows is folded from that upgrade's snapshot, which is missing or does not match "
            "the log (`upgrades` in the twin's folder)"
        )
        return ReplayMismatch(
            position,
            f"messages of rules {body.before.rules}",
            f"the upgrade to rules {body.after.rules} by {body.after.software}: {why}",
        )

    def _root(self, message: Envelope) -> Envelope | str:
        """Return the expected root message, or its description."""
        body, site = message.body, self.site
        if isinstance(body, FabricCommissioned):
            return self._commissioning(message, body)
        if message.fabric not in site.fabrics:
            return f"FabricCommissioned of {message.fabric} before"
        if site.has_retired(message.fabric):
            return f"nothing of {message.fabric}, which has retired"
        if isinstance(body, FabricRetired):
            return self._request(message, RETIREMENT_SEQ)
        due = site.earliest()
        if isinstance(body, Tick):
            if due is None:
                return "no Tick: no service is due"
            has_queries = due.service.queries is not None
            return tick_message(due, site.now_us, body.readings if has_queries else None)
        if body.writer != "operator":
            return _text(tick_message(due, site.now_us)) if due else "a root message"
        return self._request(message, message.seq)

    def _commissioning(self, message: Envelope, body: FabricCommissioned) -> Envelope | str:
        """Check a commissioning. The first fabrics of a site start at 0; a later one comes like a request."""
        if body.site != self.site.name:
            return f"a message of site {self.site.name}"
        if message.fabric in self.site.fabrics:
            return "no second FabricCommissioned"
        if not self.site.now_us and message.at_us == 0:
            return commissioning_message(message.fabric, body)
        return self._request(message, 1) if self.site.fabrics else commissioning_message(message.fabric, body)

    def _request(self, message: Envelope, number: int) -> Envelope | str:
        """Return a request at its recorded time, if the rule allows that time. Only the clock at that time
        knew it exactly."""
        due = self.site.earliest()
        due_us = due.due_us if due else None
        if request_time_us(self.site.now_us, message.at_us, due_us) != message.at_us:
            if due and message.at_us > self.site.now_us:
                return _text(tick_message(due, self.site.now_us))
            return f"a request later than {self.site.now_us} us"
        return request_message(self.site.name, Request(number, message.fabric, message.body), message.at_us)


def _seen(site: Site) -> dict[str, int]:
    """Source → last seq of the messages that a site has read and emitted so far; the messages to feed come
    after it."""
    seen: dict[str, int] = {}
    for instance in site.instances:
        own = (
            {instance.source: instance.emitted, tick_source(instance): instance.ticks}
            if instance.state
            else {}
        )
        for source, seq in (*instance.seen.items(), *own.items()):
            seen[source] = max(seq, seen.get(source, -1))
    return seen


def _row(message: Envelope) -> bytes:
    digest = blake2b(encode(message), digest_size=DIGEST_BYTES).digest()
    return message.seq.to_bytes(NUMBER_BYTES) + digest


def _text(message: Envelope) -> str:
    return encode(message).decode()
