"""Log order: causes exist, time never runs back, each type has one writer, and no number is skipped."""

from collections.abc import Iterator

from schemas.envelope import Envelope
from schemas.message_writers import writer_of
from schemas.messages.sequencer import FabricCommissioned, Tick
from schemas.registry import TYPES

SITE_WRITERS = ("operator", "upgrade")
"""Writers of root messages whose source is a site, not a fabric."""


class LogOrderChecker:
    """Every message but a root has an earlier message as its cause; ids and time never go back."""

    def __init__(self) -> None:
        self._last_seq: dict[str, int] = {}
        self._now_us = 0

    def see(self, message: Envelope) -> Iterator[str]:
        body = message.body
        root = body.writer in ("sequencer", *SITE_WRITERS)
        if root != (message.cause is None):
            yield "a root message must have no cause, and every other message must have one"
        if message.cause is not None:
            source, _, seq = message.cause.rpartition("/")
            if not seq.isdecimal() or int(seq) > self._last_seq.get(source, -1):
                yield f"its cause {message.cause} is not on the log before it"
        if message.at_us < self._now_us:
            yield f"time runs back from {self._now_us} to {message.at_us}"
        self._now_us = max(self._now_us, message.at_us)
        last = self._last_seq.get(message.source)
        if body.writer == "operator":
            if last is not None and message.seq <= last:
                yield f"number {message.seq} after {last}"
        elif message.seq != (last or 0) + 1:
            yield f"seq {message.seq} of {message.source} after {last}"
        self._last_seq[message.source] = message.seq
        if isinstance(body, Tick) and not body.due_us <= message.at_us:
            yield f"is earlier than its due time {body.due_us}"


class WriterChecker:
    """Every type is written by its one writer, in its own fabric; operator requests, in their site."""

    def __init__(self) -> None:
        self._sites: dict[str, str] = {}

    def see(self, message: Envelope) -> Iterator[str]:
        writer = TYPES[message.type].writer
        if writer_of(message.source) != writer:
            yield f"written by {message.source}; must be written by {writer}"
        if isinstance(message.body, FabricCommissioned):
            self._sites[message.fabric] = message.body.site
        speaks_for = self._sites.get(message.fabric) if writer in SITE_WRITERS else message.fabric
        if message.source.partition("@")[2] != speaks_for:
            yield f"{message.source} writes in {message.fabric}"
