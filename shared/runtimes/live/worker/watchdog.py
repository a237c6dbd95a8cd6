"""When a worker must end, so that whoever keeps it running starts it again: Faust may stall without a word,
and an idle worker does not see by itself that the store went back."""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from shared.basics.errors import OperationFailed, StoreUnreachable
from shared.runtimes.live.kafka.kafka_errors import LogUnreachable
from shared.runtimes.live.worker.worker_folds import PartitionPosition
from shared.storage.store.redis_store import RedisStore

STALL_S_MAX = 30.0
UNSEEN_S_MAX = 15.0
"""A watch that could not look for longer, because the process or the store stood still, begins anew."""
TOPIC_EVERY_S = 10.0
UNASSIGNED_S_MAX = 45.0
"""How long a partition may be left by all workers of the service: longer than a group needs to share its
partitions anew on a busy machine."""
UNASSIGNED_EVERY_S = 5.0
UNASSIGNED_SHOWN_S = 15.0
"""After which a worker is not healthy any more."""
_NOT_ASSIGNED = PartitionPosition(0, 0.0, None)


@dataclass(frozen=True, slots=True)
class PartitionStall:
    """What a watch last saw of a partition in which something is left to read, and since when nothing has
    come of it. That counts from when it was seen: before, there may have been nothing to read."""

    fold_progress: PartitionPosition
    stored: int
    since_s: float
    seen_s: float


def next_stall(
    before: PartitionStall | None,
    fold_progress: PartitionPosition,
    stored: int,
    end: int | None,
    now_s: float,
) -> PartitionStall | None:
    """After one more look; None if nothing is left to read. `stored` is the service's position in the store,
    by whomever; `end` the log's end, None while the sequencer does not know it; `now_s` is by any clock that
    only moves on."""
    if fold_progress.stopped is not None or (end is not None and end <= stored):
        return None
    if before is None:
        return PartitionStall(fold_progress, stored, now_s, now_s) if end is not None else None
    has_advanced = (before.fold_progress, before.stored) != (fold_progress, stored)
    if has_advanced or now_s - before.seen_s > UNSEEN_S_MAX:
        return PartitionStall(fold_progress, stored, now_s, now_s)
    return PartitionStall(fold_progress, stored, before.since_s, now_s)


def restart_reason(
    service: str, partition: int, fold_progress: PartitionPosition, stored: int, stall: PartitionStall | None
) -> str | None:
    """Why the worker must end, or None."""
    if stored < fold_progress.position:
        return (
            f"partition {partition}: {service} had committed "
            f"{fold_progress.position}, but the store stands at "
            f"{stored}: it went back; starting again from there"
        )
    if stall is not None and stall.seen_s - stall.since_s > STALL_S_MAX:
        return (
            f"partition {partition}: {service} stands at {stored}, there is more to read, and nothing was "
            f"committed for {stall.seen_s - stall.since_s:.0f} s; starting again"
        )
    return None


class WorkerWatchdog:
    """Looks at the store and at the log's identity for one worker.

    Also at partitions that it does not hold: Kafka's group may have given one to this process, which never
    began with it, or to nobody. From inside, both look like having nothing to do; the store tells.
    """

    def __init__(
        self,
        service: str,
        store: RedisStore,
        fold_progress: Callable[[], Mapping[int, PartitionPosition]],
        topic_id: Callable[[], str],
        expected_id: str,
        kinds: Collection[str],
        wall_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._service = service
        self._store = store
        self._fold_progress = fold_progress
        self._topic_id = topic_id
        self._expected_id = expected_id
        self._kinds = kinds
        """Of fabrics that have this service."""
        self._wall_s = wall_s
        self._topic_checked_s = wall_s()
        self.lags: dict[int, int] = {}
        """Partition → messages not read yet, as last looked."""
        self._stalls: dict[int, PartitionStall | None] = {}
        self._unassigned: dict[int, PartitionStall | None] = {}
        self._unassigned_checked_s = wall_s()

    @property
    def problems(self) -> tuple[str, ...]:
        """What nobody reads, a sentence each."""
        return tuple(
            f"partition {partition}: {self._service} has more to read there, and no worker does"
            for partition, stall in self._unassigned.copy().items()
            if stall is not None and stall.seen_s - stall.since_s > UNASSIGNED_SHOWN_S
        )

    def check(self) -> str | None:
        """Why the process must end, in one sentence, or None. A store or a Kafka that does not answer is no
        reason: they come back."""
        try:
            return self._check()
        except (StoreUnreachable, LogUnreachable):
            return None
        except OperationFailed as error:
            return str(error)  # the topic is gone

    def _check(self) -> str | None:
        owned = self._fold_progress()
        self._stalls = {partition: self._stalls.get(partition) for partition in owned}
        lags = {}
        for partition, fold_progress in owned.items():
            stored, end, _ = self._progress(partition)
            lags[partition] = self.lags.get(partition, 0) if end is None else max(0, end - stored)
            stall = next_stall(self._stalls[partition], fold_progress, stored, end, self._wall_s())
            self._stalls[partition] = stall
            found = restart_reason(self._service, partition, fold_progress, stored, stall)
            if found is not None:
                return found
        self.lags = lags
        unassigned = self._unassigned_reason(owned)
        if unassigned is not None:
            return unassigned
        if self._wall_s() - self._topic_checked_s < TOPIC_EVERY_S:
            return None
        self._topic_checked_s = self._wall_s()
        if self._topic_id() != self._expected_id:
            return "the log's topic was deleted and made again: it is not the log of this twin any more"
        return None

    def _progress(self, partition: int) -> tuple[int, int | None, bool]:
        """Where the service stands by the store, where the log ends as far as it is known, and whether the
        service stopped."""
        snapshot = self._store.snapshot(partition, [])
        end = snapshot.values.get("end")
        is_stopped = f"stopped:{self._service}" in snapshot.values
        return snapshot.positions.get(self._service, 0), None if end is None else int(end), is_stopped

    def _unassigned_reason(self, owned: Mapping[int, PartitionPosition]) -> str | None:
        """Why the process must end though what it holds is well: a partition that no worker reads."""
        now_s = self._wall_s()
        if now_s - self._unassigned_checked_s < UNASSIGNED_EVERY_S:
            return None
        self._unassigned_checked_s = now_s
        places = self._store.fabrics().values()
        others = {place.partition for place in places if place.kind in self._kinds} - owned.keys()
        self._unassigned = {partition: self._unassigned.get(partition) for partition in others}
        for partition in sorted(others):
            stored, end, is_stopped = self._progress(partition)
            before = self._unassigned[partition]
            # What stopped waits for a person.
            stall = None if is_stopped else next_stall(before, _NOT_ASSIGNED, stored, end, now_s)
            self._unassigned[partition] = stall
            if stall is not None and stall.seen_s - stall.since_s > UNASSIGNED_S_MAX:
                left_s = stall.seen_s - stall.since_s
                return (
                    f"partition {partition}: {self._service} stands at {stored}, there is more to read, and "
                    f"no worker read it for {left_s:.0f} s; joining the group again"
                )
        return None
