"""The pump: a Faust worker that brings batches of records to the folds, and nothing else.

Faust acknowledges before a handler is done, forgets what it was told to keep, and may stall. So it is held
like this: raw bytes, one event at a time acknowledged after the commit, an end of the process whenever a
batch raises, and the position to start from taken from the store and not from Kafka. The promise that nothing
is lost or applied twice is kept by `fold`, which knows nothing of Faust.
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
from aiokafka.errors import GroupCoordinatorNotAvailableError
from faust.auth import SASLCredentials, SSLCredentials
from faust.transport.drivers import aiokafka as driver
from faust.types import TP, ChannelT, EventT, StreamT
from mode import CrashingSupervisor
from mode.loop import use as use_loop

from shared.basics.errors import LightwaveError
from shared.runtimes.live.kafka.brokers import Brokers
from shared.runtimes.live.kafka.layout import Endpoints
from shared.runtimes.live.kafka.non_utf8_headers import accept_non_utf8_headers
from shared.runtimes.live.kafka.records import Record, record_of

# A Kafka that is starting answers, and names no broker yet.
#
# A consumer of aiokafka that meets this asserts that it cannot be, after which it looks for its group's
# coordinator no more. Here it is told to ask again, as for any other answer that will be another soon.


def retry_without_brokers() -> None:
    """Let the consumers of this process outlive such an answer; called before the first is made."""
    consumer.AIOKafkaClient = _RetryingClient


class _RetryingClient(AIOKafkaClient):  # type: ignore[misc]  # aiokafka ships no types
    async def coordinator_lookup(self, coordinator_type: int, coordinator_key: str) -> Any:
        if self.get_random_node() is None:
            raise GroupCoordinatorNotAvailableError("Kafka names no broker yet")
        return await super().coordinator_lookup(coordinator_type, coordinator_key)


# How the leader of a worker's group shares the partitions of the log among its members.

Assignor = type[RoundRobinPartitionAssignor]


def partition_assignor(topic: str, partitions: int) -> Assignor:
    """Round robin, over the partitions that a topic is known to have whatever the leader's client was told.

    After a broker that stood still, a leader may join before its client has heard of the topic. It would then
    give nobody anything; and Kafka keeps what a member has for one that comes back under its name, so that a
    worker which ends for that and is started again would be given nothing again, for ever.
    """
    known = _TopicPartitions({topic: set(range(partitions))})

    class KnownPartitionsAssignor(RoundRobinPartitionAssignor):  # type: ignore[misc]  # aiokafka ships no types
        @classmethod
        def assign(cls, _cluster: Any, members: Mapping[str, Any]) -> Mapping[str, Any]:
            found: Mapping[str, Any] = super().assign(known, members)
            return found

    return KnownPartitionsAssignor


class _TopicPartitions:
    """As much of a client's metadata as is asked for."""

    def __init__(self, partitions: Mapping[str, set[int]]) -> None:
        self._partitions = partitions

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        return self._partitions.get(topic)


BATCH = 500
"""Records of one batch, over all partitions."""
WITHIN_S = 0.005
"""How long a batch may fill."""
PAUSE_S = 0.001
"""Where no record comes for so long, a batch is whole: Faust hands on what it fetched at once one by one."""
REQUEST_S_MAX = 20

log = logging.getLogger("lightwave.live")


class Feed(Protocol):
    """Where the records go."""

    def begin(self, partitions: Iterable[int]) -> dict[int, int]:
        """These partitions are ours now; partition → the offset to read from."""

    def take(self, partition: int, records: Sequence[Record]) -> None:
        """Apply and commit. What it raises ends the process."""


@dataclass(frozen=True, slots=True)
class PumpOptions:
    """`replica` is the name of this process among those of its group: one that comes again under the same
    name gets its partitions back at once."""

    endpoints: Endpoints
    group: str
    replica: str
    partitions: int


