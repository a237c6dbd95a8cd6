"""Decides when a worker must exit so that its supervisor restarts it.

Faust may stall silently, and an idle worker does not notice that the store was rolled back.
"""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from shared.basics.errors import OperationFailed, StoreUnreachable
from shared.runtimes.live.kafka.kafka_errors import LogUnreachable
from shared.runtimes.live.worker.worker_folds import PartitionPosition
from shared.storage.store.redis_store import RedisStore

STALL_S_MAX = 30.0
UNSEEN_S_MAX = 15.0
"""If no check was possible for longer, because the process or the store stood still, the watch restarts."""
TOPIC_EVERY_S = 10.0
UNASSIGNED_S_MAX = 45.0
"""How long a partition may have no worker of the service: longer than a group needs to rebalance on a busy
machine."""
UNASSIGNED_EVERY_S = 5.0
UNASSIGNED_SHOWN_S = 15.0
"""After this time the worker reports a problem."""
_NOT_ASSIGNED = PartitionPosition(0, 0.0, None)


@dataclass(frozen=True, slots=True)
class PartitionStall:
    """A partition with unread messages: what was last seen, and since when there is no progress. The time
    starts when the watch first sees unread messages."""

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
    """The stall after one more check; None if nothing is left to read. `stored` is the service's position in
    the store. `end` is the log's end, or None while the sequencer does not know it. `now_s` is by a monotonic
    clock."""
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
    """Why the worker must exit, or None."""
    if stored < fold_progress.position:
        return (
            f"partition {partition}: {service} had committed {fold_progress.position}, "
            f"but the store is at {stored}: it was rolled back; restarting from there"
        )
    if stall is not None and stall.seen_s - stall.since_s > STALL_S_MAX:
        return (
            f"partition {partition}: {service} is at {stored} and has more to read, but committed nothing "
            f"for {stall.seen_s - stall.since_s:.0f} s; restarting"
        )
    return None


class WorkerWatchdog:
    """Checks the store and the identity of the log for one worker.

    It also checks partitions that the worker does not hold. Kafka's group may have assigned one to this
    process, which never started it, or to no process. From inside, both look idle; the store shows the
    difference.
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
        """Kinds of fabrics with this service."""
        self._wall_s = wall_s
        self._topic_checked_s = wall_s()
        self.lags: dict[int, int] = {}
        """Partition → unread messages, as of the last check."""
        self._stalls: dict[int, PartitionStall | None] = {}
        self._unassigned: dict[int, PartitionStall | None] = {}
        self._unassigned_checked_s = wall_s()

    @property
    def problems(self) -> tuple[str, ...]:
        """Unread partitions, a sentence each."""
        return tuple(
            f"partition {partition}: {self._service} has more to read, but no worker reads it"
            for partition, stall in self._unassigned.copy().items()
            if stall is not None and stall.seen_s - stall.since_s > UNASSIGNED_SHOWN_S
        )

    def check(self) -> str | None:
        """Why the process must exit, in one sentence, or None. An unreachable store or Kafka is not a reason:
        it will return."""
        try:
            return self._check()
        except (StoreUnreachable, LogUnreachable):
            return None
        except OperationFailed as error:
            return str(error)  # the topic does not exist

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
            return "the log's topic was deleted and created again: it is no longer the log of this twin"
        return None

    def _progress(self, partition: int) -> tuple[int, int | None, bool]:
        """The service's position in the store, the log's end if known, and whether the service stopped."""
        snapshot = self._store.snapshot(partition, [])
        end = snapshot.values.get("end")
        is_stopped = f"stopped:{self._service}" in snapshot.values
        return snapshot.positions.get(self._service, 0), None if end is None else int(end), is_stopped

    def _unassigned_reason(self, owned: Mapping[int, PartitionPosition]) -> str | None:
        """Why the process must exit although its own partitions are fine: a partition that no worker
        reads."""
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
            # A stopped service waits for an operator.
            stall = None if is_stopped else next_stall(before, _NOT_ASSIGNED, stored, end, now_s)
            self._unassigned[partition] = stall
            if stall is not None and stall.seen_s - stall.since_s > UNASSIGNED_S_MAX:
                left_s = stall.seen_s - stall.since_s
                return (
                    f"partition {partition}: {self._service} is at {stored} and has more to read, but "
                    f"no worker read it for {left_s:.0f} s; rejoining the group"
                )
        return None
