"""A broken camera that its OCS reports explains the losses of links over that OCS, so no technician is sent
to them."""

import pytest

from schemas.config.pods import SuperpodConfig
from schemas.messages.diagnosis import VerdictGiven
from schemas.messages.failures import FaultEnded
from schemas.messages.ocs import OcsHeld
from schemas.messages.operator import InjectFault
from schemas.messages.repairs import RepairOpened
from schemas.messages.scheduler import ConnectCircuits
from schemas.messages.transceivers import EndsStoodOut
from schemas.names import FaultKind
from services.diagnosis.service import SERVICE as DIAGNOSIS
from services.failures.service import SERVICE as FAILURES
from services.ocs.service import SERVICE as OCS
from services.repairs.service import SERVICE as REPAIRS
from services.transceivers.service import SERVICE as TRANSCEIVERS
from shared.basics.units import US_PER_DAY, US_PER_HOUR
from tests.support.rig import Bench, bodies

CAMERA = "pod-0/ocs-7/camera-N"
JOINS = tuple((0, cube, cube + 1) for cube in range(8))
CONFIG = SuperpodConfig.model_validate(
    {"pod": {"cubes": 16}, "failures": {"enabled": False}, "repairs": {"technicians": 100}}
)
LONG = 10 * US_PER_DAY


@pytest.fixture
def bench() -> Bench:
    driven = Bench([DIAGNOSIS, FAILURES, OCS, REPAIRS, TRANSCEIVERS], CONFIG)
    driven.say(ConnectCircuits(slice="pod-0/slice-0", joins=JOINS), 100)
    return driven


def inject(
    bench: Bench, kind: FaultKind, target: str, at_us: int, severity: float | None = None, days: int = 40
) -> None:
    bench.say(InjectFault(kind=kind, target=target, severity=severity, duration_us=days * US_PER_DAY), at_us)


def verdicts(bench: Bench) -> list[VerdictGiven]:
    return [body for body in bodies(bench.log) if isinstance(body, VerdictGiven)]


def blind_for(bench: Bench, at_us: int, days: int = 10) -> None:
    """The repair takes at least as long as the fault, which ends by itself."""
    bench.state("repairs").config = bench.state("repairs").config.model_copy(update={"ocs_repair_h": 1e4})
    inject(bench, "camera", CAMERA, at_us, days=days)


@pytest.mark.slow("days of a pod with a blind camera")
def test_the_only_repair_is_that_of_the_camera(bench: Bench) -> None:
    blind_for(bench, US_PER_DAY)
    bench.run(US_PER_DAY + LONG - 1)
    assert [body for body in bodies(bench.log) if isinstance(body, OcsHeld)]
    inspected = {
        inspection.end
        for body in bodies(bench.log)
        if isinstance(body, EndsStoodOut)
        for inspection in body.ends
    }
    assert len(inspected) > len(JOINS)
    bench.run(20 * US_PER_DAY)
    assert not verdicts(bench)
    assert [body.target for body in bodies(bench.log) if isinstance(body, RepairOpened)] == [CAMERA]
    state = bench.state("diagnosis")
    assert not state.outliers
    assert not state.blind_arrays
    assert not state.rechecks
    assert not state.partners
    bench.assert_documents_hold()


def test_a_repair_of_the_camera_ends_the_fault(bench: Bench) -> None:
    bench.say(InjectFault(kind="camera", target=CAMERA), US_PER_DAY)
    bench.run(30 * US_PER_DAY)
    [ended] = [body for body in bodies(bench.log) if isinstance(body, FaultEnded)]
    assert ended.how == "repaired"
    assert not verdicts(bench)
    assert not bench.state("transceivers").impaired


def test_a_loss_beyond_mirror_drift_is_repaired_meanwhile(bench: Bench) -> None:
    blind_for(bench, US_PER_DAY)
    inject(bench, "fibre", "pod-0/cube-1/+x/7", 2 * US_PER_DAY, 6.0)
    bench.run(2 * US_PER_DAY + 2 * US_PER_HOUR)
    assert [verdict.kind for verdict in verdicts(bench)] == ["fibre"]


@pytest.mark.parametrize("kind", ["connector", "laser", "circulator", "late"])
def test_a_symptom_unlike_drift_is_repaired_meanwhile(bench: Bench, kind: FaultKind) -> None:
    blind_for(bench, US_PER_DAY)
    inject(bench, kind, "pod-0/cube-1/+x/7", 2 * US_PER_DAY)
    bench.run(2 * US_PER_DAY + 8 * US_PER_HOUR)
    assert [verdict.kind for verdict in verdicts(bench)] == [kind]


@pytest.mark.slow("days of a pod with a blind camera")
def test_a_symptom_like_drift_is_repaired_when_the_camera_is_back(bench: Bench) -> None:
    blind_for(bench, US_PER_DAY)
    inject(bench, "fibre", "pod-0/cube-1/+x/7", 9 * US_PER_DAY, 1.5)
    bench.run(US_PER_DAY + LONG)
    assert not verdicts(bench)
    bench.run(US_PER_DAY + LONG + 4 * US_PER_HOUR)
    assert [verdict.kind for verdict in verdicts(bench)] == ["fibre"]


def test_a_failed_camera_of_another_ocs_explains_nothing(bench: Bench) -> None:
    blind_for(bench, US_PER_DAY)
    inject(bench, "fibre", "pod-0/cube-1/+x/8", 5 * US_PER_DAY, 1.5)
    bench.run(5 * US_PER_DAY + 2 * US_PER_HOUR)
    assert [verdict.kind for verdict in verdicts(bench)] == ["fibre"]
