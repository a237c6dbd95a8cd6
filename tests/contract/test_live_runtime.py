"""The contract of the runtimes on a real Kafka and a real Redis. Each worker and the sequencer is a process,
and the test moves their clock."""

import json
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from ops.live.rebuild import states_digest
from ops.live.settings import LiveSettings
from ops.servers.local_servers import LocalKafka, LocalRedis
from schemas.body import Body
from schemas.files.site_plan import SitePlan
from shared.runtimes.live.kafka.partition_reader import read_partition
from shared.runtimes.live.kafka.records import Record
from shared.runtimes.simulated_clock import Epoch
from tests.contract.test_runtime import (
    END_US,
    PLAN,
    SCRIPT,
    Drive,
    Driven,
    RuntimeContract,
    Script,
    query_loss,
)
from tests.soak.whole_twin import TwinOptions, WholeTwin
from tests.support.live_epoch import write_epoch

QUIET_S_MAX = 120.0


class DrivenLive:
    """A live twin whose clock moves only when the test moves it."""

    def __init__(
        self,
        folder: Path,
        kafka: LocalKafka,
        redis: LocalRedis,
        plan: SitePlan,
        options: TwinOptions | None = None,
    ) -> None:
        prefix = f"contract-{time.time_ns()}"
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "site.yaml"
        file.write_text(as_file(plan))
        options = replace(
            options or TwinOptions(doubled=("scheduler",)), prefix=prefix, partitions=2, site_files=(file,)
        )
        self.twin = WholeTwin(folder, kafka, redis, options)
        self.services = options.services
        """The services that are started, kept because `options` would read them from the file again."""
        self.settings = LiveSettings(kafka=kafka.bootstrap, redis=redis.url, prefix=prefix, data=folder)
        self.commissionings = len(plan.fabrics)
        """Messages on the log before the sequencer first records its end."""
        self.store = self.twin.store
        self.store.flush()
        made = self.twin.run("live", "init", "--paused", "--partitions", "2", "--site", str(file))
        assert made.returncode == 0, made.stderr
        for name in self.twin.workers:
            self.twin.start_worker(name)
        self.twin.start_sequencer("sequencer")

    def advance(self, to_us: int) -> None:
        """Let simulated time reach `to_us`, and wait until everything that follows is processed."""
        write_epoch(self.store, Epoch(to_us, self.store.wall_us(), 1.0, paused=True))
        until_s = time.monotonic() + QUIET_S_MAX
        while not self._is_done(to_us):
            assert time.monotonic() < until_s, self.twin.words()
            time.sleep(0.01)

    def put_request(self, at_us: int, fabric: str, body: Body) -> None:
        """Put a request into the inbox at this simulated time, before the Ticks of that time.

        If Ticks are due, the sequencer is stopped while the clock moves, although starting one takes seconds.
        """
        self.advance(at_us - 1)
        view = self.store.view(0, 1)
        has_ticks = any(row.due_us == at_us for row in view.progress.values())
        if has_ticks:
            self.twin.supervisor.drop("sequencer")
        write_epoch(self.store, Epoch(at_us, self.store.wall_us(), 1.0, paused=True))
        self.store.put(0, fabric, body)
        if has_ticks:
            self.twin.start_sequencer("sequencer")
        self.advance(at_us)

    def driven(self) -> Driven:
        lines = [record.value for record in self.records()]
        return Driven(lines, states_digest(self.store, self.store.fabrics()))

    def records(self) -> list[Record]:
        batches = read_partition(self.settings.endpoints.kafka, self.settings.endpoints.topics.log, 0)
        return [record for batch in batches for record in batch if not record.is_void]

    def _is_done(self, clock_us: int) -> bool:
        view = self.store.view(0, 1)
        positions = {view.positions.get(service, 0) for service in self.services}
        dues = [row.due_us for row in view.progress.values() if row.due_us is not None]
        quiet = (
            positions == {int(view.values.get("end", self.commissionings))}
            and not view.outbox
            and not view.waiting
        )
        return quiet and min(dues) > clock_us


def drive_live(
    folder: Path,
    kafka: LocalKafka,
    redis: LocalRedis,
    plan: SitePlan,
    script: Script,
    end_us: int,
    options: TwinOptions | None = None,
) -> Driven:
    live = DrivenLive(folder, kafka, redis, plan, options)
    try:
        for at_us, fabric, body in script:
            live.put_request(at_us, fabric, body)
        live.advance(end_us)
        loss = query_loss(plan, live.store, end_us)
        driven = live.driven()
        driven.loss = loss
        return driven
    finally:
        live.twin.stop()


def as_file(plan: SitePlan) -> str:
    """Return the site as `--site` takes it: the parameters that differ from the defaults of its kinds."""
    rows = [
        {
            "name": name,
            "kind": config.kind,
            "config": config.model_dump(mode="json", exclude_defaults=True, exclude={"kind"}),
        }
        for name, config in plan.fabrics.items()
    ]
    return json.dumps({"site": plan.site, "fabrics": rows})


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory, kafka: LocalKafka, live_redis: LocalRedis) -> Driven:
    """The script runs once for all tests, because it takes a minute."""
    return drive_live(tmp_path_factory.mktemp("live"), kafka, live_redis, PLAN, SCRIPT, END_US)


# Its script takes a minute on an idle machine, and longer than the usual bound on a busy one.
@pytest.mark.timeout(2700)
class TestLive(RuntimeContract):
    @pytest.fixture
    def driven(self, once: Driven) -> Driven:
        return once

    @pytest.fixture
    def drive(self, tmp_path: Path, kafka: LocalKafka, live_redis: LocalRedis) -> Drive:
        return partial(drive_live, tmp_path / "other", kafka, live_redis)

    @pytest.mark.slow("starts a second live twin")
    def test_another_seed_gives_another_log(self, drive: Drive, driven: Driven) -> None:
        assert driven.log
        super().test_another_seed_gives_another_log(drive, driven)
