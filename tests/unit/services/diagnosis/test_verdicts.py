"""Each fault is injected, detected, diagnosed and repaired by the responsible services."""

import pytest

from schemas.config.pods import SuperpodConfig
from schemas.messages.diagnosis import TestWanted, VerdictGiven, VerdictWithdrawn
from schemas.messages.failures import FaultBegan, FaultEnded
from schemas.messages.ocs import CircuitsConnected, CircuitsDisconnected
from schemas.messages.operator import ClearFault, InjectFault
from schemas.messages.repairs import RepairCompleted
from schemas.messages.scheduler import ConnectCircuits, DisconnectCircuits
from schemas.messages.transceivers import EndsStoodOut, LinkTested
from schemas.names import FaultKind
from services.diagnosis.service import SERVICE as DIAGNOSIS
from services.failures.service import SERVICE as FAILURES
from services.ocs.service import SERVICE as OCS
from services.repairs.service import SERVICE as REPAIRS
from services.transceivers.service import SERVICE as TRANSCEIVERS
from shared.basics.units import US_PER_DAY, US_PER_HOUR, US_PER_MIN
from shared.models.faults.link_faults import LINK_FAULTS, PATH_FAULTS
from tests.support.rig import Bench, bodies

TARGET = "pod-0/cube-1/+x/7"
JOINS = tuple((0, cube, cube + 1) for cube in range(6))
CONFIG = SuperpodConfig.model_validate({"failures": {"enabled": False}, "repairs": {"technicians": 100}})
CATEGORIES = {"mirror": "pod-0/ocs-7/N2", "shake": "pod-0/ocs-7", "batch": "pod-0/batch-7"}
HELD_FOR: dict[str, str] = {"batch": "laser"}
SLICE = "pod-0/slice-0"


@pytest.fixture
def bench() -> Bench:
    driven = Bench([DIAGNOSIS, FAILURES, OCS, REPAIRS, TRANSCEIVERS], CONFIG)
    driven.say(ConnectCircuits(slice=SLICE, joins=JOINS), 100)
    return driven


def inject(bench: Bench, kind: FaultKind, severity: float | None = None, target: str | None = None) -> None:
    where = target or CATEGORIES.get(kind, TARGET)
    bench.say(InjectFault(kind=kind, target=where, severity=severity), US_PER_DAY)


def verdicts(bench: Bench) -> list[VerdictGiven]:
    return [body for body in bodies(bench.log) if isinstance(body, VerdictGiven)]


@pytest.mark.parametrize("kind", [*LINK_FAULTS, *PATH_FAULTS])
def test_every_fault_is_detected_named_and_repaired(bench: Bench, kind: FaultKind) -> None:
    inject(bench, kind)
    bench.run(40 * US_PER_DAY)
    given = verdicts(bench)
    assert {verdict.kind for verdict in given} == {HELD_FOR.get(kind, kind)}
    if kind != "batch":
        assert {verdict.target for verdict in given} == {CATEGORIES.get(kind, TARGET)}
    ended = [body for body in bodies(bench.log) if isinstance(body, FaultEnded)]
    lit = {"pod-0/batch-7"} if kind == "batch" else set()  # some of its modules carry no link
    assert {fault.target for fault in ended} | lit == {CATEGORIES.get(kind, TARGET)}
    state = bench.state("diagnosis")
    assert not state.outliers
    assert not state.verdicts
    assert not state.rechecks
    bench.assert_documents_hold()


def test_a_healthy_pod_has_no_verdicts_and_no_inspections(bench: Bench) -> None:
    bench.run(30 * US_PER_DAY)
    assert not verdicts(bench)
    assert not [body for body in bodies(bench.log) if isinstance(body, EndsStoodOut)]


