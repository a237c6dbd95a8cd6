"""Which twin a Redis holds: noted once when it is made, read by every process before it begins."""

from collections.abc import Sequence
from dataclasses import dataclass

from shared.basics.errors import OperationFailed
from shared.runtimes.live.kafka.records import LogIdentity
from shared.storage.redis_store import RedisStore

NOTE = "twin"


@dataclass(frozen=True, slots=True)
class TwinRecord:
    """`services` are those that every fabric has, in name order; `topic_id` is Kafka's identity of the log's
    topic, which changes when somebody deletes it and makes it again."""

    twin: str
    partitions: int
    services: tuple[str, ...]
    topic_id: str

    @property
    def log(self) -> LogIdentity:
        return LogIdentity(self.twin, self.partitions)


def find_twin(store: RedisStore) -> TwinRecord | None:
    """The twin that this Redis holds, or None."""
    note = store.read_globals(NOTE)
    if "id" not in note:
        return None
    return TwinRecord(
        note["id"], int(note["partitions"]), tuple(note["services"].split(",")), note["topic_id"]
    )


def read_twin(store: RedisStore) -> TwinRecord:
    """The twin that this Redis holds; OperationFailed if there is none."""
    found = find_twin(store)
    if found is None:
        raise OperationFailed(
            f"Redis at {store.name}: holds no live twin; `lightwave live init` makes one, "
            "`lightwave live rebuild` makes it again from a log on Kafka"
        )
    return found


def write_twin(store: RedisStore, twin: str, partitions: int, services: Sequence[str], topic_id: str) -> None:
    fields = {
        "id": twin,
        "partitions": str(partitions),
        "services": ",".join(services),
        "topic_id": topic_id,
    }
    store.set_globals(NOTE, fields)