def run_pump(options: PumpOptions, feed: Feed, end: Callable[[], None]) -> None:
    """Feed until the process is told to end, by SIGTERM or SIGINT, or a batch raises. Ends the process; calls
    `end` before it does so in good order."""
    use_loop("uvloop")
    accept_non_utf8_headers()
    retry_without_brokers()
    # Faust takes nobody else's assignor; this process has one group only.
    sharing = partition_assignor(options.endpoints.topics.log, options.partitions)
    driver.RoundRobinPartitionAssignor = sharing  # type: ignore[attr-defined]  # a name that it imports
    logging.getLogger(__name__).setLevel(logging.WARNING)  # what Faust says through the classes below
    app = _app(options, _ExitOnFailure(feed))
    worker = _worker(app, end)
    worker.execute_from_commandline()


class _ExitOnFailure:
    """A feed whose failure ends the process at once: Faust's own way to its end may stall half-way, and has
    nothing to save."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed

    def begin(self, partitions: Iterable[int]) -> dict[int, int]:
        with _exit_on_error():
            return self._feed.begin(partitions)
        raise AssertionError  # never reached: it ends the process

    def take(self, partition: int, records: Sequence[Record]) -> None:
        with _exit_on_error():
            self._feed.take(partition, records)


@contextmanager
def _exit_on_error() -> Iterator[None]:
    try:
        yield
    except LightwaveError as error:
        log.error("%s", error)  # noqa: TRY400 -- its sentence says it all
        _exit(error.exit_code)
    except Exception:
        log.exception("a batch")
        _exit(1)


def _exit(code: int) -> None:
    logging.shutdown()
    os._exit(code)


def _worker(app: faust.App, end: Callable[[], None]) -> faust.Worker:
    class Worker(faust.Worker):
        """Ends at once: whatever is committed is in the store, and the rest is read again."""

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
        datadir=tempfile.gettempdir(),  # Faust makes it, though nothing is kept there
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

    # As `app.agent` does, which also looks through all modules for the file that it is called in.
    name = f"{options.group}.fold"
    app.agents[name] = faust.Agent(
        fold, name=name, app=app, channel=topic, concurrency=1, supervisor_strategy=CrashingSupervisor
    )
    return app


async def _batches(stream: StreamT[bytes]) -> AsyncIterator[list[EventT[Any]]]:
    """What comes, in batches that end where nothing more is on its way. Faust's own `take` looks 200 times a
    second whether something has come, which keeps an idle worker busy."""
    channel = cast("ChannelT[bytes]", stream.channel)
    events: list[EventT[Any]] = []
    until_s = 0.0
    async for _ in stream:
        event = cast("EventT[Any]", stream.current_event)  # a topic gives nothing else
        if events and event.message.generation_id != events[0].message.generation_id:
            events = []  # the partitions were given out anew since: they are read again
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
    """What other clients are given, in Faust's words."""
    given = brokers.arguments()
    if brokers.is_sasl:
        return SASLCredentials(
            username=given["sasl_plain_username"],
            password=given["sasl_plain_password"],
            ssl_context=given.get("ssl_context"),
            mechanism=given["sasl_mechanism"],
        )
    return SSLCredentials(given["ssl_context"]) if brokers.is_tls else None


def _by_partition(events: Iterable[EventT[Any]]) -> Mapping[int, list[Record]]:
    found: dict[int, list[Record]] = defaultdict(list)
    for event in events:
        message = event.message
        headers: Any = message.headers
        pairs = headers.items() if isinstance(headers, Mapping) else headers
        found[message.partition].append(record_of(message.partition, message.offset, message.value, pairs))
    return found


def _transport(app: faust.App, feed: Feed, topic: str) -> driver.Transport:
    """Faust's transport, with a consumer that begins where the store stands."""

    class Consumer(driver.Consumer):
        async def perform_seek(self) -> None:
            await super().perform_seek()
            starts = feed.begin(tp.partition for tp in self.assignment() if tp.topic == topic)
            endpoints = {TP(topic, partition): offset for partition, offset in starts.items()}
            if endpoints:
                await self.seek_wait(endpoints)
            for place, offset in endpoints.items():
                self._committed_offset[place] = offset or None
                self._read_offset[place] = offset or None

    class Transport(driver.Transport):
        pass

    Transport.Consumer = Consumer
    return Transport(app.conf.broker, app, loop=app.loop)
