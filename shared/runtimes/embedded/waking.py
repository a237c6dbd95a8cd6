"""The Redis of a twin in one process, which wakes its loop when somebody asks for something."""

from collections.abc import Callable

from schemas.body import Body
from shared.storage.inbox import Received
from shared.storage.redis_store import RedisStore


class Waking:
    """Mixed into an inbox: `wake` is told in which partition a request waits now; until there is a loop,
    nobody is."""

    wake: Callable[[int], None] | None = None

    def put(self, partition: int, fabric: str, body: Body) -> Received:
        received: Received = super().put(partition, fabric, body)  # type: ignore[misc]  # the inbox's
        if self.wake is not None:
            self.wake(partition)
        return received


class WakingStore(Waking, RedisStore):
    """The store of a twin in one process."""
