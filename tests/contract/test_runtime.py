"""One contract for every runtime: the same seed, configuration and requests give the same log and states.

Each runtime runs the same script. The lab needs no wall clock; the embedded runtime gets one that the test
moves.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ops.lab.run import site_digest
from ops.sites.configuration import config_from_pairs, config_from_sections, superpod_config
from schemas.api.whatif import LossReport
from schemas.body import Body
from schemas.config.dcn import DcnConfig
from schemas.drill_plan import PHASES
from schemas.envelope import Envelope
from schemas.files.site_plan import SitePlan
from schemas.messages.drills import DrillBegun, DrillEnded, DrillPhaseBegun
from schemas.messages.failures import FaultBegan, FaultEnded
from schemas.messages.ocs import OcsesDown, OcsesUp
from schemas.messages.operator import (
    ClearFault,
    DrainCube,
    InjectFault,
    PlanTopology,
    ReleaseSlice,
    RequestSlice,
    UndrainCube,
)
from schemas.messages.scheduler import PodsJoined, PodsParted, SliceAdmitted
from schemas.messages.sequencer import FabricCommissioned, FabricRetired, Tick
from schemas.messages.topology import RewiringEnded, RewiringPlanned
from schemas.messages.traffic import JobBandwidthSet
from schemas.messages.workload import SliceRequested
from schemas.names import FaultKind
from schemas.registry import decode
from services.fabric_kinds import services_of
from services.what_if.network_impact import assess_network_impact
from services.what_if.queries import WhatIfQueries
from services.workload.filler import filler_backlog
from shared.basics.units import US_PER_DAY, US_PER_HOUR, US_PER_S
from shared.engine.site_driver import LabRequest
from shared.models.superpod.shapes import chips_of
from shared.models.superpod.wiring import CHIPS_PER_CUBE
from shared.runtimes.embedded.dead_letter_file import DeadLetterFile
from shared.runtimes.embedded.embedded_clock import EmbeddedClock
from shared.runtimes.embedded.site_runner import SiteRunner
from shared.runtimes.embedded.twin_loop import EmbeddedTwin
from shared.runtimes.embedded.uncommitted_roots import ROOTS_PER_COMMIT
from shared.runtimes.embedded.valkey_server import EmbeddedValkey
from shared.runtimes.lab import Lab
from shared.storage.log.indexed_log import IndexedLogs
from shared.storage.store.memory_store import MemoryStore
from shared.storage.store.redis_store import RedisStore
from shared.storage.store.state_copies import StateCopies
from tests.support.drill_plans import ocs_drill
from tests.support.log_checks import check_all
from tests.support.pods import first_message

BUSY = ["failures.host_per_day=0.02", "failures.link_per_day=0.001"]
SWITCHED = superpod_config(["pod.cubes=16", *BUSY, "failures.ocs_per_day=0.02"], seed=11)
NETWORK = {
    "seed": 11,
    "network": {
        "racks": 4,
        "racks_full": 4,
        "switches": 2,
        "blocks": [
            {"generation": 100, "uplinks": 256, "pod": "pod-0"},
            {"generation": 400, "uplinks": 256, "pod": "pod-2"},
            {"generation": 200, "uplinks": 256, "count": 4},
        ],
    },
    "demand": {"hot_pairs": 4},
    "traffic": {"telemetry_interval_s": 3_600},
    "topology": {"use_above": 100.0, "served_below": 0.0, "transit_above": 1.0},
}
"""Six blocks of three generations, two of them with a pod. Topologies are planned only on request."""
DCN = "dcn-0"
LOST: tuple[FaultKind, str] = ("rack", f"{DCN}/rack-2")
PLAN = SitePlan(
    site="campus",
    fabrics={
        "pod-0": SWITCHED,
        "pod-2": config_from_pairs("static-pod", BUSY, seed=11),
        DCN: config_from_sections("dcn", NETWORK, DCN),
    },
)
"""Three kinds of fabrics on one log. The script adds pod-10, which reads after pod-2 although it sorts before
it as text, and retires pod-2 while slices run there."""
JOINED = superpod_config(["pod.cubes=8", *BUSY], seed=3)
JOINING = FabricCommissioned(site="campus", config=JOINED)
OF_THE_SEQUENCER = (FabricCommissioned, FabricRetired)
"""Requests that the sequencer puts on the log."""
OPERATOR = "operator@campus"

Script = list[tuple[int, str, Body]]
"""(simulated time, fabric, request), in order."""

SCRIPT: Script = [
    (2 * US_PER_HOUR, "pod-0", RequestSlice(shape=(4, 4, 8), twisted=True, duration_us=6 * US_PER_HOUR)),
    (2 * US_PER_HOUR + 1, "pod-2", RequestSlice(shape=(8, 8, 8), duration_us=20 * US_PER_HOUR)),
    (
        2 * US_PER_HOUR + 2,
        "pod-0",
        RequestSlice(shape=(4, 4, 8), duration_us=7 * US_PER_HOUR, pods=("pod-0", "pod-2")),
    ),
    (3 * US_PER_HOUR, "pod-0", InjectFault(kind="ocs", target="pod-0/ocs-17", duration_us=2 * US_PER_HOUR)),
    (3 * US_PER_HOUR + 1, "pod-2", InjectFault(kind="link", target="pod-2/cube-0/+x/3")),
    (4 * US_PER_HOUR, "pod-0", DrainCube(cube="pod-0/cube-3")),
    (4 * US_PER_HOUR + 1, "pod-0", InjectFault(kind="host", target="pod-0/cube-5/host-1")),
    (5 * US_PER_HOUR, "pod-10", JOINING),
    (6 * US_PER_HOUR, "pod-10", RequestSlice(shape=(4, 4, 8), duration_us=6 * US_PER_HOUR)),
    (
        6 * US_PER_HOUR + 1,
        "pod-2",
        RequestSlice(shape=(4, 4, 8), pods=("pod-2", "pod-10", "pod-0")),
    ),
    (6 * US_PER_HOUR + 2, "dcn-0", InjectFault(kind="rack", target="dcn-0/rack-1", duration_us=US_PER_HOUR)),
    (8 * US_PER_HOUR, "dcn-0", PlanTopology(dcn="dcn-0")),
    (9 * US_PER_HOUR, "pod-0", ClearFault(fault="pod-0/fault-0")),
    (10 * US_PER_HOUR, "pod-0", UndrainCube(cube="pod-0/cube-3")),
    (11 * US_PER_HOUR, "pod-0", ReleaseSlice(slice="pod-0/slice-0")),
    (11 * US_PER_HOUR + 1, "pod-2", InjectFault(kind="ocs", target="pod-2/ocs-17")),
    (12 * US_PER_HOUR, "pod-0", InjectFault(kind="link", target="pod-0/cube-99/+y/7")),
    (13 * US_PER_HOUR, "pod-2", FabricRetired()),
    (14 * US_PER_HOUR, "pod-10", ocs_drill("pod-10")),
]
END_US = 16 * US_PER_HOUR


@dataclass
class Driven:
    """The result of one run of the script."""

    log: list[bytes]
    digest: str
    loss: LossReport | None = None
    """The traffic that the network would lose with a rack, as the runtime computes it at the end."""
    messages: list[Envelope] = field(init=False)

    def __post_init__(self) -> None:
        self.messages = [decode(line) for line in self.log]


def has_network(plan: SitePlan) -> bool:
    """Whether a site has a datacenter network. The toy site has another fabric of that name."""
    return isinstance(plan.fabrics.get(DCN), DcnConfig)


Drive = Callable[[SitePlan, Script, int], Driven]


def drive_lab(plan: SitePlan, script: list[LabRequest], end_us: int) -> Driven:
    lines: list[bytes] = []
    lab = Lab(plan.site, plan.fabrics, services_of, lambda data: lines.extend(data.splitlines()))
    lab.run(end_us, script)
    driven = Driven(lines, site_digest(lab.site))
    if has_network(plan):
        driven.loss = assess_network_impact(lab.site, DCN, *LOST, end_us, lambda: False)
    return driven


def query_loss(plan: SitePlan, store: MemoryStore | RedisStore, end_us: int) -> LossReport | None:
    """Return the answer of a running twin, which uses copies of its states."""
    queries = WhatIfQueries(StateCopies(store, services_of))
    return queries.loss(DCN, *LOST, end_us) if has_network(plan) else None


class Embedded:
    """The embedded runtime on a wall clock that the test moves. One simulated second is one wall second."""

    def __init__(self, folder: Path, store: MemoryStore | RedisStore, plan: SitePlan) -> None:
        self.wall_s = 0.0
        self.store = store
        self.plan = plan
        self.logs = IndexedLogs(folder / "log")
        self.runner = SiteRunner(
            plan.site,
            0,
            services_of,
            store=store,
            place=store.place,
            log=self.logs.open(plan.site),
            dead_letters=DeadLetterFile(folder / "dead-letters.jsonl"),
            roots_per_commit=ROOTS_PER_COMMIT,
        )
        self.clock = EmbeddedClock(speed=1.0, wall_s=lambda: self.wall_s)
        self.twin = EmbeddedTwin([self.runner], store, self.clock, lambda: None)
        self.runner.recover()
        for fabric, config in plan.fabrics.items():
            self.runner.take(first_message(config, fabric, site=plan.site))

    def advance(self, to_us: int) -> None:
        self.wall_s = to_us / US_PER_S
        while self.twin.step():
            pass

    def put_request(self, at_us: int, fabric: str, body: Body) -> None:
        """Put a request into the inbox at this simulated time, before the Ticks of that time."""
        self.advance(at_us - 1)
        self.wall_s = at_us / US_PER_S
        self.store.put(0, fabric, body)
        self.twin.wake(0)
        self.advance(at_us)

    def driven(self) -> Driven:
        return Driven([line for _, line in self.logs.open(self.plan.site).lines(0)], self.runner.digest())


def drive_embedded(
    folder: Path, store: MemoryStore | RedisStore, plan: SitePlan, script: Script, end_us: int
) -> Driven:
    embedded = Embedded(folder, store, plan)
    embedded.twin.start()
    for at_us, fabric, body in script:
        embedded.put_request(at_us, fabric, body)
    embedded.advance(end_us)
    loss = query_loss(plan, store, end_us)
    driven = embedded.driven()
    driven.loss = loss
    embedded.logs.close()
    return driven


def as_requests(messages: list[Envelope]) -> list[LabRequest]:
    """Return the requests that a site received after its start, including commissionings and retirements."""
    return [
        LabRequest(m.at_us, m.fabric, m.body, m.seq)
        for m in messages
        if m.source == OPERATOR or (isinstance(m.body, OF_THE_SEQUENCER) and m.at_us > 0)
    ]


class RuntimeContract:
    """The behaviour of every runtime. A runtime plugs in with the fixture `drive`, which runs the script
    once."""

    @pytest.fixture(scope="class")
    @classmethod
    def driven(cls, drive: Drive) -> Driven:
        return drive(PLAN, SCRIPT, END_US)

    def test_writes_message_for_message_what_the_lab_writes(self, driven: Driven) -> None:
        lab = drive_lab(PLAN, as_requests(driven.messages), END_US)
        assert driven.log == lab.log
        assert driven.digest == lab.digest
        assert driven.loss == lab.loss

    def test_keeps_every_invariant(self, driven: Driven) -> None:
        assert check_all(driven.messages) == []

    def test_processes_every_request_once_at_its_time_in_order(self, driven: Driven) -> None:
        requests = as_requests(driven.messages)
        assert [(r.fabric, r.body) for r in requests] == [(fabric, body) for _, fabric, body in SCRIPT]
        # A request is moved only if its time has already passed on the log.
        assert [r.at_us for r in requests] == [at_us for at_us, _, _ in SCRIPT]

    def test_answers_every_request_with_an_event_or_a_refusal(self, driven: Driven) -> None:
        caused = {m.cause: m.type for m in driven.messages}
        requests = [r for r in as_requests(driven.messages) if not isinstance(r.body, OF_THE_SEQUENCER)]
        kinds = [caused.get(f"{OPERATOR}/{r.number}") for r in requests]
        assert kinds[-3:-1] == ["FaultRefused", "FaultRefused"], "no OCS in a static pod, and no cube 99"
        assert None not in kinds

    def test_a_fabric_can_join_and_runs_on(self, driven: Driven) -> None:
        own = [m for m in driven.messages if m.fabric == "pod-10"]
        assert (own[0].type, own[0].at_us) == ("FabricCommissioned", 5 * US_PER_HOUR)
        # At its commissioning a fabric requests only filler, as much as waits at any time. Earlier arrivals
        # are in the past.
        at_start = [m for m in own[1:] if m.at_us == own[0].at_us]
        assert {m.source for m in at_start if isinstance(m.body, Tick)} == {"tick.workload@pod-10"}
        requested = [m.body for m in at_start if isinstance(m.body, SliceRequested)]
        assert {body.tier for body in requested} == {"filler"}
        placed = {m.body.slice for m in at_start if isinstance(m.body, SliceAdmitted)}
        waiting = Counter(chips_of(b.shape) // CHIPS_PER_CUBE for b in requested if b.slice not in placed)
        assert waiting == filler_backlog(JOINED.workload, JOINED.pod.cubes)
        assert own[-1].at_us > END_US - 4 * US_PER_HOUR
        assert "SliceStarted" in {m.type for m in own}

    def test_a_retired_fabric_emits_nothing_and_the_others_run_on(self, driven: Driven) -> None:
        own = [m for m in driven.messages if m.fabric == "pod-2"]
        assert (own[-1].id, own[-1].at_us) == ("sequencer@pod-2/2", 13 * US_PER_HOUR)
        assert {m.type for m in own} >= {"SliceStarted", "Tick"}
        after = [m for m in driven.messages if m.at_us > own[-1].at_us]
        assert {m.fabric for m in after} == {"pod-0", "pod-10", "dcn-0"}

    def test_multislice_jobs_start_together_and_end_when_a_pod_retires(self, driven: Driven) -> None:
        joined = [m.body for m in driven.messages if isinstance(m.body, PodsJoined)]
        assert {len(body.slices) for body in joined} == {2, 3}
        gone = [m for m in driven.messages if m.cause == "sequencer@pod-2/2"]
        assert {(m.fabric, m.type) for m in gone if isinstance(m.body, PodsParted)} == {
            ("pod-0", "PodsParted"),
            ("pod-10", "PodsParted"),
        }

    def test_a_network_that_joins_its_pods_loses_a_rack_and_is_rewired(self, driven: Driven) -> None:
        own = [m for m in driven.messages if m.fabric == "dcn-0"]
        power = [(m.at_us, m.body.part) for m in own if isinstance(m.body, OcsesDown | OcsesUp)]
        lost_us = 6 * US_PER_HOUR + 2
        assert power == [(lost_us, "dcn-0/rack-1"), (lost_us + US_PER_HOUR, "dcn-0/rack-1")]
        planned = [m for m in own if isinstance(m.body, RewiringPlanned)]
        (request,) = [m for m in own if isinstance(m.body, PlanTopology)]
        assert planned[-1].cause == request.id
        outcomes = [m.body.outcome for m in own if isinstance(m.body, RewiringEnded)]
        assert outcomes == ["completed", "completed"], "as installed, and as planned for the operator"
        reported = {m.body.job for m in own if isinstance(m.body, JobBandwidthSet)}
        joined = [m.body for m in driven.messages if isinstance(m.body, PodsJoined)]
        assert reported == {body.job for body in joined if len(body.slices) == 2}, (
            "pod-10 is attached to no block"
        )

    def test_shows_what_a_network_would_lose_with_one_of_its_four_racks(self, driven: Driven) -> None:
        assert driven.loss is not None
        assert driven.loss.lost == pytest.approx(0.25, abs=0.01)
        assert len(driven.loss.blocks) == 6

    def test_a_drill_reads_its_site_breaks_it_and_leaves_nothing_broken(self, driven: Driven) -> None:
        drill = [m for m in driven.messages if m.source == "drills@pod-10"]
        phases = [m.body.phase for m in drill if isinstance(m.body, DrillPhaseBegun)]
        assert phases == list(PHASES)
        assert isinstance(drill[0].body, DrillBegun)
        ended = drill[-1].body
        assert isinstance(ended, DrillEnded)
        assert (ended.status, ended.deviated, ended.left) == ("completed", True, ())
        ticks = [m.body for m in driven.messages if isinstance(m.body, Tick) and m.body.service == "drills"]
        assert sum(tick.readings is not None for tick in ticks) > 30
        began = {m.body.fault for m in driven.messages if isinstance(m.body, FaultBegan) and m.body.drill}
        over = {m.body.fault for m in driven.messages if isinstance(m.body, FaultEnded)}
        assert len(began) == 2
        assert began <= over

    def test_another_seed_gives_another_log(self, drive: Drive, driven: Driven) -> None:
        other = SitePlan(site="campus", fabrics={"pod-0": SWITCHED.model_copy(update={"seed": 12})})
        undisturbed_plan = SitePlan(site="campus", fabrics={"pod-0": SWITCHED})
        disturbed, undisturbed = (
            drive(other, [], US_PER_DAY // 4),
            drive_lab(undisturbed_plan, [], US_PER_DAY // 4),
        )
        assert disturbed.log[1:] != undisturbed.log[1:]
        assert disturbed.digest != driven.digest


class TestLab(RuntimeContract):
    @pytest.fixture(scope="class")
    @classmethod
    def drive(cls) -> Drive:
        def drive(plan: SitePlan, script: Script, end_us: int) -> Driven:
            numbered = enumerate(script, start=1)
            return drive_lab(plan, [LabRequest(at, f, body, n) for n, (at, f, body) in numbered], end_us)

        return drive


class TestEmbeddedOnMemory(RuntimeContract):
    @pytest.fixture(scope="class")
    @classmethod
    def drive(cls, tmp_path_factory: pytest.TempPathFactory) -> Drive:
        return lambda plan, script, end_us: drive_embedded(
            tmp_path_factory.mktemp("twin"), MemoryStore(), plan, script, end_us
        )


class TestEmbeddedOnRedis(RuntimeContract):
    @pytest.fixture(scope="class")
    @classmethod
    def drive(
        cls, tmp_path_factory: pytest.TempPathFactory, embedded_server: EmbeddedValkey
    ) -> Iterator[Drive]:
        embedded_server.ensure()
        stores: list[RedisStore] = []

        def drive(plan: SitePlan, script: Script, end_us: int) -> Driven:
            store = RedisStore(embedded_server.url)
            store.flush()
            stores.append(store)
            return drive_embedded(tmp_path_factory.mktemp("twin"), store, plan, script, end_us)

        yield drive
        for store in stores:
            store.close()
