"""The pump: a Faust worker that delivers batches of records to the folds, and does nothing else.

Faust acknowledges before a handler is done, loses in-memory settings, and may stall. So the pump uses raw
bytes, acknowledges each event after the commit, exits the process when a batch raises, and takes start
positions from the store instead of Kafka. The fold, which does not know Faust, guarantees that nothing is
lost or applied twice.
"""

import asyncio
import logging
import os
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, cast

import faust
from aiokafka.client import AIOKafkaClient
from aiokafka.consumer import consumer
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.errors import GroupCoordinatorNotAvailableError, KafkaConnectionError
from aiokafka.producer import producer
from faust.auth import SASLCredentials, SSLCredentials
from faust.transport.drivers import aiokafka as driver
from faust.types import TP, ChannelT, EventT, StreamT
from mode import CrashingSupervisor
from mode.loop import use as use_loop

from shared.basics.errors import LightwaveError
from shared.runtimes.live.kafka.brokers import Brokers
from shared.runtimes.live.kafka.kafka_errors import kafka_unreachable
from shared.runtimes.live.kafka.layout import Endpoints
from shared.runtimes.live.kafka.non_utf8_headers import accept_non_utf8_headers
from shared.runtimes.live.kafka.records import Record, record_of

BOOTSTRAP_S_MAX = 20.0
"""How long a consumer or producer that starts tries to reach Kafka."""
BOOTSTRAP_RETRY_S = 0.5


def wait_for_kafka(brokers: Brokers) -> None:
    """Let consumers and producers of this process retry while Kafka starts. Call this before the first one is
    created.

    While a starting Kafka names no broker, aiokafka asserts that this cannot happen, and then never looks for
    its group's coordinator again. If Kafka is not reachable when one of them starts, aiokafka raises,
    and Faust writes seven tracebacks; this retries for `BOOTSTRAP_S_MAX`, then exits the process with one
    sentence."""

    class RetryingClient(AIOKafkaClient):  # type: ignore[misc]  # aiokafka ships no types
        async def bootstrap(self) -> None:
            until_s = time.monotonic() + BOOTSTRAP_S_MAX
            while True:
                try:
                    await super().bootstrap()
                    return
                except KafkaConnectionError as error:
                    if time.monotonic() > until_s:
                        with _exit_on_error():
                            raise kafka_unreachable(brokers, error) from None
                await asyncio.sleep(BOOTSTRAP_RETRY_S)

        async def coordinator_lookup(self, coordinator_type: int, coordinator_key: str) -> Any:
            if self.get_random_node() is None:
                raise GroupCoordinatorNotAvailableError("Kafka names no broker yet")
            return await super().coordinator_lookup(coordinator_type, coordinator_key)

    consumer.AIOKafkaClient = producer.AIOKafkaClient = RetryingClient


Assignor = type[RoundRobinPartitionAssignor]


def partition_assignor(topic: str, partitions: int) -> Assignor:
    """A round-robin assignor over the known partitions of a topic, whatever the leader's client knows.

    After a broker stood still, a leader may join before its client knows the topic, and would assign nothing.
    Kafka keeps the assignment of a member that returns under its name. So a worker that exits for that reason
    and restarts would get nothing again, forever.
    """
    known = _TopicPartitions({topic: set(range(partitions))})

    class KnownPartitionsAssignor(RoundRobinPartitionAssignor):  # type: ignore[misc]  # aiokafka ships no types
        @classmethod
        def assign(cls, _cluster: Any, members: Mapping[str, Any]) -> Mapping[str, Any]:
            assignment: Mapping[str, Any] = super().assign(known, members)
            return assignment

    return KnownPartitionsAssignor


class _TopicPartitions:
    """The part of a client's metadata that the assignor uses."""

    def __init__(self, partitions: Mapping[str, set[int]]) -> None:
        self._partitions = partitions

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        return self._partitions.get(topic)


BATCH = 500
"""Maximum records of one batch, over all partitions."""
WITHIN_S = 0.005
"""How long a batch may fill."""
PAUSE_S = 0.001
"""A batch is complete if no record arrives for this long: Faust passes on fetched records one by one."""
REQUEST_S_MAX = 20

log = logging.getLogger("lightwave.live")


class Feed(Protocol):
    """The receiver of the records."""

    def begin(self, partitions: Iterable[int]) -> dict[int, int]:
        """These partitions were assigned to this process; returns partition → the offset to read from."""

    def take(self, partition: int, records: Sequence[Record]) -> None:
        """Apply and commit. An exception stops the process."""


@dataclass(frozen=True, slots=True)
class PumpOptions:
    """`replica` is the name of this process in its group; a process that returns under its name gets its
    partitions back at once."""

    endpoints: Endpoints
    group: str
    replica: str
    partitions: int


def run_pump(options: PumpOptions, feed: Feed, end: Callable[[], None]) -> None:
    """Run until SIGTERM, SIGINT or a failed batch. Exits the process; calls `end` before a graceful exit."""
    use_loop("uvloop")
    accept_non_utf8_headers()
    wait_for_kafka(options.endpoints.kafka)
    # Faust accepts no other assignor, so replace the class that it imports; this process has only one group.
    assignor = partition_assignor(options.endpoints.topics.log, options.partitions)
    driver.RoundRobinPartitionAssignor = assignor  # type: ignore[attr-defined]  # a name that it imports
    logging.getLogger(__name__).setLevel(logging.WARNING)  # log lines of Faust through the classes below
    app = _app(options, _ExitOnFailure(feed))
    worker = _worker(app, end)
    worker.execute_from_commandline()


