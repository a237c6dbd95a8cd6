"""Which twin a Redis holds: noted once when it is made, read by every process before it begins."""

from dataclasses import dataclass

from shared.basics.errors import OperationFailed
from shared.storage.redis_store import RedisStore

NOTE = "twin"


@dataclass(frozen=True, slots=True)
class TwinRecord:
    """`topic_id` is Kafka's identity of the log's topic, which changes when somebody deletes it and makes it
    again."""

    twin: str
    partitions: int
    topic_id: str


def find_twin(store: RedisStore) -> TwinRecord | None:
    """The twin that this Redis holds, or None."""
    note = store.read_globals(NOTE)
    if "id" not in note:
        return None
    return TwinRecord(note["id"], int(note["partitions"]), note["topic_id"])


def read_twin(store: RedisStore) -> TwinRecord:
    """The twin that this Redis holds; OperationFailed if there is none."""
    found = find_twin(store)
    if found is None:
        raise OperationFailed(
            f"Redis at {store.name}: holds no live twin; `lightwave live init` makes one, "
            "`lightwave live rebuild` makes it again from a log on Kafka"
        )
    return found


def write_twin(store: RedisStore, twin: str, partitions: int, topic_id: str) -> None:
    fields = {
        "id": twin,
        "partitions": str(partitions),
        "topic_id": topic_id,
    }
    store.set_globals(NOTE, fields)
