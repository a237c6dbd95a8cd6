"""When a worker must end, so that whoever keeps it running starts it again: Faust may stall without a word,
and an idle worker does not see by itself that the store went back."""

import time
from collections.abc import Callable, Mapping

from shared.errors import OperationFailed, StoreUnreachable
from shared.live.unreachable import LogUnreachable
from shared.live.worker import Standing
from shared.state.redis_store import RedisStore

STALL_S_MAX = 30.0
TOPIC_EVERY_S = 10.0


def verdict(
    service: str,
    partition: int,
    standing: Standing,
    stored: int,
    end: int,
    now_s: float,
) -> str | None:
    """Why the worker must end, or None. `stored` and `end` are its position and the log's end in the store;
    `now_s` is by the clock of `standing.at_s`."""
    if stored < standing.position:
        return (
            f"partition {partition}: {service} had committed {standing.position}, but the store stands at "
            f"{stored}: it went back; starting again from there"
        )
    stalls = end > standing.position and stored <= standing.position and standing.stopped is None
    if stalls and now_s - standing.at_s > STALL_S_MAX:
        return (
            f"partition {partition}: {service} stands at {standing.position} of {end} and has committed "
            f"nothing for {now_s - standing.at_s:.0f} s; starting again"
        )
    return None


class WorkerWatch:
    """Looks at the store and at the log's identity for one worker."""

    def __init__(
        self,
        service: str,
        store: RedisStore,
        standing: Callable[[], Mapping[int, Standing]],
        topic_id: Callable[[], str],
        wanted_id: str,
        wall_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._service = service
        self._store = store
        self._standing = standing
        self._topic_id = topic_id
        self._wanted_id = wanted_id
        self._wall_s = wall_s
        self._looked_s = wall_s()
        self.lags: dict[int, int] = {}
        """Partition → messages not read yet, as last looked."""

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
        lags = {}
        for partition, standing in self._standing().items():
            snapshot = self._store.snapshot(partition, [])
            stored = snapshot.positions.get(self._service, 0)
            end = int(snapshot.values.get("end", 0))
            lags[partition] = max(0, end - stored)
            found = verdict(self._service, partition, standing, stored, end, self._wall_s())
            if found is not None:
                return found
        self.lags = lags
        if self._wall_s() - self._looked_s < TOPIC_EVERY_S:
            return None
        self._looked_s = self._wall_s()
        if self._topic_id() != self._wanted_id:
            return "the log's topic was deleted and made again: it is not the log of this twin any more"
        return None
