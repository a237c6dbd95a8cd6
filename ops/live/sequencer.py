"""`lightwave live sequencer`: the process of the only writer of the log."""

import asyncio
import signal

from services.roster import names_of
from shared.engine.rules import RULES, StatesCode
from shared.runtimes.live.kafka.appender import KafkaAppender
from shared.runtimes.live.kafka.operations import KafkaOperations
from shared.runtimes.live.process.health import HealthServer, Report, Sample
from shared.runtimes.live.process.heartbeat import ProcessInfo
from shared.runtimes.live.process.joining import ProcessOptions, join_twin
from shared.runtimes.live.sequencer.loop import SequencerLoop
from shared.runtimes.live.status import Delays
from shared.runtimes.live.surroundings import Surroundings
from shared.runtimes.live.twin_record import TwinRecord
from shared.storage.redis_store import RedisStore


def run_sequencer(options: ProcessOptions) -> None:
    """Run until SIGTERM or SIGINT."""
    endpoints = options.endpoints
    store = RedisStore(endpoints.redis, cluster=endpoints.redis_cluster)
    code = StatesCode(RULES, {}, options.software)
    twin = join_twin(store, endpoints, options.replica, code, wait_s=options.wait_s)
    asyncio.run(_run(options, store, twin))


async def _run(options: ProcessOptions, store: RedisStore, twin: TwinRecord) -> None:
    appender = KafkaAppender(options.endpoints.kafka, options.endpoints.topics)
    operations = KafkaOperations(options.endpoints)
    relay = SequencerLoop(twin, names_of, store, appender, operations, options.software)
    surroundings = Surroundings(store, options.endpoints, twin)
    health = HealthServer(
        ProcessInfo(options.replica, "sequencer"),
        store,
        lambda: _report(relay, surroundings),
        lambda: None,
        host=options.metrics_host,
        port=options.metrics_port,
        around=Delays(store, names_of).problems,
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


def _report(relay: SequencerLoop, surroundings: Surroundings) -> Report:
    written = relay.written
    samples = (
        Sample("sayings_total", written.outbox, "messages of services appended"),
        Sample("roots_total", written.roots, "requests and Ticks appended"),
        Sample("appends_total", written.appends, "times that Kafka was waited for"),
        Sample("voids_total", written.voids, "root messages that missed their offset"),
        Sample("dead_letters_total", written.dead_letters, "dead letters appended"),
        Sample("held_still_seconds_total", relay.stalled_s, "time that should have advanced and did not"),
        Sample("speed_held", relay.achieved_speed(), "simulated over wall time, over the last seconds"),
    )
    problems = (*relay.trouble, *surroundings.problems)
    extra = {"achieved_speed": relay.achieved_speed(), "roots": written.roots, "appends": written.appends}
    return Report(tuple(sorted(relay.sequencers)), problems, samples, extra)
