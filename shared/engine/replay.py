"""Folding a recorded log again: the lab on its root messages, compared with the record message by message.

One mechanism serves four needs: `lab replay`, the audit, recovery after a crash (the tail of the log beyond
the last commit), and rebuilding every state from the log alone. It rests on the sequencer's order being the
lab's order.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from schemas.envelope import Envelope
from schemas.registry import encode
from schemas.sequencer import FabricCommissioned, FabricRetired, MessageSkipped, Tick
from shared.engine.dispatch import ServiceInstance
from shared.engine.roots import (
    RETIREMENT_SEQ,
    Request,
    commissioning,
    request_of,
    request_time_us,
    tick_of,
    tick_source,
)
from shared.engine.site import Site


@dataclass(frozen=True, slots=True)
class Difference:
    """The first place where the record is not what the fold gives. Either side may be missing."""

    position: int
    expected: str | None
    found: str | None

    def __str__(self) -> str:
        expected, found = self.expected or "nothing", self.found or "nothing"
        return f"position {self.position}: expected {expected}, found {found}"


class Replay:
    """Feeds a site the record of its own log. Feed every message in order; the first difference ends it.

    A log on Kafka may hold a message twice, for a writer that died writes again; readers drop the second. A
    file with one writer holds none (`may_repeat` False): what looks like a repeat was written by a stranger.
    """

    def __init__(
        self,
        site: Site,
        on_read: Callable[[ServiceInstance, Envelope], None] | None = None,
        *,
        may_repeat: bool = True,
    ) -> None:
        self.site = site
        self.pending: deque[Envelope] = deque()
        """What must follow next; empty when the site is quiet."""
        self.repeats = 0
        self._on_read = on_read
        self._may_repeat = may_repeat
        self._seen = _seen(site)

    def feed(self, position: int, message: Envelope) -> Difference | None:
        """One recorded message; None if it is what had to come (or a repeat, which readers drop)."""
        seen = self._seen.get(message.source, -1)
        if message.seq <= seen:
            if message.fabric not in self.site.fabrics:
                return Difference(position, f"a message of site {self.site.name}", _text(message))
            if not self._may_repeat:
                return Difference(
                    position, f"from {message.source} only numbers above {seen}", _text(message)
                )
            self.repeats += 1
            return None
        self._seen[message.source] = message.seq
        body = message.body
        if isinstance(body, MessageSkipped):
            # Written whenever a person asked for it; what it did began earlier, with the message it names.
            known = (message.fabric, body.service, body.message) in self.site.skips
            return None if known else Difference(position, "no skip that the fold knows of", _text(message))
        if not self.pending:
            root = self._root(message)
            if isinstance(root, str):
                return Difference(position, root, _text(message))
            self.pending.extend(self.site.cascade(root, self._on_read))
        expected = self.pending.popleft()
        if expected == message:
            return None
        return Difference(position, _text(expected), _text(message))

    def _root(self, message: Envelope) -> Envelope | str:
        """The root message that had to come now, or in words what it would have been."""
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
            return tick_of(due, site.now_us) if due else "no Tick: no service is due"
        if body.writer != "operator":
            return _text(tick_of(due, site.now_us)) if due else "a root message"
        return self._request(message, message.seq)

    def _commissioning(self, message: Envelope, body: FabricCommissioned) -> Envelope | str:
        """The fabrics that make up a site at its beginning come at 0; one that joins later, as a request."""
        if body.site != self.site.name:
            return f"a message of site {self.site.name}"
        if message.fabric in self.site.fabrics:
            return "no second FabricCommissioned"
        if not self.site.now_us and message.at_us == 0:
            return commissioning(message.fabric, body)
        return self._request(message, 1) if self.site.fabrics else commissioning(message.fabric, body)

    def _request(self, message: Envelope, number: int) -> Envelope | str:
        """A request at its recorded time, which only the clock of then knew, within what the rule allows."""
        due = self.site.earliest()
        due_us = due.due_us if due else None
        if request_time_us(self.site.now_us, message.at_us, due_us) != message.at_us:
            if due and message.at_us > self.site.now_us:
                return _text(tick_of(due, self.site.now_us))
            return f"a request later than {self.site.now_us} us"
        return request_of(self.site.name, Request(number, message.fabric, message.body), message.at_us)


def _seen(site: Site) -> dict[str, int]:
    """Source → last seq of what a site has read and said so far; what will be fed comes after it."""
    seen: dict[str, int] = {}
    for instance in site.instances:
        own = (
            {instance.source: instance.said, tick_source(instance): instance.ticks} if instance.state else {}
        )
        for source, seq in (*instance.seen.items(), *own.items()):
            seen[source] = max(seq, seen.get(source, -1))
    return seen


def _text(message: Envelope) -> str:
    return encode(message).decode()
