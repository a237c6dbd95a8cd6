"""The topics of a twin on Kafka: made once, and known again by Kafka's own identity of them."""

import contextlib
import time
from collections.abc import Iterator
from typing import Any

from kafka.admin import KafkaAdminClient, NewTopic
from kafka.errors import KafkaError, TopicAlreadyExistsError

from shared.errors import OperationFailed
from shared.live.layout import Topics
from shared.live.unreachable import unreachable

ANSWER_S_MAX = 4.0
"""How long Kafka may take to answer at all."""
APPEAR_S_MAX = 15.0
"""How long new topics may take to be known everywhere."""
POLL_S = 0.1
DAY_MS = 86_400_000
MESSAGE_BYTES_MAX = 8_000_000
REPLICAS_SAFE = 3
"""From so many copies on, an append waits for two of them."""
LEAST = (3, 7)
"""The oldest Kafka this was written for: its metadata tell a topic's identity."""


def create_topics(bootstrap: str, topics: Topics, partitions: int, replication: int) -> None:
    """Make the three topics where they are not there yet, and wait until they are known."""
    common = {
        "cleanup.policy": "delete",
        "retention.bytes": "-1",
        "max.message.bytes": str(MESSAGE_BYTES_MAX),
        "min.insync.replicas": "2" if replication >= REPLICAS_SAFE else "1",
    }
    wanted = [
        NewTopic(topics.log, partitions, replication, topic_configs=common | {"retention.ms": "-1"}),
        NewTopic(
            topics.telemetry,
            partitions,
            replication,
            topic_configs=common | {"retention.ms": str(7 * DAY_MS)},
        ),
        NewTopic(topics.dead_letters, 1, replication, topic_configs=common | {"retention.ms": "-1"}),
    ]
    with _admin(bootstrap) as admin:
        _check_version(bootstrap, admin)
        for topic in wanted:
            with contextlib.suppress(TopicAlreadyExistsError):
                admin.create_topics([topic])
        until_s = time.monotonic() + APPEAR_S_MAX
        while any(_found(admin, topic.name) is None for topic in wanted):
            if time.monotonic() > until_s:
                raise OperationFailed(f"Kafka at {bootstrap}: does not make topics like {topics.log}")
            time.sleep(POLL_S)


def topic_id(bootstrap: str, topic: str) -> str:
    """Kafka's identity of a topic, another one after it was deleted and made again."""
    return str(_described(bootstrap, topic)["topic_id"])


def partition_count(bootstrap: str, topic: str) -> int:
    return len(_described(bootstrap, topic)["partitions"])


def _described(bootstrap: str, topic: str) -> dict[str, Any]:
    with _admin(bootstrap) as admin:
        found = _found(admin, topic)
    if found is None:
        raise OperationFailed(
            f"topic {topic}: not on Kafka at {bootstrap}; `lightwave live init` makes it "
            "(is LIGHTWAVE_PREFIX right?)"
        )
    return found


def _found(admin: Any, topic: str) -> dict[str, Any] | None:
    (row,) = admin.describe_topics([topic])
    return None if row["error_code"] or not row["partitions"] else dict(row)


def _check_version(bootstrap: str, admin: Any) -> None:
    version = admin.config.get("api_version")
    if version is not None and tuple(version[:2]) < LEAST:
        raise OperationFailed(
            f"Kafka at {bootstrap}: version {'.'.join(map(str, version))}; needed is "
            f"{'.'.join(map(str, LEAST))} or newer"
        )


@contextlib.contextmanager
def _admin(bootstrap: str) -> Iterator[Any]:
    """An admin client; what Kafka refuses for a moment after its start is tried again."""
    until_s = time.monotonic() + ANSWER_S_MAX
    while True:
        try:
            admin = KafkaAdminClient(
                bootstrap_servers=bootstrap.split(","),
                bootstrap_timeout_ms=int(ANSWER_S_MAX * 1_000),
                request_timeout_ms=int(ANSWER_S_MAX * 1_000),
            )
            break
        except (KafkaError, OSError, ValueError) as error:
            if time.monotonic() > until_s:
                raise unreachable(bootstrap, error) from None
            time.sleep(POLL_S)
    try:
        yield admin
    except (KafkaError, OSError) as error:
        raise unreachable(bootstrap, error) from None
    finally:
        with contextlib.suppress(KafkaError, OSError):
            admin.close()