def test_a_failed_link_is_detected_within_minutes_and_a_hidden_fault_at_the_next_inspection(
    bench: Bench,
) -> None:
    inject(bench, "connector", 5.0)
    [_] = [body for body in bodies(bench.run(US_PER_DAY + 2 * US_PER_MIN)) if isinstance(body, VerdictGiven)]
    inject_us = 10 * US_PER_DAY + 1
    bench.say(InjectFault(kind="calibration", target="pod-0/cube-3/+x/9", severity=2.0), inject_us)
    bench.run(inject_us + US_PER_HOUR // 2)
    assert len(verdicts(bench)) == 1
    bench.run(inject_us + US_PER_HOUR)
    assert len(verdicts(bench)) == 2


def test_a_fault_that_ends_by_itself_withdraws_its_verdict_and_its_repair(bench: Bench) -> None:
    inject(bench, "receiver", 3.0)
    bench.run(US_PER_DAY + 2 * US_PER_HOUR)
    fault_began = next(body for body in bodies(bench.log) if isinstance(body, FaultBegan))
    emitted = bodies(bench.say(ClearFault(fault=fault_began.fault)))
    emitted += bodies(bench.run(bench.now_us + 2 * US_PER_HOUR))
    withdrawn = [body for body in emitted if isinstance(body, VerdictWithdrawn)]
    assert [body.target for body in withdrawn] == [TARGET]
    assert bench.documents["summaries", "pod-0/repairs"].cancelled == 1
    assert bench.documents["verdicts", withdrawn[0].verdict].state == "withdrawn"


def repair_jobs(bench: Bench) -> list[str]:
    return [body.work for body in bodies(bench.log) if isinstance(body, RepairCompleted)]


def test_a_failed_remedy_is_recorded_and_the_next_one_is_tried() -> None:
    """With many faults: some cleanings fail and are recorded as such, and in the end every fault is
    repaired."""
    bench = Bench([DIAGNOSIS, FAILURES, OCS, REPAIRS, TRANSCEIVERS], CONFIG)
    joins = tuple((0, cube, (cube + 1) % 64) for cube in range(64))
    bench.say(ConnectCircuits(slice=SLICE, joins=joins), 100)
    for cube in range(0, 64, 2):
        target = f"pod-0/cube-{cube}/+x/{cube % 16}"
        bench.say(InjectFault(kind="connector", target=target, severity=3.0), US_PER_DAY)
    bench.run(60 * US_PER_DAY)
    summary = bench.documents["summaries", "pod-0/repairs"]
    assert {"clean"} < {*repair_jobs(bench)} <= {"clean", "reseat", "replace"}
    assert summary.ineffective == len(repair_jobs(bench)) - 32 > 0
    assert bench.documents["summaries", "pod-0/failures"].active == 0
    ineffective = [
        document for key, document in bench.documents.items() if key[0] == "repairs" and document.ineffective
    ]
    assert len(ineffective) == summary.ineffective
    ended = [document for key, document in bench.documents.items() if key[0] == "verdicts"]
    acted_on = {document.verdict for document in ineffective}
    assert {document.name for document in ended if document.state == "ineffective"} == acted_on
    assert {document.state for document in ended} == {"repaired", "ineffective"}
    diagnosis = bench.documents["summaries", "pod-0/diagnosis"]
    assert (diagnosis.ineffective, diagnosis.repaired) == (len(ineffective), len(ended))


def test_a_link_that_soon_flaps_again_gets_the_next_remedy() -> None:
    """The technician has reset the counters. Until the link flaps again, its readings are normal."""
    bench = Bench([DIAGNOSIS, FAILURES, OCS, REPAIRS, TRANSCEIVERS], CONFIG)
    joins = tuple((0, cube, (cube + 1) % 64) for cube in range(64))
    bench.say(ConnectCircuits(slice=SLICE, joins=joins), 100)
    targets = [f"pod-0/cube-{cube}/+x/{cube % 16}" for cube in range(0, 64, 4)]
    for target in targets:
        bench.say(InjectFault(kind="flap", target=target, severity=30.0), US_PER_DAY)
    bench.run(20 * US_PER_DAY)
    by_target = {
        target: [verdict.work for verdict in verdicts(bench) if verdict.target == target]
        for target in targets
    }
    assert {*map(tuple, by_target.values())} == {("reseat",), ("reseat", "replace")}
    repeated = sum(len(remedies) == 2 for remedies in by_target.values())
    assert bench.documents["summaries", "pod-0/repairs"].ineffective == repeated
    states = [document.state for key, document in bench.documents.items() if key[0] == "verdicts"]
    assert states.count("ineffective") == repeated
    assert states.count("repaired") == len(targets)
    assert bench.documents["summaries", "pod-0/failures"].active == 0
    bench.assert_documents_hold()


def test_a_fault_that_returns_weeks_later_is_a_new_case(bench: Bench) -> None:
    inject(bench, "flap", 30.0)
    bench.run(9 * US_PER_DAY)
    before = len(verdicts(bench))
    bench.say(InjectFault(kind="flap", target=TARGET, severity=30.0), 25 * US_PER_DAY)
    bench.run(26 * US_PER_DAY)
    assert [(verdict.work, verdict.after) for verdict in verdicts(bench)[before:]] == [("reseat", None)]


def dark_end(bench: Bench) -> None:
    """The suspect is joined to another end, over an OCS that keeps its circuits and makes no new ones."""
    bench.say(CircuitsDisconnected(slice=SLICE, joins=JOINS), US_PER_DAY + 2 * US_PER_HOUR)
    rotated = tuple((0, cube, (cube + 2) % 8) for cube in range(6))
    bench.say(CircuitsConnected(slice=SLICE, joins=rotated, missing_ocs=(7,), missing_ports=()))


def lit_end(bench: Bench) -> None:
    rotated = tuple((0, cube, (cube + 2) % 8) for cube in range(6))
    bench.say(CircuitsDisconnected(slice=SLICE, joins=rotated))
    bench.say(CircuitsConnected(slice=SLICE, joins=rotated, missing_ocs=(), missing_ports=()))


@pytest.fixture
def by_hand() -> Bench:
    """The test plays the OCSes."""
    slow = {"technicians": 100, "link_repair_h": 1_000.0}
    config = SuperpodConfig.model_validate({"failures": {"enabled": False}, "repairs": slow})
    driven = Bench([DIAGNOSIS, FAILURES, REPAIRS, TRANSCEIVERS], config)
    driven.say(CircuitsConnected(slice=SLICE, joins=JOINS, missing_ocs=(), missing_ports=()), 100)
    inject(driven, "receiver", 3.0)
    driven.run(US_PER_DAY + 2 * US_PER_HOUR - 1)
    return driven


def test_a_verdict_on_an_unreadable_end_is_not_withdrawn(by_hand: Bench) -> None:
    dark_end(by_hand)
    by_hand.run(3 * US_PER_DAY)
    assert [body.unseen for body in bodies(by_hand.log, EndsStoodOut)][-1]
    assert not bodies(by_hand.log, VerdictWithdrawn)
    lit_end(by_hand)
    by_hand.run(4 * US_PER_DAY)
    assert len(verdicts(by_hand)) == 1
    assert by_hand.documents["verdicts", "pod-0/verdict-0"].state == "open"


def test_a_verdict_is_withdrawn_when_its_end_reads_normally_again(by_hand: Bench) -> None:
    dark_end(by_hand)
    by_hand.run(2 * US_PER_DAY)
    [fault_began] = bodies(by_hand.log, FaultBegan)
    by_hand.say(ClearFault(fault=fault_began.fault))
    by_hand.run(3 * US_PER_DAY)
    assert not bodies(by_hand.log, VerdictWithdrawn)
    lit_end(by_hand)
    by_hand.run(4 * US_PER_DAY)
    [withdrawn] = bodies(by_hand.log, VerdictWithdrawn)
    assert withdrawn.target == TARGET
    state = by_hand.state("transceivers")
    assert not state.reported
    assert not state.unseen


def test_a_link_test_verdict_is_not_withdrawn_for_other_inspections() -> None:
    bench = Bench([DIAGNOSIS, REPAIRS], CONFIG)
    lossy = LinkTested(end=20 * 96 + 3, verdict="lossy", loss_db=8.0, expected_db=4.0, log10_ber=-6.0)
    bench.say(lossy, US_PER_DAY)
    assert [(verdict.kind, verdict.work) for verdict in verdicts(bench)] == [("connector", "clean")]
    bench.say(EndsStoodOut(ends=(), usual=(7,), unseen=(8,)))
    assert not bodies(bench.log, VerdictWithdrawn)
    assert bodies(bench.run(3 * US_PER_DAY), TestWanted), "whether cleaning has helped a link test tells"
    bench.say(lossy)
    assert [(verdict.work, verdict.after) for verdict in verdicts(bench)][1:] == [
        ("reseat", "pod-0/repair-0")
    ]


def test_a_verdict_outlives_the_link_and_a_test_shows_whether_the_repair_helped(bench: Bench) -> None:
    inject(bench, "connector", 5.0)
    bench.run(US_PER_DAY + 2 * US_PER_MIN)
    bench.say(DisconnectCircuits(slice=SLICE, joins=JOINS))
    emitted = bodies(bench.run(bench.now_us + 20 * US_PER_DAY))
    assert not [body for body in emitted if isinstance(body, VerdictWithdrawn)]
    assert [body for body in emitted if isinstance(body, TestWanted)]
    assert bench.documents["summaries", "pod-0/failures"].active == 0
    assert not bench.state("diagnosis").outliers


def test_an_end_that_is_bad_with_every_partner_is_at_fault(bench: Bench) -> None:
    """A slight bend among three partners; one inspection alone cannot tell on which side it is."""
    end = "pod-0/cube-1/+x/7"
    inject(bench, "fibre", 0.9, end)
    for partner in (2, 5, 3):
        bench.say(DisconnectCircuits(slice=SLICE, joins=((0, 1, partner),)))
        bench.say(
            ConnectCircuits(slice=SLICE, joins=((0, 1, partner),)),
            bench.now_us + US_PER_HOUR,
        )
        bench.run(bench.now_us + US_PER_HOUR)
    assert verdicts(bench)[-1].target == end
