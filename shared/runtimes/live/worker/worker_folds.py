"""A live worker: the folds of one service over the partitions assigned to its process."""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from shared.basics.errors import StateRefused
from shared.runtimes.live.kafka.records import Record
from shared.runtimes.live.worker.offset_gaps import FillGaps, refuse_gaps
from shared.runtimes.live.worker.partition_fold import FoldCounts, PartitionFold, Publish, ServedService
from shared.runtimes.live.worker.service_stop import ServiceStop
from shared.storage.store.state_digests import StateDigests
from shared.storage.store.state_store import StateStore

log = logging.getLogger("lightwave.live")


@dataclass(frozen=True, slots=True)
class PartitionPosition:
    """A worker's progress in one partition: the last committed or loaded position, and its time by a
    monotonic clock."""

    position: int
    at_s: float
    stopped: ServiceStop | None


class WorkerFolds:
    """The feed of the pump. One thread feeds; any thread may read the progress."""

    def __init__(
        self,
        served: ServedService,
        twin: str,
        store: StateStore,
        publish: Publish | None = None,
        fill: FillGaps = refuse_gaps,
        software: str = "",
        digests: StateDigests | None = None,
        on_refused: Callable[[int, str], None] = lambda _partition, _sentence: None,
    ) -> None:
        self._digests = digests
        self._on_refused = on_refused
        """Receives partition and sentence when a stored state is refused."""
        self._fill = fill
        self._software = software
        self.served = served
        self.counts = FoldCounts()
        self._twin = twin
        self._store = store
        self._publish = publish
        self._folds: dict[int, PartitionFold] = {}
        self._fold_progress: dict[int, PartitionPosition] = {}
        self._lock = threading.Lock()

    def begin(self, partitions: Iterable[int]) -> dict[int, int]:
        """Start with exactly these partitions; returns the offset to read each from."""
        self._folds = {partition: self._fold(partition) for partition in sorted(partitions)}
        starts = {}
        for partition, fold in self._folds.items():
            with self._refusals_noted(partition):
                starts[partition] = fold.load()
        with self._lock:
            now_s = time.monotonic()
            self._fold_progress = {p: PartitionPosition(at, now_s, None) for p, at in starts.items()}
        if starts:
            log.info("%s holds partitions %s", self.served.name, ", ".join(map(str, starts)))
        return starts

    def take(self, partition: int, records: Sequence[Record]) -> None:
        """Apply and commit; raises what the fold raises. Ignores records of partitions that were
        reassigned."""
        fold = self._folds.get(partition)
        if fold is None:
            return
        with self._refusals_noted(partition):
            while not fold.take(records):
                pass  # another worker committed: its result is loaded, and the records applied again
        with self._lock:
            if partition in self._fold_progress and fold.position is not None:
                self._fold_progress[partition] = PartitionPosition(
                    fold.position, time.monotonic(), fold.stopped
                )

    def fold_progress(self) -> dict[int, PartitionPosition]:
        """Partition → this worker's progress."""
        with self._lock:
            return dict(self._fold_progress)

    @contextmanager
    def _refusals_noted(self, partition: int) -> Iterator[None]:
        try:
            yield
        except StateRefused as refused:
            self._on_refused(partition, str(refused))
            raise

    def _fold(self, partition: int) -> PartitionFold:
        return PartitionFold(
            self.served,
            partition,
            self._twin,
            self._store,
            publish=self._publish,
            counts=self.counts,
            fill=self._fill,
            software=self._software,
            digests=self._digests,
        )
