"""Identifies the twin in a Redis: written once at its creation, read by every process at its start."""

import re
from dataclasses import dataclass

from shared.basics.errors import OperationFailed
from shared.storage.store.redis_store import RedisStore
from shared.storage.store.state_store import GlobalNotes

NOTE = "twin"
TWIN_PATTERN = r"[0-9a-f]{32}"
"""Folders are named after a twin."""


@dataclass(frozen=True, slots=True)
class TwinRecord:
    """`topic_id` is Kafka's identity of the log's topic, which changes if the topic is deleted and created
    again."""

    twin: str
    partitions: int
    topic_id: str


class NoTwin(OperationFailed):
    """Redis has no twin, or not yet."""


def find_twin(store: GlobalNotes) -> TwinRecord | None:
    """The twin in this store, or None; OperationFailed if its record is invalid."""
    note = store.read_globals(NOTE)
    if "id" not in note:
        return None
    partitions = note.get("partitions", "")
    if not (re.fullmatch(TWIN_PATTERN, note["id"]) and re.fullmatch(r"[0-9]{1,9}", partitions)):
        raise OperationFailed(
            f"Redis at {store.name}: twin {note['id'][:40]!r} of {partitions[:40]!r} partitions is not "
            "valid; must be 32 digits of 0-9a-f, and a number; see `lightwave live rebuild`"
        )
    return TwinRecord(note["id"], int(partitions), note.get("topic_id", ""))


def read_twin(store: RedisStore) -> TwinRecord:
    """The twin in this Redis; NoTwin if there is none."""
    twin = find_twin(store)
    if twin is None:
        raise NoTwin(
            f"Redis at {store.name}: has no live twin; `lightwave live init` creates one, "
            "`lightwave live rebuild` rebuilds one from a log on Kafka"
        )
    return twin


def write_twin(store: GlobalNotes, twin: str, partitions: int, topic_id: str) -> None:
    fields = {
        "id": twin,
        "partitions": str(partitions),
        "topic_id": topic_id,
    }
    store.set_globals(NOTE, fields)
