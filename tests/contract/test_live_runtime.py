"""The contract of the runtimes, on a real Kafka and a real Redis: workers and a sequencer, each a process of
its own, whose clock the test moves.
"""

import time
from pathlib import Path

import pytest

from ops.live.rebuild import digest
from ops.live.settings import LiveSettings
from ops.servers.both import LocalKafka, LocalRedis
from ops.soak.twin import TwinOptions, WholeTwin
from schemas.body import Body
from schemas.config import SuperpodConfig
from services.fleet import service_names
from shared.runtimes.live.clock import Epoch, write_epoch
from shared.runtimes.live.kafka.records import Record
from shared.runtimes.live.kafka.scan import read_partition
from tests.contract.test_runtime import CONFIG, END_US, SCRIPT, Drive, Driven, RuntimeContract

QUIET_S_MAX = 120.0


class DrivenLive:
    """A live twin whose clock stands still until the test moves it."""

    def __init__(self, folder: Path, kafka: LocalKafka, redis: LocalRedis, config: SuperpodConfig) -> None:
        prefix = f"contract-{time.time_ns()}"
        options = TwinOptions(prefix=prefix, doubled=("scheduler",), partitions=2)
        self.twin = WholeTwin(folder, kafka, redis, options)
        self.settings = LiveSettings(kafka=kafka.bootstrap, redis=redis.url, prefix=prefix, data=folder)
        self.store = self.twin.store
        self.store.flush()
        sets = [word for pair in as_pairs(config) for word in ("--set", pair)]
        made = self.twin.run(
            *("live", "init", "--paused", "--partitions", "2", "--seed", str(config.seed)), *sets
        )
        assert made.returncode == 0, made.stderr
        for name in self.twin.workers:
            self.twin.start_worker(name)
        self.twin.start_sequencer("sequencer")

    def advance(self, to_us: int) -> None:
        """Let simulated time come to `to_us`, and all that follows from it happen."""
        write_epoch(self.store, Epoch(to_us, self.store.wall_us(), 1.0, paused=True))
        until_s = time.monotonic() + QUIET_S_MAX
        while not self._is_done(to_us):
            assert time.monotonic() < until_s, self.twin.words()
            time.sleep(0.01)

    def ask(self, at_us: int, body: Body) -> None:
        """Put a request into the inbox at this simulated time, before the Ticks of that time: no sequencer
        runs while the clock is moved."""
        self.advance(at_us - 1)
        self.twin.supervisor.drop("sequencer")
        write_epoch(self.store, Epoch(at_us, self.store.wall_us(), 1.0, paused=True))
        self.store.put(0, "pod-0", body, None)
        self.twin.start_sequencer("sequencer")
        self.advance(at_us)

    def driven(self) -> Driven:
        lines = [record.value for record in self.records()]
        return Driven(lines, digest(self.store, self.store.fabrics()))

    def records(self) -> list[Record]:
        batches = read_partition(self.settings.kafka, self.settings.endpoints.topics.log, 0)
        return [record for batch in batches for record in batch if not record.is_void]

    def _is_done(self, clock_us: int) -> bool:
        moment = self.store.view(0, 1)
        positions = {moment.positions.get(service, 0) for service in service_names()}
        dues = [row.due_us for row in moment.progress.values() if row.due_us is not None]
        quiet = positions == {int(moment.values.get("end", -1))} and not moment.outbox and not moment.waiting
        return quiet and min(dues) > clock_us


def as_pairs(config: SuperpodConfig) -> list[str]:
    """The configuration as `--set` takes it: what differs from the defaults."""
    changed = config.model_dump(exclude_defaults=True)
    changed.pop("seed", None)
    return [f"{part}.{name}={value}" for part, values in changed.items() for name, value in values.items()]


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory, kafka: LocalKafka, live_redis: LocalRedis) -> Driven:
    """The script is driven once for all tests: it takes a minute."""
    live = DrivenLive(tmp_path_factory.mktemp("live"), kafka, live_redis, CONFIG)
    try:
        for at_us, body in SCRIPT:
            live.ask(at_us, body)
        live.advance(END_US)
        return live.driven()
    finally:
        live.twin.stop()


class TestLive(RuntimeContract):
    @pytest.fixture
    def driven(self, once: Driven) -> Driven:
        return once

    @pytest.fixture
    def drive(self, tmp_path: Path, kafka: LocalKafka, live_redis: LocalRedis) -> Drive:
        def drive(config: SuperpodConfig, script: list[tuple[int, Body]], end_us: int) -> Driven:
            live = DrivenLive(tmp_path / "other", kafka, live_redis, config)
            try:
                for at_us, body in script:
                    live.ask(at_us, body)
                live.advance(end_us)
                return live.driven()
            finally:
                live.twin.stop()

        return drive
