"""The topics of a twin on Kafka: creation, checks of their settings, and their identity."""

import contextlib
import time
from collections.abc import Iterable, Iterator
from typing import Any, TypedDict

from kafka import TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient, NewTopic, OffsetSpec
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
"""How long Kafka may take to answer."""
APPEAR_S_MAX = 15.0
"""How long new topics may take to be known everywhere."""
POLL_S = 0.1
DAY_MS = 86_400_000
MESSAGE_BYTES_MAX = 8_000_000
REPLICAS_SAFE = 3
"""With this many replicas or more, an append waits for two of them."""
VERSION_MIN = (3, 7)
"""The oldest supported Kafka: its metadata contain topic ids."""
_RETENTION_SETTINGS = {
    "cleanup.policy": "delete",
    "compression.type": "uncompressed",
    "retention.ms": "-1",
    "retention.bytes": "-1",
    "max.message.bytes": str(MESSAGE_BYTES_MAX),
}
_SETTING_DAMAGE = {
    "cleanup.policy": "Kafka removes messages from the middle",
    "compression.type": "Kafka keeps records in compressions that readers here do not support",
    "retention.ms": "Kafka removes the oldest messages, and without them no state can be rebuilt",
    "retention.bytes": "Kafka removes the oldest messages, and without them no state can be rebuilt",
    "max.message.bytes": "Kafka refuses larger messages",
}
"""The consequence if a setting differs."""


def create_topics(brokers: Brokers, topics: Topics, partitions: int, replication: int) -> None:
    """Create missing topics, and wait until they are known."""
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
                broker_count = len(admin.describe_cluster()["brokers"])
                raise InvalidInput(
                    f"--replication {replication}: Kafka at {brokers} has fewer brokers; "
                    f"must be between 1 and {broker_count}"
                ) from None
        if not poll_until(
            lambda: all(_found(admin, topic.name) is not None for topic in wanted), APPEAR_S_MAX, POLL_S
        ):
            raise OperationFailed(f"Kafka at {brokers}: does not create topics like {topics.log}")


def topic_id(brokers: Brokers, topic: str) -> str:
    """Kafka's identity of a topic, which changes if the topic is deleted and created again."""
    return str(_described(brokers, topic)["topic_id"])


def partition_count(brokers: Brokers, topic: str) -> int:
    return len(_described(brokers, topic)["partitions"])


def check_settings(brokers: Brokers, topics: Topics) -> list[str]:
    """Settings that differ from those of `create_topics` and would lose messages, and partitions of the log
    whose oldest records are gone; a sentence each. The retention of telemetry is free. OperationFailed if a
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
    """OperationFailed if Kafka may remove messages from the middle of a topic: such a removal could not be
    told from an offset without a record."""
    with _admin(brokers) as admin:
        for sentence in _changed_settings(admin, brokers, topic, ("cleanup.policy",)):
            raise OperationFailed(sentence)


def _wanted(keeps: bool) -> list[str]:
    return [name for name in _RETENTION_SETTINGS if keeps or not name.startswith("retention")]


def _changed_settings(admin: Any, brokers: Brokers, topic: str, names: Iterable[str]) -> Iterator[str]:
    """A sentence for each of these settings of a topic that loses or refuses messages."""
    _described_by(admin, brokers, topic)
    resource = ConfigResource(ConfigResourceType.TOPIC, topic)
    rows = admin.describe_configs([resource], config_filter="all")["topic"][topic]
    for name in names:
        wanted, value = _RETENTION_SETTINGS[name], rows[name]["value"]
        if value == wanted or (name == "max.message.bytes" and int(value) > int(wanted)):
            continue
        yield (
            f"topic {topic}: {name} is {value}, must be {wanted}: "
            f"{_SETTING_DAMAGE[name]}; `kafka-configs.sh "
            f"--bootstrap-server {brokers} --alter --entity-type topics --entity-name {topic} "
            f"--add-config {name}={wanted}` sets it"
        )


class _Partition(TypedDict):
    partition_index: int


class _TopicDescription(TypedDict):
    """What the product reads of Kafka's description of a topic."""

    topic_id: object
    partitions: list[_Partition]


def _described(brokers: Brokers, topic: str) -> _TopicDescription:
    with _admin(brokers) as admin:
        return _described_by(admin, brokers, topic)


def _described_by(admin: Any, brokers: Brokers, topic: str) -> _TopicDescription:
    found = _found(admin, topic)
    if found is None:
        raise OperationFailed(
            f"topic {topic}: not on Kafka at {brokers}; `lightwave live init` creates it "
            "(is LIGHTWAVE_PREFIX right?)"
        )
    return found


def _found(admin: Any, topic: str) -> _TopicDescription | None:
    (row,) = admin.describe_topics([topic])
    if row["error_code"] == TopicAuthorizationFailedError.errno:
        raise TopicAuthorizationFailedError(topic)
    if row["error_code"] or not row["partitions"]:
        return None
    found: _TopicDescription = row
    return found


def _version(admin: Any) -> tuple[int, ...]:
    found: tuple[int, ...] = admin._manager.broker_version  # noqa: SLF001 -- there is no public attribute
    return found


def _check_version(brokers: Brokers, admin: Any) -> None:
    version = _version(admin)
    if version[:2] < VERSION_MIN:
        raise OperationFailed(
            f"Kafka at {brokers}: version {'.'.join(map(str, version))}; must be "
            f"{'.'.join(map(str, VERSION_MIN))} or newer"
        )


@contextlib.contextmanager
def _admin(brokers: Brokers) -> Iterator[Any]:
    """An admin client of a supported Kafka. Retries errors shortly after Kafka's start."""
    answer_ms = int(ANSWER_S_MAX * 1_000)
    until_s = time.monotonic() + ANSWER_S_MAX
    while True:
        try:
            admin = make_client(
                KafkaAdminClient, brokers, bootstrap_timeout_ms=answer_ms, request_timeout_ms=answer_ms
            )
            break
        except (KafkaError, OSError, ValueError) as error:
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
