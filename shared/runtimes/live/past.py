"""A partition of the log before the snapshots of its sites: read, and not folded.

What a log makes of a partition beside what snapshots hold is made here: which requests it holds, which lines
nobody could read, where each site begins.
"""

from collections.abc import Iterable, Mapping, Sequence

from schemas.envelope import Envelope
from schemas.registry import Unreadable
from schemas.sequencer import FabricCommissioned, FabricRetired, MessageSkipped
from shared.runtimes.dead_letter import SKIPPED
from shared.runtimes.live.kafka.records import Record, dead_letter, nothing_at, open_record
from shared.runtimes.live.refold import id_of
from shared.runtimes.live.worker.fold import PartitionFold, ServedService
from shared.storage.memory import MemoryStore


class Past:
    """Takes the records of a partition from its beginning on. `sites` has the offset at which each begins,
    `skips` the services that were let pass over a message, by its id; `end` is the offset of the next
    record."""

    def __init__(self, partition: int, twin: str, served: Sequence[ServedService]) -> None:
        self.end = 0
        self.sites: dict[str, int] = {}
        self.skips: dict[str, list[str]] = {}
        self._partition = partition
        self._twin = twin
        self._store = MemoryStore()
        self._folds = [PartitionFold(one, partition, twin, self._store, blind=True) for one in served]
        self._fabrics: set[str] = set()

    def take(self, records: Sequence[Record]) -> list[tuple[int, Envelope]]:
        """The messages among records that follow on one another, each with its place."""
        found: list[tuple[int, Envelope]] = []
        looked_at = [self._looked_at(record, found) for record in records]
        for fold in self._folds:
            fold.take(looked_at)
        self.end = records[-1].offset + 1
        return found

    def letters(self) -> Mapping[int, bytes]:
        """What workers could not read, by offset."""
        return self._store.view(self._partition, 1).dead_letters

    def letters_of_skips(self, before: Iterable[Sequence[Record]]) -> dict[int, bytes]:
        """What services were let pass over of these records."""
        return {
            record.offset: dead_letter(record, service, SKIPPED)
            for batch in before
            for record in batch
            for service in self.skips.get(id_of(record.value), ())
        }

    def _looked_at(self, record: Record, found: list[tuple[int, Envelope]]) -> Record:
        """A record as the folds see it: nothing, if neither who lives there nor a dead letter comes of it."""
        try:
            message = open_record(record, self._twin)
        except Unreadable:
            return record
        if message is None:
            return record
        found.append((record.offset, message))
        body = message.body
        if isinstance(body, FabricCommissioned):
            self._fabrics.add(message.fabric)
            self.sites.setdefault(body.site, record.offset)
            return record
        if isinstance(body, MessageSkipped):
            self.skips.setdefault(body.message, []).append(body.service)
        passes = message.fabric in self._fabrics and not isinstance(body, FabricRetired)
        return nothing_at(record.partition, record.offset) if passes else record
