"""`lightwave live sequencer`: the process of the only writer of the log."""

import asyncio
import signal

from services.fleet import SUPERPOD
from shared.runtimes.live.clock import LiveClock, stood_still
from shared.runtimes.live.kafka.appender import KafkaAppender
from shared.runtimes.live.process.health import ProcessFrame, Report, Sample
from shared.runtimes.live.process.heartbeat import About
from shared.runtimes.live.sequencer.loop import Relay
from shared.runtimes.live.twin_record import TwinNote, read_twin
from shared.runtimes.live.worker.process import ProcessOptions, check_log
from shared.storage.redis_store import RedisStore


def run_sequencer(options: ProcessOptions) -> None:
    """Run until SIGTERM or SIGINT."""
    places = options.places
    store = RedisStore(places.redis, cluster=places.redis_cluster)
    store.check()
    twin = read_twin(store)
    check_log(places, twin)
    if stood_still(store):
        # The time for which nobody kept the clock is not made up in a jump.
        LiveClock(store, [service.name for service in SUPERPOD], lambda: 0.0).anchor()
    asyncio.run(_run(options, store, twin))


async def _run(options: ProcessOptions, store: RedisStore, twin: TwinNote) -> None:
    appender = KafkaAppender(options.places.kafka, options.places.topics)
    relay = Relay(twin, store, appender)
    frame = ProcessFrame(
        About(options.replica, "sequencer"),
        store,
        lambda: _report(relay),
        lambda: None,
        host=options.metrics_host,
        port=options.metrics_port,
    )
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, relay.stop)
    frame.start()
    try:
        await relay.run()
    finally:
        frame.stop()
        await appender.close()


def _report(relay: Relay) -> Report:
    written = relay.written
    samples = (
        Sample("sayings_total", written.sayings, "messages of services appended"),
        Sample("roots_total", written.roots, "requests and Ticks appended"),
        Sample("appends_total", written.appends, "times that Kafka was waited for"),
        Sample("voids_total", written.voids, "root messages that missed their offset"),
        Sample("dead_letters_total", written.dead_letters, "dead letters appended"),
        Sample("held_still_seconds_total", relay.held_still_s, "time that should have advanced and did not"),
        Sample("speed_held", relay.held_speed(), "simulated over wall time, over the last seconds"),
    )
    # A copy: the relay goes on meanwhile.
    problems = tuple(problem for _, problem in sorted(relay.problems.copy().items()))
    extra = {"held_speed": relay.held_speed(), "roots": written.roots, "appends": written.appends}
    return Report(tuple(sorted(relay.sequencers)), problems, samples, extra)
