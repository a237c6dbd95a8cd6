"""Where a service stands because it raised on a message, and what lets it go on.

Records that come meanwhile wait behind the message. A `MessageSkipped` among them says that a person lets the
service of one fabric pass over it.
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
"""Records that wait behind one on which the service raised; the sequencer writes no more than follows from
one root message."""


@dataclass(frozen=True, slots=True)
class ServiceStop:
    """Where and why a service does not go on: at this offset, where its instance of this fabric raised."""

    offset: int
    fabric: str
    message_id: str
    sentence: str

    def note(self) -> str:
        """As the store keeps it, for the sequencer and for people."""
        return json.dumps(asdict(self))


class StopTracker:
    """Of one service in one partition: where it stands, what waits, and what it was let pass over."""

    def __init__(self, service: str, twin: str) -> None:
        self.stopped: ServiceStop | None = None
        self.waiting: list[Record] = []
        self.skips: set[tuple[int, str]] = set()
        """(offset, fabric) that a person lets this service pass over."""
        self._service = service
        self._twin = twin

    def clear(self) -> None:
        """Nothing is known: it must be found out anew."""
        self.stopped = None
        self.waiting = []
        self.skips = set()

    def stop(self, stopped: ServiceStop, records: Sequence[Record]) -> None:
        """Stand at a message; these records wait, the first of them that message."""
        self.stopped = stopped
        self.waiting = []
        self.add_waiting(records)

    def add_waiting(self, records: Sequence[Record]) -> None:
        """More records came; ServiceFailed if too many wait."""
        self.waiting.extend(records)
        if len(self.waiting) > PENDING_MAX:
            raise ServiceFailed(f"{len(self.waiting)} messages wait behind {self.stopped}")

    def resume(self) -> list[Record]:
        """All that waits, if one of the records says that a person lets the service pass over the message on
        which it stands; otherwise nothing."""
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
