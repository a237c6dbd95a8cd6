"""A service that stopped because it failed on a message.

Later records wait behind that message. A `MessageSkipped` among them is an operator's order that lets the
service of one fabric skip it.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from schemas.messages.sequencer import MessageSkipped
from schemas.registry import Unreadable
from shared.basics.errors import ServiceFailed
from shared.runtimes.live.kafka.layout import TYPE
from shared.runtimes.live.kafka.records import SKIP_TYPE, Record, open_record

PENDING_MAX = 100_000
"""Records that may wait behind the message; the sequencer writes no more than one cascade."""


@dataclass(frozen=True, slots=True)
class ServiceStop:
    """Where and why a service stopped: at this offset, in its instance of this fabric."""

    offset: int
    fabric: str
    message_id: str
    sentence: str

    def note(self) -> str:
        """The encoding in the store, for the sequencer and for status commands."""
        return json.dumps(asdict(self))


class StopTracker:
    """Tracks one service in one partition: where it stopped, which records wait, and what it skips."""

    def __init__(self, service: str, twin: str) -> None:
        self.stopped: ServiceStop | None = None
        self.waiting: list[Record] = []
        self.skips: set[tuple[int, str]] = set()
        """(offset, fabric) of messages that an operator lets this service skip."""
        self._service = service
        self._twin = twin

    def clear(self) -> None:
        """Forget everything; it is found again from the store and the log."""
        self.stopped = None
        self.waiting = []
        self.skips = set()

    def stop(self, stopped: ServiceStop, records: Sequence[Record]) -> None:
        """Stop at the first of these records; all of them wait."""
        self.stopped = stopped
        self.waiting = []
        self.add_waiting(records)

    def add_waiting(self, records: Sequence[Record]) -> None:
        """Add records; ServiceFailed if too many wait."""
        self.waiting.extend(records)
        if len(self.waiting) > PENDING_MAX:
            raise ServiceFailed(f"{len(self.waiting)} messages wait behind {self.stopped}")

    def resume(self) -> list[Record]:
        """All waiting records, if one of them skips the message at which the service stopped; else none."""
        stopped = self.stopped
        if stopped is None or not any(self._allows_skip(record, stopped) for record in self.waiting):
            return []
        self.skips.add((stopped.offset, stopped.fabric))
        waiting, self.waiting, self.stopped = self.waiting, [], None
        return waiting

    def _allows_skip(self, record: Record, stopped: ServiceStop) -> bool:
        if record.header(TYPE) != SKIP_TYPE:
            return False
        try:
            message = open_record(record, self._twin)
        except Unreadable:
            return False
        if message is None or not isinstance(message.body, MessageSkipped):
            return False
        named = (message.fabric, message.body.service, message.body.message)
        return named == (stopped.fabric, self._service, stopped.message_id)
