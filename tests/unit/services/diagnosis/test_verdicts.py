"""Each fault is injected, seen, held for the matter and mended, by the services that do so."""

import pytest

from schemas.config import SuperpodConfig
from schemas.diagnosis import TestWanted, VerdictGiven, VerdictWithdrawn
from schemas.failures import FaultBegan, FaultEnded
from schemas.names import FaultKind
from schemas.operator import ClearFault, InjectFault
from schemas.repairs import RepairCompleted
from schemas.scheduler import ConnectCircuits, DisconnectCircuits
from schemas.transceivers import EndsStoodOut
from services.diagnosis.service import SERVICE as DIAGNOSIS
from services.failures.service import SERVICE as FAILURES
from services.ocs.service import SERVICE as OCS
from services.repairs.service import SERVICE as REPAIRS
from services.transceivers.service import SERVICE as TRANSCEIVERS
from shared.basics.units import US_PER_DAY, US_PER_HOUR, US_PER_MIN
from shared.models.link_faults import LINK_FAULTS, PATH_FAULTS
from tests.support.rig import Bench, bodies

TARGET = "pod-0/cube-1/+x/7"
JOINS = tuple((0, cube, cube + 1) for cube in range(6))
CONFIG = SuperpodConfig.model_validate({"failures": {"enabled": False}, "repairs": {"technicians": 100}})
PLACES = {"mirror": "pod-0/ocs-7/N2", "shake": "pod-0/ocs-7", "batch": "pod-0/batch-7"}
HELD_FOR: dict[str, str] = {"batch": "laser"}
SLICE = "pod-0/slice-0"


@pytest.fixture
def bench() -> Bench:
    found = Bench([DIAGNOSIS, FAILURES, OCS, REPAIRS, TRANSCEIVERS], CONFIG)
    found.say(ConnectCircuits(slice=SLICE, joins=JOINS), 100)
    return found


def inject(bench: Bench, kind: FaultKind, severity: float | None = None, target: str | None = None) -> None:
    where = target or PLACES.get(kind, TARGET)
    bench.say(InjectFault(kind=kind, target=where, severity=severity), US_PER_DAY)


def verdicts(bench: Bench) -> list[VerdictGiven]:
    return [body for body in bodies(bench.log) if isinstance(body, VerdictGiven)]


@pytest.mark.parametrize("kind", [*LINK_FAULTS, *PATH_FAULTS])
def test_every_fault_is_seen_named_and_mended(bench: Bench, kind: FaultKind) -> None:
    inject(bench, kind)
    bench.run(40 * US_PER_DAY)
    found = verdicts(bench)
    assert {verdict.kind for verdict in found} == {HELD_FOR.get(kind, kind)}
    if kind != "batch":
        assert {verdict.target for verdict in found} == {PLACES.get(kind, TARGET)}
    ended = [body for body in bodies(bench.log) if isinstance(body, FaultEnded)]
    lit = {"pod-0/batch-7"} if kind == "batch" else set()  # some of its modules carry no link
    assert {fault.target for fault in ended} | lit == {PLACES.get(kind, TARGET)}
    state = bench.state("diagnosis")
    assert not state.looks
    assert not state.verdicts
    assert not state.checks
    bench.assert_documents_hold()


def test_a_healthy_pod_has_no_verdicts_and_looks_at_nothing(bench: Bench) -> None:
    bench.run(30 * US_PER_DAY)
    assert not verdicts(bench)
    assert not [body for body in bodies(bench.log) if isinstance(body, EndsStoodOut)]


def test_a_link_that_fails_is_seen_within_minutes_and_what_hides_at_the_next_look(bench: Bench) -> None:
    inject(bench, "connector", 5.0)
    [_] = [body for body in bodies(bench.run(US_PER_DAY + 2 * US_PER_MIN)) if isinstance(body, VerdictGiven)]
    inject_us = 10 * US_PER_DAY + 1
    bench.say(InjectFault(kind="calibration", target="pod-0/cube-3/+x/9", severity=2.0), inject_us)
    bench.run(inject_us + US_PER_HOUR // 2)
    assert len(verdicts(bench)) == 1
    bench.run(inject_us + US_PER_HOUR)
    assert len(verdicts(bench)) == 2


def test_what_ends_by_itself_is_held_no_more_and_its_repair_is_called_off(bench: Bench) -> None:
    inject(bench, "receiver", 3.0)
    bench.run(US_PER_DAY + 2 * US_PER_HOUR)
    began = next(body for body in bodies(bench.log) if isinstance(body, FaultBegan))
    said = bodies(bench.say(ClearFault(fault=began.fault)))
    said += bodies(bench.run(bench.now_us + 2 * US_PER_HOUR))
    withdrawn = [body for body in said if isinstance(body, VerdictWithdrawn)]
    assert [body.target for body in withdrawn] == [TARGET]
    assert bench.documents["summaries", "pod-0/repairs"].cancelled == 1
    assert bench.documents["verdicts", withdrawn[0].verdict].state == "withdrawn"


def works(bench: Bench) -> list[str]:
    return [body.work for body in bodies(bench.log) if isinstance(body, RepairCompleted)]


def test_work_that_does_not_help_is_in_vain_and_more_is_tried() -> None:
    """By many faults: some cleanings fail, each is told of as such, and in the end all is mended."""
    bench = Bench([DIAGNOSIS, FAILURES, OCS, REPAIRS, TRANSCEIVERS], CONFIG)
    joins = tuple((0, cube, (cube + 1) % 64) for cube in range(64))
    bench.say(ConnectCircuits(slice=SLICE, joins=joins), 100)
    for cube in range(0, 64, 2):
        target = f"pod-0/cube-{cube}/+x/{cube % 16}"
        bench.say(InjectFault(kind="connector", target=target, severity=3.0), US_PER_DAY)
    bench.run(60 * US_PER_DAY)
    summary = bench.documents["summaries", "pod-0/repairs"]
    assert {"clean"} < {*works(bench)} <= {"clean", "reseat", "replace"}
    assert summary.in_vain == len(works(bench)) - 32 > 0
    assert bench.documents["summaries", "pod-0/failures"].active == 0
    in_vain = [
        document for key, document in bench.documents.items() if key[0] == "repairs" and document.in_vain
    ]
    assert len(in_vain) == summary.in_vain


def test_a_verdict_outlives_the_link_and_a_test_tells_whether_the_repair_helped(bench: Bench) -> None:
    inject(bench, "connector", 5.0)
    bench.run(US_PER_DAY + 2 * US_PER_MIN)
    bench.say(DisconnectCircuits(slice=SLICE, joins=JOINS))
    said = bodies(bench.run(bench.now_us + 20 * US_PER_DAY))
    assert not [body for body in said if isinstance(body, VerdictWithdrawn)]
    assert [body for body in said if isinstance(body, TestWanted)]
    assert bench.documents["summaries", "pod-0/failures"].active == 0
    assert not bench.state("diagnosis").looks


def test_an_end_that_is_bad_with_every_partner_is_at_fault_not_they(bench: Bench) -> None:
    """A slight bend, of which one look cannot tell the side for sure, among three partners."""
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