class _ExitOnFailure:
    """A feed that exits the process at once on failure: Faust's own shutdown may stall, and has nothing to
    save."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed

    def begin(self, partitions: Iterable[int]) -> dict[int, int]:
        with _exit_on_error():
            return self._feed.begin(partitions)
        raise AssertionError  # unreachable: the context manager exits the process

    def take(self, partition: int, records: Sequence[Record]) -> None:
        with _exit_on_error():
            self._feed.take(partition, records)


@contextmanager
def _exit_on_error() -> Iterator[None]:
    try:
        yield
    except LightwaveError as error:
        log.error("%s", error)  # noqa: TRY400 -- the sentence is complete
        _exit(error.exit_code)
    except Exception:
        log.exception("batch failed")
        _exit(1)


def _exit(code: int) -> None:
    logging.shutdown()
    os._exit(code)


def _worker(app: faust.App, end: Callable[[], None]) -> faust.Worker:
    class Worker(faust.Worker):
        """Exits at once: committed data is in the store, and the rest is read again."""

        def _on_sigterm(self) -> None:
            end()
            _exit(0)

        _on_sigint = _on_sigterm

    return Worker(app, loglevel="WARN", override_logging=False, redirect_stdouts=False, quiet=True)


def _app(options: PumpOptions, feed: Feed) -> faust.App:
    brokers = options.endpoints.kafka
    app = faust.App(
        options.group,
        broker=";".join(f"kafka://{address}" for address in brokers.addresses),
        broker_credentials=credentials(brokers),
        store="memory://",
        web_enabled=False,
        topic_disable_leader=True,
        topic_allow_declare=False,
        topic_partitions=options.partitions,
        table_standby_replicas=0,
        stream_wait_empty=False,
        broker_session_timeout=10,
        broker_heartbeat_interval=2,
        broker_rebalance_timeout=20,
        broker_request_timeout=REQUEST_S_MAX,
        broker_commit_interval=1,
        broker_max_poll_records=1000,
        stream_buffer_maxsize=4096,
        consumer_auto_offset_reset="earliest",
        consumer_group_instance_id=options.replica,
        agent_supervisor=CrashingSupervisor,
        autodiscover=False,
        datadir=tempfile.gettempdir(),  # Faust creates it, but stores nothing there
    )
    app.transport = _transport(app, feed, options.endpoints.topics.log)
    topic = app.topic(
        options.endpoints.topics.log,
        key_type=bytes,
        value_type=bytes,
        key_serializer="raw",
        value_serializer="raw",
    )

    async def fold(stream: StreamT[bytes]) -> AsyncIterator[None]:
        stream.enable_acks = False
        async for events in _batches(stream):
            for partition, records in _by_partition(events).items():
                feed.take(partition, records)
            for event in events:
                await stream.ack(event)
        yield  # an agent is a generator

    # Like `app.agent`, but without its search through all modules for the calling file.
    name = f"{options.group}.fold"
    app.agents[name] = faust.Agent(
        fold, name=name, app=app, channel=topic, concurrency=1, supervisor_strategy=CrashingSupervisor
    )
    return app


async def _batches(stream: StreamT[bytes]) -> AsyncIterator[list[EventT[Any]]]:
    """The events in batches, each ended when no more are on their way. Faust's own `take` polls 200 times a
    second, which keeps an idle worker busy."""
    channel = cast("ChannelT[bytes]", stream.channel)
    events: list[EventT[Any]] = []
    until_s = 0.0
    async for _ in stream:
        event = cast("EventT[Any]", stream.current_event)  # a topic yields only events
        if events and event.message.generation_id != events[0].message.generation_id:
            events = []  # partitions were reassigned: these records are read again
        if not events:
            until_s = time.monotonic() + WITHIN_S
        events.append(event)
        if len(events) < BATCH and time.monotonic() < until_s:
            if channel.empty():
                await asyncio.sleep(PAUSE_S)
            if not channel.empty():
                continue
        yield events
        events = []


def credentials(brokers: Brokers) -> SASLCredentials | SSLCredentials | None:
    """The login settings of other clients, for Faust."""
    arguments = brokers.arguments()
    if brokers.is_sasl:
        return SASLCredentials(
            username=arguments["sasl_plain_username"],
            password=arguments["sasl_plain_password"],
            ssl_context=arguments.get("ssl_context"),
            mechanism=arguments["sasl_mechanism"],
        )
    return SSLCredentials(arguments["ssl_context"]) if brokers.is_tls else None


def _by_partition(events: Iterable[EventT[Any]]) -> Mapping[int, list[Record]]:
    by_partition: dict[int, list[Record]] = defaultdict(list)
    for event in events:
        message = event.message
        headers: Any = message.headers
        pairs = headers.items() if isinstance(headers, Mapping) else headers
        by_partition[message.partition].append(
            record_of(message.partition, message.offset, message.value, pairs)
        )
    return by_partition


def _transport(app: faust.App, feed: Feed, topic: str) -> driver.Transport:
    """Faust's transport, with a consumer that starts at the store's positions."""

    class Consumer(driver.Consumer):
        async def perform_seek(self) -> None:
            await super().perform_seek()
            starts = feed.begin(tp.partition for tp in self.assignment() if tp.topic == topic)
            seek_offsets = {TP(topic, partition): offset for partition, offset in starts.items()}
            if seek_offsets:
                await self.seek_wait(seek_offsets)
            for place, offset in seek_offsets.items():
                self._committed_offset[place] = offset or None
                self._read_offset[place] = offset or None

    class Transport(driver.Transport):
        pass

    Transport.Consumer = Consumer
    return Transport(app.conf.broker, app, loop=app.loop)
