"""One contract for every runtime: given the same seed, configuration and requests, the same log and the same
states.

Each runtime is driven through the same script; the lab needs no wall clock, the embedded runtime gets one
that the test moves.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ops.common.configuration import settings
from ops.invariants import check_all
from ops.lab.run import site_digest
from schemas.body import Body
from schemas.config import SuperpodConfig
from schemas.envelope import Envelope
from schemas.operator import ClearFault, DrainCube, InjectFault, ReleaseSlice, RequestSlice, UndrainCube
from schemas.registry import decode
from services.fleet import services_of
from shared.basics.units import US_PER_DAY, US_PER_HOUR, US_PER_S
from shared.runtimes.embedded.clock import EmbeddedClock
from shared.runtimes.embedded.dead_letters import DeadLetters
from shared.runtimes.embedded.site_runner import SiteRunner
from shared.runtimes.embedded.twin import EmbeddedTwin
from shared.runtimes.lab import LabRequest
from shared.storage.log.indexed import IndexedLogs
from shared.storage.memory import MemoryStore
from shared.storage.redis_store import RedisStore
from tests.support.pods import OPERATOR, POD, first_message, pod_lab, pod_place

CONFIG = settings(
    [
        "pod.cubes=16",
        "failures.host_per_day=0.02",
        "failures.link_per_day=0.001",
        "failures.ocs_per_day=0.02",
    ],
    seed=11,
)
SCRIPT: list[tuple[int, Body]] = [
    (2 * US_PER_HOUR, RequestSlice(shape=(4, 4, 8), twisted=True, duration_us=6 * US_PER_HOUR)),
    (3 * US_PER_HOUR, InjectFault(kind="ocs", target="pod-0/ocs-17", duration_us=2 * US_PER_HOUR)),
    (4 * US_PER_HOUR, DrainCube(cube="pod-0/cube-3")),
    (4 * US_PER_HOUR + 1, InjectFault(kind="host", target="pod-0/cube-5/host-1")),
    (9 * US_PER_HOUR, ClearFault(fault="pod-0/fault-0")),
    (10 * US_PER_HOUR, UndrainCube(cube="pod-0/cube-3")),
    (11 * US_PER_HOUR, ReleaseSlice(slice="pod-0/slice-0")),
    (12 * US_PER_HOUR, InjectFault(kind="link", target="pod-0/cube-99/+y/7")),
]
END_US = 2 * US_PER_DAY


@dataclass
class Driven:
    """What one run of the script left behind."""

    log: list[bytes]
    digest: str
    messages: list[Envelope] = field(init=False)

    def __post_init__(self) -> None:
        self.messages = [decode(line) for line in self.log]


Drive = Callable[[SuperpodConfig, list[tuple[int, Body]], int], Driven]


def drive_lab(config: SuperpodConfig, script: list[LabRequest], end_us: int) -> Driven:
    lines: list[bytes] = []
    lab = pod_lab(config, sink=lambda data: lines.extend(data.splitlines()))
    lab.run(end_us, script)
    return Driven(lines, site_digest(lab.site))


class Embedded:
    """The embedded runtime on a wall clock that stands still until it is moved; a simulated second is a wall
    second.
    """

    def __init__(self, folder: Path, store: MemoryStore | RedisStore) -> None:
        self.wall_s = 0.0
        self.store = store
        store.place(POD, pod_place())
        self.logs = IndexedLogs(folder / "log")
        self.pod = SiteRunner(
            POD,
            0,
            services_of,
            store=store,
            places=store.fabrics,
            log=self.logs.open("pod-0"),
            dead_letters=DeadLetters(folder / "dead-letters.jsonl"),
        )
        self.clock = EmbeddedClock(speed=1.0, wall_s=lambda: self.wall_s)
        self.twin = EmbeddedTwin([self.pod], store, self.clock, lambda: None)

    def commission(self, config: SuperpodConfig) -> None:
        self.pod.recover()
        self.pod.take(first_message(config))

    def advance(self, to_us: int) -> None:
        self.wall_s = to_us / US_PER_S
        while self.twin.step():
            pass

    def ask(self, at_us: int, body: Body) -> int:
        """Put a request into the inbox at this simulated time, before the Ticks of that time."""
        self.advance(at_us - 1)
        self.wall_s = at_us / US_PER_S
        number = self.store.put(0, "pod-0", body, None).number
        self.twin.wake(0)
        self.advance(at_us)
        return number

    def driven(self) -> Driven:
        return Driven([line for _, line in self.logs.open("pod-0").lines(0)], self.pod.digest())


def drive_embedded(
    folder: Path,
    store: MemoryStore | RedisStore,
    config: SuperpodConfig,
    script: list[tuple[int, Body]],
    end_us: int,
) -> Driven:
    embedded = Embedded(folder, store)
    embedded.commission(config)
    embedded.twin.start()
    for at_us, body in script:
        embedded.ask(at_us, body)
    embedded.advance(end_us)
    driven = embedded.driven()
    embedded.logs.close()
    return driven


def as_requests(messages: list[Envelope]) -> list[LabRequest]:
    return [LabRequest(m.at_us, m.fabric, m.body, m.seq) for m in messages if m.source == OPERATOR]


class RuntimeContract:
    """What every runtime owes; a runtime plugs in with the fixture `drive`."""

    @pytest.fixture
    def driven(self, drive: Drive) -> Driven:
        return drive(CONFIG, SCRIPT, END_US)

    def test_writes_message_for_message_what_the_lab_writes(self, driven: Driven) -> None:
        lab = drive_lab(CONFIG, as_requests(driven.messages), END_US)
        assert driven.log == lab.log
        assert driven.digest == lab.digest

    def test_keeps_every_invariant(self, driven: Driven) -> None:
        assert check_all(driven.messages) == []

    def test_takes_every_request_once_at_its_time_in_order(self, driven: Driven) -> None:
        asked = as_requests(driven.messages)
        assert [r.body for r in asked] == [body for _, body in SCRIPT]
        # A request is moved only where its moment has already passed in the log.
        assert [r.at_us for r in asked] == [at_us for at_us, _ in SCRIPT]

    def test_answers_every_request_with_an_event_or_a_refusal(self, driven: Driven) -> None:
        caused = {m.cause: m.type for m in driven.messages}
        kinds = [caused.get(f"{OPERATOR}/{r.number}") for r in as_requests(driven.messages)]
        assert kinds[-1] == "FaultRefused"
        assert None not in kinds

    def test_another_seed_gives_another_log(self, drive: Drive, driven: Driven) -> None:
        other = drive(CONFIG.model_copy(update={"seed": 12}), [], US_PER_DAY // 4)
        undisturbed = drive_lab(CONFIG, [], US_PER_DAY // 4)
        assert other.log[1:] != undisturbed.log[1:]
        assert other.digest != driven.digest


class TestLab(RuntimeContract):
    @pytest.fixture
    def drive(self) -> Drive:
        def drive(config: SuperpodConfig, script: list[tuple[int, Body]], end_us: int) -> Driven:
            requests = [LabRequest(at, POD, body, n) for n, (at, body) in enumerate(script, start=1)]
            return drive_lab(config, requests, end_us)

        return drive


class TestEmbeddedOnMemory(RuntimeContract):
    @pytest.fixture
    def drive(self, tmp_path_factory: pytest.TempPathFactory) -> Drive:
        return lambda config, script, end_us: drive_embedded(
            tmp_path_factory.mktemp("twin"), MemoryStore(), config, script, end_us
        )


class TestEmbeddedOnRedis(RuntimeContract):
    @pytest.fixture
    def drive(self, tmp_path_factory: pytest.TempPathFactory, redis_url: str) -> Iterator[Drive]:
        stores: list[RedisStore] = []

        def drive(config: SuperpodConfig, script: list[tuple[int, Body]], end_us: int) -> Driven:
            store = RedisStore(redis_url)
            store.flush()
            stores.append(store)
            return drive_embedded(tmp_path_factory.mktemp("twin"), store, config, script, end_us)

        yield drive
        for store in stores:
            store.close()
