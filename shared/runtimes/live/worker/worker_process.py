"""The worker process: store, twin, health server, and the pump that feeds the folds."""

import logging
from collections.abc import Callable
from functools import partial
from importlib import import_module

from kafka import KafkaProducer
from kafka.errors import KafkaError

from shared.engine.code_version import RULES, StateCodeVersion
from shared.engine.state_layout import state_layouts
from shared.runtimes.live.kafka.kafka_errors import kafka_unreachable
from shared.runtimes.live.kafka.layout import Endpoints
from shared.runtimes.live.kafka.topic_admin import topic_id
from shared.runtimes.live.live_status import DelayMonitor
from shared.runtimes.live.process.health import HealthServer, MetricSample, ProcessReport
from shared.runtimes.live.process.process_registry import ProcessInfo
from shared.runtimes.live.process.startup import ProcessOptions, join_twin
from shared.runtimes.live.process.version_guard import VersionGuard
from shared.runtimes.live.refused_states import note_refusal
from shared.runtimes.live.server_checks import ServerChecks
from shared.runtimes.live.worker.faust_pump import PumpOptions, run_pump
from shared.runtimes.live.worker.offset_gaps import reread_gaps
from shared.runtimes.live.worker.partition_fold import Publish, ServedService
from shared.runtimes.live.worker.watchdog import WorkerWatchdog
from shared.runtimes.live.worker.worker_folds import WorkerFolds
from shared.storage.store.redis_store import RedisStore

FRAME_S_MAX = 10

log = logging.getLogger("lightwave.live")


def serve_worker(served: ServedService, options: ProcessOptions) -> None:
    """Run a worker of this service until the process is told to stop; exits the process."""
    endpoints = options.endpoints
    store = RedisStore(endpoints.redis, cluster=endpoints.redis_cluster)
    code = StateCodeVersion(RULES, state_layouts(served.by_kind.values()), options.software)
    twin = join_twin(store, endpoints, options.replica, code, wait_s=options.wait_s)
    sends = any(service.telemetry is not None for service in served.by_kind.values())
    digests = endpoints.digests(twin.twin)
    guards = [VersionGuard(store, twin.partitions, digests, code) for _ in range(2)]
    publish = _publisher(endpoints, store, guards[0].check) if sends else None
    fill = reread_gaps(endpoints.kafka, endpoints.topics.log)
    folds = WorkerFolds(
        served,
        twin.twin,
        store,
        publish,
        fill,
        options.software,
        digests,
        partial(note_refusal, store),
    )
    watch = WorkerWatchdog(
        served.name,
        store,
        folds.fold_progress,
        lambda: topic_id(endpoints.kafka, endpoints.topics.log),
        twin.topic_id,
        served.by_kind,
    )
    server_checks = ServerChecks(store, endpoints, twin)
    delays = DelayMonitor(store, served.services_of)
    health = HealthServer(
        ProcessInfo(options.replica, "worker", served.name),
        store,
        lambda: _report(folds, watch),
        lambda: guards[1]() or watch.check(),
        host=options.metrics_host,
        port=options.metrics_port,
        dependency_problems=lambda: [*server_checks.problems, *delays.problems()],
    )
    health.start()
    server_checks.start()
    try:
        group = endpoints.topics.group(served.name)
        run_pump(PumpOptions(endpoints, group, options.replica, twin.partitions), folds, health.stop)
    finally:
        health.stop()


def _publisher(endpoints: Endpoints, store: RedisStore, check_version: Callable[[], None]) -> Publish:
    """Publish frames before the commit, after a check of the version: to Kafka, and the newest to Redis. A
    failure stops the process."""
    import_module(
        "pyarrow"
    )  # renders the frames; load it now, because later there may be no file descriptor left
    try:
        producer = KafkaProducer(
            **endpoints.kafka.arguments(), acks="all", linger_ms=0, max_request_size=8_000_000
        )
    except KafkaError as error:
        raise kafka_unreachable(endpoints.kafka, error) from None

    def publish(name: str, at_us: int, frame: bytes) -> None:
        check_version()
        headers = [("at_us", str(at_us).encode())]
        try:
            sent = producer.send(endpoints.topics.telemetry, value=frame, key=name.encode(), headers=headers)
            sent.get(timeout=FRAME_S_MAX)
        except KafkaError as error:
            raise kafka_unreachable(endpoints.kafka, error) from None
        store.keep_frame(name, frame)

    return publish


def _report(folds: WorkerFolds, watch: WorkerWatchdog) -> ProcessReport:
    fold_progress = folds.fold_progress()
    counts = folds.counts
    samples = [
        MetricSample("messages_total", counts.messages, "messages read"),
        MetricSample("commits_total", counts.commits, "committed transactions"),
        MetricSample("repeats_total", counts.repeats, "messages dropped as repeats"),
        MetricSample("refusals_total", counts.refusals, "commits refused by the fence"),
        MetricSample("dead_letters_total", counts.dead_letters, "messages that could not be read"),
        *(
            MetricSample("position", place.position, "offset of the next message", (("partition", str(p)),))
            for p, place in fold_progress.items()
        ),
        *(
            MetricSample("lag_messages", lag, "messages not read yet", (("partition", str(p)),))
            for p, lag in watch.lags.items()
        ),
    ]
    problems = tuple(place.stopped.sentence for place in fold_progress.values() if place.stopped is not None)
    return ProcessReport(tuple(fold_progress), problems + watch.problems, tuple(samples), {})
