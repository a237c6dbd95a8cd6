"""The process around a live worker: its store, its twin, its health, and the pump that feeds it."""

import logging
from importlib import import_module

from kafka import KafkaProducer
from kafka.errors import KafkaError

from shared.engine.rules import RULES, StatesCode, forms_of
from shared.runtimes.live.kafka.layout import Endpoints
from shared.runtimes.live.kafka.topics import topic_id
from shared.runtimes.live.kafka.unreachable import unreachable
from shared.runtimes.live.process.health import HealthServer, Report, Sample
from shared.runtimes.live.process.heartbeat import ProcessInfo
from shared.runtimes.live.process.joining import ProcessOptions, join_twin
from shared.runtimes.live.status import Delays
from shared.runtimes.live.surroundings import Surroundings
from shared.runtimes.live.worker.fold import Publish, ServedService
from shared.runtimes.live.worker.gaps import gaps_read_again
from shared.runtimes.live.worker.pump import PumpOptions, run_pump
from shared.runtimes.live.worker.watchdog import WorkerWatch
from shared.runtimes.live.worker.worker import WorkerFolds
from shared.storage.redis_store import RedisStore

FRAME_S_MAX = 10

log = logging.getLogger("lightwave.live")


def serve_worker(served: ServedService, options: ProcessOptions) -> None:
    """Run a worker of this service, wherever it occurs, until the process is told to end; ends it."""
    endpoints = options.endpoints
    store = RedisStore(endpoints.redis, cluster=endpoints.redis_cluster)
    code = StatesCode(RULES, forms_of(served.by_kind.values()), options.software)
    twin = join_twin(store, endpoints, options.replica, code, wait_s=options.wait_s)
    sends = any(service.telemetry is not None for service in served.by_kind.values())
    publish = _publisher(endpoints, store) if sends else None
    fill = gaps_read_again(endpoints.kafka, endpoints.topics.log)
    folds = WorkerFolds(served, twin.twin, store, publish, fill, options.software)
    watch = WorkerWatch(
        served.name,
        store,
        folds.standing,
        lambda: topic_id(endpoints.kafka, endpoints.topics.log),
        twin.topic_id,
        served.by_kind,
    )
    surroundings = Surroundings(store, endpoints, twin)
    delays = Delays(store, served.services_of)
    health = HealthServer(
        ProcessInfo(options.replica, "worker", served.name),
        store,
        lambda: _report(folds, watch),
        watch.look,
        host=options.metrics_host,
        port=options.metrics_port,
        around=lambda: [*surroundings.problems, *delays.problems()],
    )
    health.start()
    surroundings.start()
    try:
        group = endpoints.topics.group(served.name)
        run_pump(PumpOptions(endpoints, group, options.replica, twin.partitions), folds, health.stop)
    finally:
        health.stop()


def _publisher(endpoints: Endpoints, store: RedisStore) -> Publish:
    """Frames go out before the commit, to Kafka and, as the newest, to Redis; one that is not taken ends the
    process."""
    import_module("pyarrow")  # makes the frames; later there may be no file descriptor left to load it
    try:
        producer = KafkaProducer(
            **endpoints.kafka.arguments(), acks="all", linger_ms=0, max_request_size=8_000_000
        )
    except KafkaError as error:
        raise unreachable(endpoints.kafka, error) from None

    def publish(name: str, at_us: int, frame: bytes) -> None:
        headers = [("at_us", str(at_us).encode())]
        try:
            sent = producer.send(endpoints.topics.telemetry, value=frame, key=name.encode(), headers=headers)
            sent.get(timeout=FRAME_S_MAX)
        except KafkaError as error:
            raise unreachable(endpoints.kafka, error) from None
        store.keep_frame(name, frame)

    return publish


def _report(folds: WorkerFolds, watch: WorkerWatch) -> Report:
    standing = folds.standing()
    counts = folds.counts
    samples = [
        Sample("messages_total", counts.messages, "messages read"),
        Sample("commits_total", counts.commits, "transactions"),
        Sample("repeats_total", counts.repeats, "messages dropped because they had been read before"),
        Sample("refusals_total", counts.refusals, "commits that the fence refused"),
        Sample("dead_letters_total", counts.dead_letters, "messages that could not be read"),
        *(
            Sample("position", place.position, "offset of the next message", (("partition", str(p)),))
            for p, place in standing.items()
        ),
        *(
            Sample("lag_messages", lag, "messages not read yet", (("partition", str(p)),))
            for p, lag in watch.lags.items()
        ),
    ]
    problems = tuple(place.stopped.sentence for place in standing.values() if place.stopped is not None)
    return Report(tuple(standing), problems + watch.problems, tuple(samples), {})
