"""`lightwave live sequencer`: the only process that writes the log."""

import asyncio
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from services.service_names import SERVICES_WITH_QUERIES, services_by_name
from shared.basics.errors import OperationFailed
from shared.engine.code_version import RULES, StateCodeVersion
from shared.engine.site import ServicesOf
from shared.runtimes.live.kafka.appender import KafkaAppender
from shared.runtimes.live.kafka.operations_topic import KafkaOperations
from shared.runtimes.live.live_status import DelayMonitor
from shared.runtimes.live.process.health import HealthServer, MetricSample, ProcessReport
from shared.runtimes.live.process.process_registry import ProcessExtra, ProcessInfo
from shared.runtimes.live.process.startup import ProcessOptions, join_twin
from shared.runtimes.live.process.version_guard import VersionGuard
from shared.runtimes.live.sequencer.sequencer_loop import SequencerLoop
from shared.runtimes.live.sequencer.tick_readings import TickReader
from shared.runtimes.live.server_checks import ServerChecks
from shared.runtimes.live.twin_record import TwinRecord
from shared.storage.store.redis_store import RedisStore

POLL_S = 0.2
"""Interval at which the end of a rebuild is checked."""


def run_sequencer(options: ProcessOptions, config: Path | None = None) -> None:
    """Run until SIGTERM or SIGINT. `config` is the settings file, for a rebuild."""
    endpoints = options.endpoints
    store = RedisStore(endpoints.redis, cluster=endpoints.redis_cluster)
    code = StateCodeVersion(RULES, {}, options.software)
    twin = join_twin(store, endpoints, options.replica, code, wait_s=options.wait_s)
    own = [] if config is None else ["--config", str(config)]
    command = [sys.executable, "-m", "ops.cli", "live", "rebuild", *own]
    asyncio.run(_run(options, store, twin, command, code))


def _rebuild(command: Sequence[str], is_stopping: Callable[[], bool]) -> None:
    """Run `lightwave live rebuild` in a separate process, because it needs every service and all cores.
    Raises OperationFailed with its last sentence if it fails."""
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(  # noqa: S603 -- our own command, no shell
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors
        )
        while process.poll() is None:
            if is_stopping():
                process.terminate()
                return
            time.sleep(POLL_S)
        if process.returncode:
            errors.seek(0)
            lines = errors.read().decode(errors="replace").strip().splitlines()
            raise OperationFailed(f"lightwave live rebuild: {lines[-1] if lines else 'failed'}")


def _all_services() -> ServicesOf:
    """The services of all kinds of fabrics. Only a twin that runs a drill imports them here."""
    from services.fabric_kinds import services_of

    return services_of


async def _run(
    options: ProcessOptions,
    store: RedisStore,
    twin: TwinRecord,
    rebuild_command: Sequence[str],
    code: StateCodeVersion,
) -> None:
    digests = options.endpoints.digests(twin.twin)

    def guard() -> VersionGuard:
        return VersionGuard(store, twin.partitions, digests, code)

    appender = KafkaAppender(options.endpoints.kafka, options.endpoints.topics)
    operations = KafkaOperations(options.endpoints)
    relay = SequencerLoop(
        twin,
        services_by_name,
        store,
        appender,
        operations,
        options.software,
        digests,
        partial(_rebuild, rebuild_command),
        (guard(), guard()),
        TickReader(SERVICES_WITH_QUERIES, _all_services),
    )
    surroundings = ServerChecks(store, options.endpoints, twin)
    health = HealthServer(
        ProcessInfo(options.replica, "sequencer"),
        store,
        lambda: _report(relay, surroundings),
        guard(),
        host=options.metrics_host,
        port=options.metrics_port,
        dependency_problems=DelayMonitor(store, services_by_name).problems,
    )
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, relay.stop)
    health.start()
    surroundings.start()
    try:
        await relay.run()
    finally:
        surroundings.stop()
        health.stop()
        await appender.close()


def _report(relay: SequencerLoop, surroundings: ServerChecks) -> ProcessReport:
    written = relay.written
    samples = (
        MetricSample("service_messages_total", written.outbox, "messages of services appended to the log"),
        MetricSample("root_messages_total", written.roots, "requests and Ticks appended to the log"),
        MetricSample("appends_total", written.appends, "appends to Kafka"),
        MetricSample("voids_total", written.voids, "root messages that missed their offset and are void"),
        MetricSample("dead_letters_total", written.dead_letters, "dead letters appended"),
        MetricSample("readings_total", relay.read.ticks, "Ticks with readings of their site"),
        MetricSample("reading_states_total", relay.read.loaded, "states loaded for readings"),
        MetricSample("reading_seconds_total", relay.read.seconds, "wall time of readings"),
        MetricSample(
            "stalled_seconds_total",
            relay.stalled_s,
            "seconds for which simulated time should have advanced but did not",
        ),
        MetricSample(
            "speed_achieved", relay.achieved_speed(), "simulated over wall time, over the last seconds"
        ),
    )
    problems = (*relay.standstill_problems, *surroundings.problems)
    extra: ProcessExtra = {
        "achieved_speed": relay.achieved_speed(),
        "roots": written.roots,
        "appends": written.appends,
    }
    return ProcessReport(tuple(sorted(relay.sequencers)), problems, samples, extra)
