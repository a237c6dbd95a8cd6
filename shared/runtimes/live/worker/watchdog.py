"""When a worker must end, so that whoever keeps it running starts it again: Faust may stall without a word,
and an idle worker does not see by itself that the store went back."""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from shared.basics.errors import OperationFailed, StoreUnreachable
from shared.runtimes.live.kafka.unreachable import LogUnreachable
from shared.runtimes.live.worker.worker import PartitionPosition
from shared.storage.redis_store import RedisStore

STALL_S_MAX = 30.0
UNSEEN_S_MAX = 15.0
"""A watch that could not look for longer, because the process or the store stood still, begins anew."""
TOPIC_EVERY_S = 10.0
UNHELD_S_MAX = 45.0
"""How long a partition may be left by all workers of the service: longer than a group needs to share its
partitions anew on a busy machine."""
UNHELD_EVERY_S = 5.0
UNHELD_SHOWN_S = 15.0
"""After which a worker is not healthy any more."""
_NOT_OURS = PartitionPosition(0, 0.0, None)


@dataclass(frozen=True, slots=True)
class Stall:
    """What a watch last saw of a partition in which something is left to read, and since when nothing has
    come of it. That counts from when it was seen: before, there may have been nothing to read."""

    standing: PartitionPosition
    stored: int
    since_s: float
    seen_s: float


def stall_of(
    before: Stall | None, standing: PartitionPosition, stored: int, end: int | None, now_s: float
) -> Stall | None:
    """After one more look; None if nothing is left to read. `stored` is the service's position in the store,
    by whomever; `end` the log's end, None while the sequencer does not know it; `now_s` is by any clock that
    only moves on."""
    if standing.stopped is not None or (end is not None and end <= stored):
        return None
    if before is None:
        return Stall(standing, stored, now_s, now_s) if end is not None else None
    comes_on = (before.standing, before.stored) != (standing, stored)
    if comes_on or now_s - before.seen_s > UNSEEN_S_MAX:
        return Stall(standing, stored, now_s, now_s)
    return Stall(standing, stored, before.since_s, now_s)


def verdict(
    service: str, partition: int, standing: PartitionPosition, stored: int, stall: Stall | None
) -> str | None:
    """Why the worker must end, or None."""
    if stored < standing.position:
        return (
            f"partition {partition}: {service} had committed {standing.position}, but the store stands at "
            f"{stored}: it went back; starting again from there"
        )
    if stall is not None and stall.seen_s - stall.since_s > STALL_S_MAX:
        return (
            f"partition {partition}: {service} stands at {stored}, there is more to read, and nothing was "
            f"committed for {stall.seen_s - stall.since_s:.0f} s; starting again"
        )
    return None


class WorkerWatch:
    """Looks at the store and at the log's identity for one worker.

    Also at partitions that it does not hold: Kafka's group may have given one to this process, which never
    began with it, or to nobody. From inside, both look like having nothing to do; the store tells.
    """

    def __init__(
        self,
        service: str,
        store: RedisStore,
        standing: Callable[[], Mapping[int, PartitionPosition]],
        topic_id: Callable[[], str],
        wanted_id: str,
        kinds: Collection[str],
        wall_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._service = service
        self._store = store
        self._standing = standing
        self._topic_id = topic_id
        self._wanted_id = wanted_id
        self._kinds = kinds
        """Of fabrics that have this service."""
        self._wall_s = wall_s
        self._looked_s = wall_s()
        self.lags: dict[int, int] = {}
        """Partition → messages not read yet, as last looked."""
        self._stalls: dict[int, Stall | None] = {}
        self._unheld: dict[int, Stall | None] = {}
        self._unheld_s = wall_s()

    @property
    def problems(self) -> tuple[str, ...]:
        """What nobody reads, a sentence each."""
        return tuple(
            f"partition {partition}: {self._service} has more to read there, and no worker does"
            for partition, stall in self._unheld.copy().items()
            if stall is not None and stall.seen_s - stall.since_s > UNHELD_SHOWN_S
        )

    def look(self) -> str | None:
        """Why the process must end, in one sentence, or None. A store or a Kafka that does not answer is no
        reason: they come back."""
        try:
            return self._look()
        except (StoreUnreachable, LogUnreachable):
            return None
        except OperationFailed as error:
            return str(error)  # the topic is gone

    def _look(self) -> str | None:
        owned = self._standing()
        self._stalls = {partition: self._stalls.get(partition) for partition in owned}
        lags = {}
        for partition, standing in owned.items():
            stored, end, _ = self._progress(partition)
            lags[partition] = self.lags.get(partition, 0) if end is None else max(0, end - stored)
            stall = stall_of(self._stalls[partition], standing, stored, end, self._wall_s())
            self._stalls[partition] = stall
            found = verdict(self._service, partition, standing, stored, stall)
            if found is not None:
                return found
        self.lags = lags
        left = self._left(owned)
        if left is not None:
            return left
        if self._wall_s() - self._looked_s < TOPIC_EVERY_S:
            return None
        self._looked_s = self._wall_s()
        if self._topic_id() != self._wanted_id:
            return "the log's topic was deleted and made again: it is not the log of this twin any more"
        return None

    def _progress(self, partition: int) -> tuple[int, int | None, bool]:
        """Where the service stands by the store, where the log ends as far as it is known, and whether the
        service stopped."""
        snapshot = self._store.snapshot(partition, [])
        end = snapshot.values.get("end")
        is_stopped = f"stopped:{self._service}" in snapshot.values
        return snapshot.positions.get(self._service, 0), None if end is None else int(end), is_stopped

    def _left(self, owned: Mapping[int, PartitionPosition]) -> str | None:
        """Why the process must end though what it holds is well: a partition that no worker reads."""
        now_s = self._wall_s()
        if now_s - self._unheld_s < UNHELD_EVERY_S:
            return None
        self._unheld_s = now_s
        places = self._store.fabrics().values()
        others = {place.partition for place in places if place.kind in self._kinds} - owned.keys()
        self._unheld = {partition: self._unheld.get(partition) for partition in others}
        for partition in sorted(others):
            stored, end, is_stopped = self._progress(partition)
            before = self._unheld[partition]
            # What stopped waits for a person.
            stall = None if is_stopped else stall_of(before, _NOT_OURS, stored, end, now_s)
            self._unheld[partition] = stall
            if stall is not None and stall.seen_s - stall.since_s > UNHELD_S_MAX:
                left_s = stall.seen_s - stall.since_s
                return (
                    f"partition {partition}: {self._service} stands at {stored}, there is more to read, and "
                    f"no worker read it for {left_s:.0f} s; joining the group again"
                )
        return None
