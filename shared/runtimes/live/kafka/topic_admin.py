"""The topics of a twin on Kafka: made once, and known again by Kafka's own identity of them."""

import contextlib
import socket
import time
from collections.abc import Iterable, Iterator
from typing import Any

from kafka import TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient, NewTopic, OffsetSpec
from kafka.cluster import collect_hosts
from kafka.errors import (
    InvalidReplicationFactorError,
    KafkaError,
    TopicAlreadyExistsError,
    TopicAuthorizationFailedError,
)

from shared.basics.errors import InvalidInput, OperationFailed
from shared.runtimes.live.kafka.brokers import Brokers
from shared.runtimes.live.kafka.clients import make_client
from shared.runtimes.live.kafka.kafka_errors import kafka_unreachable, log_start_removed
from shared.runtimes.live.kafka.layout import Topics
from shared.runtimes.poll import poll_until

ANSWER_S_MAX = 4.0
"""How long Kafka may take to answer at all."""
APPEAR_S_MAX = 15.0
"""How long new topics may take to be known everywhere."""
POLL_S = 0.1
DAY_MS = 86_400_000
MESSAGE_BYTES_MAX = 8_000_000
REPLICAS_SAFE = 3
"""From so many copies on, an append waits for two of them."""
VERSION_MIN = (3, 7)
"""The oldest Kafka this was written for: its metadata tell a topic's identity."""
_RETENTION_SETTINGS = {
    "cleanup.policy": "delete",
    "compression.type": "uncompressed",
    "retention.ms": "-1",
    "retention.bytes": "-1",
    "max.message.bytes": str(MESSAGE_BYTES_MAX),
}
_SETTING_DAMAGE = {
    "cleanup.policy": "Kafka removes messages from the middle",
    "compression.type": "Kafka keeps what strangers compressed in a way that readers here do not know",
    "retention.ms": "Kafka removes the oldest messages, and without them no state can be made again",
    "retention.bytes": "Kafka removes the oldest messages, and without them no state can be made again",
    "max.message.bytes": "Kafka refuses what is larger",
}
"""What follows where a setting is another one."""


def create_topics(brokers: Brokers, topics: Topics, partitions: int, replication: int) -> None:
    """Make the topics where they are not there yet, and wait until they are known."""
    safe = {"min.insync.replicas": "2" if replication >= REPLICAS_SAFE else "1"}
    week = {"retention.ms": str(7 * DAY_MS)}
    wanted = [
        NewTopic(topics.log, partitions, replication, topic_configs=_RETENTION_SETTINGS | safe),
        NewTopic(topics.telemetry, partitions, replication, topic_configs=_RETENTION_SETTINGS | safe | week),
        NewTopic(topics.dead_letters, 1, replication, topic_configs=_RETENTION_SETTINGS | safe),
        NewTopic(topics.operations, 1, replication, topic_configs=_RETENTION_SETTINGS | safe),
    ]
    with _admin(brokers) as admin:
        for topic in wanted:
            try:
                admin.create_topics([topic])
            except TopicAlreadyExistsError:
                continue
            except InvalidReplicationFactorError:
                there = len(admin.describe_cluster()["brokers"])
                raise InvalidInput(
                    f"--replication {replication}: Kafka at {brokers} has fewer brokers than that; "
                    f"allowed: 1 to {there}"
                ) from None
        if not poll_until(
            lambda: all(_found(admin, topic.name) is not None for topic in wanted), APPEAR_S_MAX, POLL_S
        ):
            raise OperationFailed(f"Kafka at {brokers}: does not make topics like {topics.log}")


def topic_id(brokers: Brokers, topic: str) -> str:
    """Kafka's identity of a topic, another one after it was deleted and made again."""
    return str(_described(brokers, topic)["topic_id"])


def partition_count(brokers: Brokers, topic: str) -> int:
    return len(_described(brokers, topic)["partitions"])


def check_settings(brokers: Brokers, topics: Topics) -> list[str]:
    """What is set otherwise than `create_topics` sets it and would cost messages, and partitions of the log
    whose beginning is gone already, a sentence each. How long telemetry is kept is free. OperationFailed if a
    topic is missing or Kafka does not answer."""
    with _admin(brokers) as admin:
        found = [
            sentence
            for topic in (topics.log, topics.operations, topics.telemetry, topics.dead_letters)
            for sentence in _changed_settings(admin, brokers, topic, _wanted(topic != topics.telemetry))
        ]
        partitions = _described_by(admin, brokers, topics.log)["partitions"]
        places = [TopicPartition(topics.log, row["partition_index"]) for row in partitions]
        begins = admin.list_partition_offsets(dict.fromkeys(places, OffsetSpec.EARLIEST))
    return found + [
        log_start_removed(place.topic, place.partition, begins[place].offset)
        for place in sorted(places)
        if begins[place].offset > 0
    ]


