"""Folding a recorded log again: the lab on its root messages, compared with the record message by message.

One mechanism serves four needs: `lab replay`, the audit, recovery after a crash (the tail of the log beyond
the last commit), and rebuilding every state from the log alone. It rests on the sequencer's order being the
lab's order.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from schemas.envelope import Envelope, enclose
from schemas.registry import encode
from schemas.sequencer import FabricCommissioned, MessageSkipped, Tick
from shared.engine.dispatch import ServiceInstance
from shared.engine.fabric import Fabric


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
    """Feeds a fabric the record of its own log. Feed every message in order; the first difference ends it."""

    def __init__(
        self, fabric: Fabric, on_read: Callable[[ServiceInstance, Envelope], None] | None = None
    ) -> None:
        self.fabric = fabric
        self._heard = on_read
        self.pending: deque[Envelope] = deque()
        """What must follow next; empty when the log is quiet."""
        self.repeats = 0
        self._seen = _seen(fabric)

    def feed(self, position: int, message: Envelope) -> Difference | None:
        """One recorded message; None if it is what had to come (or a repeat, which readers drop)."""
        if message.fabric != self.fabric.name:
            return Difference(position, f"a message of {self.fabric.name}", _text(message))
        if message.seq <= self._seen.get(message.source, -1):
            self.repeats += 1
            return None
        self._seen[message.source] = message.seq
        if isinstance(message.body, MessageSkipped):
            # Written whenever a person asked for it; what it did began earlier, with the message it names.
            known = (message.body.service, message.body.message) in self.fabric.skips
            return None if known else Difference(position, "no skip that the fold knows of", _text(message))
        if not self.pending:
            root = self._root(message)
            if isinstance(root, str):
                return Difference(position, root, _text(message))
            self.pending.extend(self.fabric.cascade(root, self._heard))
        expected = self.pending.popleft()
        if expected == message:
            return None
        return Difference(position, _text(expected), _text(message))

    def _root(self, message: Envelope) -> Envelope | str:
        """The root message that had to come now, or in words what it would have been."""
        body = message.body
        commissioned = any(instance.state is not None for instance in self.fabric.instances)
        if isinstance(body, FabricCommissioned):
            return "no second FabricCommissioned" if commissioned else self._as_root(message, at_us=0)
        if not commissioned:
            return "FabricCommissioned"
        due = self.fabric.next_due()
        if isinstance(body, Tick):
            return self.fabric.tick(due) if due else "no Tick: no service is due"
        if body.writer != "operator":
            return _text(self.fabric.tick(due)) if due else "a root message"
        latest_us = due.due_us if due else None
        if message.at_us <= self.fabric.now_us:
            return f"a request later than {self.fabric.now_us} us"
        if latest_us is not None and message.at_us > max(latest_us, self.fabric.now_us + 1):
            return _text(self.fabric.tick(due)) if due else "a root message"
        return self._as_root(message, at_us=message.at_us)

    def _as_root(self, message: Envelope, at_us: int) -> Envelope:
        """The root message with this body, as the sequencer would have written it."""
        name, body = self.fabric.name, message.body
        return enclose(body, fabric=name, at_us=at_us, cause=None, source=message.source, seq=message.seq)


def _seen(fabric: Fabric) -> dict[str, int]:
    """Source → last seq of what a fabric has read and said so far; what will be fed comes after it."""
    seen: dict[str, int] = {}
    for instance in fabric.instances:
        own = (
            {instance.source: instance.said, f"tick.{instance.source}": instance.ticks}
            if instance.state
            else {}
        )
        for source, seq in (*instance.seen.items(), *own.items()):
            seen[source] = max(seq, seen.get(source, -1))
    return seen


def _text(message: Envelope) -> str:
    return encode(message).decode()