def check_retention(brokers: Brokers, topic: str) -> None:
    """OperationFailed if Kafka may remove messages from the middle of a topic: nobody could tell what it has
    removed from what never stood there."""
    with _admin(brokers) as admin:
        for sentence in _changed_settings(admin, brokers, topic, ("cleanup.policy",)):
            raise OperationFailed(sentence)


def _wanted(keeps: bool) -> list[str]:
    return [name for name in _RETENTION_SETTINGS if keeps or not name.startswith("retention")]


def _changed_settings(admin: Any, brokers: Brokers, topic: str, names: Iterable[str]) -> Iterator[str]:
    """A sentence for each of these settings of a topic by which messages are lost or refused."""
    _described_by(admin, brokers, topic)
    asked = ConfigResource(ConfigResourceType.TOPIC, topic)
    rows = admin.describe_configs([asked], config_filter="all")["topic"][topic]
    for name in names:
        wanted, value = _RETENTION_SETTINGS[name], rows[name]["value"]
        if value == wanted or (name == "max.message.bytes" and int(value) > int(wanted)):
            continue
        yield (
            f"topic {topic}: {name} is {value}, needed is {wanted}: "
            f"{_SETTING_DAMAGE[name]}; `kafka-configs.sh "
            f"--bootstrap-server {brokers} --alter --entity-type topics --entity-name {topic} "
            f"--add-config {name}={wanted}` sets it"
        )


def broker_version(brokers: Brokers) -> tuple[int, ...]:
    """Of the broker that answers, as far as its protocol tells; OperationFailed if it is too old."""
    with _admin(brokers) as admin:
        return _version(admin)


def _described(brokers: Brokers, topic: str) -> dict[str, Any]:
    with _admin(brokers) as admin:
        return _described_by(admin, brokers, topic)


def _described_by(admin: Any, brokers: Brokers, topic: str) -> dict[str, Any]:
    found = _found(admin, topic)
    if found is None:
        raise OperationFailed(
            f"topic {topic}: not on Kafka at {brokers}; `lightwave live init` makes it "
            "(is LIGHTWAVE_PREFIX right?)"
        )
    return found


def _found(admin: Any, topic: str) -> dict[str, Any] | None:
    (row,) = admin.describe_topics([topic])
    if row["error_code"] == TopicAuthorizationFailedError.errno:
        raise TopicAuthorizationFailedError(topic)
    return None if row["error_code"] or not row["partitions"] else dict(row)


def _version(admin: Any) -> tuple[int, ...]:
    found: tuple[int, ...] = admin._manager.broker_version  # noqa: SLF001 -- told in public nowhere
    return found


def _check_version(brokers: Brokers, admin: Any) -> None:
    version = _version(admin)
    if version[:2] < VERSION_MIN:
        raise OperationFailed(
            f"Kafka at {brokers}: version {'.'.join(map(str, version))}; needed is "
            f"{'.'.join(map(str, VERSION_MIN))} or newer"
        )


@contextlib.contextmanager
def _admin(brokers: Brokers) -> Iterator[Any]:
    """An admin client of a Kafka that is new enough; what that refuses for a moment after its start is tried
    again."""
    until_s = time.monotonic() + ANSWER_S_MAX
    while True:
        try:
            admin = _connect(brokers)
            break
        except (KafkaError, OSError, ValueError, OverflowError) as error:
            if time.monotonic() > until_s:
                raise kafka_unreachable(brokers, error) from None
            time.sleep(POLL_S)
    try:
        _check_version(brokers, admin)
        yield admin
    except (KafkaError, OSError) as error:
        raise kafka_unreachable(brokers, error) from None
    finally:
        with contextlib.suppress(KafkaError, OSError):
            admin.close()


def _connect(brokers: Brokers) -> Any:
    """Made only where somebody listens: a client would try on for as long as it may."""
    _check_listens(brokers)
    answer_ms = int(ANSWER_S_MAX * 1_000)
    return make_client(
        KafkaAdminClient, brokers, bootstrap_timeout_ms=answer_ms, request_timeout_ms=answer_ms
    )


def _check_listens(brokers: Brokers) -> None:
    """OSError unless one of the brokers takes a connection."""
    refused: Exception = ValueError("no broker is named")
    for host, port, _ in collect_hosts(brokers.bootstrap):
        try:
            socket.create_connection((host, port), timeout=ANSWER_S_MAX).close()
        except (OSError, OverflowError) as error:
            refused = error
        else:
            return
    raise refused
