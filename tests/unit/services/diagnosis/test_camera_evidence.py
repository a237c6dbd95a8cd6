"""The drifted mirror of a circuit: the OCS reports its camera readings, and the verdict names the mirror."""

import pytest

from schemas.config.pods import SuperpodConfig
from schemas.messages.diagnosis import VerdictGiven
from schemas.messages.failures import FaultEnded
from schemas.messages.ocs import MirrorSteady, MirrorStoodOut
from schemas.messages.operator import InjectFault
from schemas.messages.repairs import PatchPort, RepairCompleted
from schemas.messages.scheduler import ConnectCircuits
from schemas.names import FaultKind
from services.diagnosis.service import SERVICE as DIAGNOSIS
from services.failures.service import SERVICE as FAILURES
from services.ocs.service import SERVICE as OCS
from services.repairs.service import SERVICE as REPAIRS
from services.transceivers.service import SERVICE as TRANSCEIVERS
from shared.basics.units import US_PER_DAY, US_PER_HOUR
from tests.support.rig import Bench, bodies

NORTH, SOUTH = "pod-0/ocs-7/N2", "pod-0/ocs-7/S5"
"""Of the circuit of cube-1/+x/7 to cube-2/-x/7."""
JOINS = tuple((0, cube, cube + 1) for cube in range(6))
CONFIG = SuperpodConfig.model_validate({"failures": {"enabled": False}, "repairs": {"technicians": 100}})


def bench_of(**ocs: object) -> Bench:
    config = SuperpodConfig.model_validate(CONFIG.model_dump() | {"ocs": CONFIG.ocs.model_dump() | ocs})
    driven = Bench([DIAGNOSIS, FAILURES, OCS, REPAIRS, TRANSCEIVERS], config)
    driven.say(ConnectCircuits(slice="pod-0/slice-0", joins=JOINS), 100)
    driven.run(US_PER_HOUR)
    return driven


def inject(
    bench: Bench, kind: FaultKind, target: str, severity: float | None = None, onset_h: int = 0
) -> None:
    onset_us = onset_h * US_PER_HOUR or None
    bench.say(InjectFault(kind=kind, target=target, severity=severity, onset_us=onset_us), bench.now_us + 1)


def reports(bench: Bench) -> list[MirrorStoodOut | MirrorSteady]:
    return [body for body in bodies(bench.log) if isinstance(body, MirrorStoodOut | MirrorSteady)]


def verdicts(bench: Bench) -> list[VerdictGiven]:
    return [body for body in bodies(bench.log) if isinstance(body, VerdictGiven)]


@pytest.mark.parametrize("target", [NORTH, SOUTH])
def test_the_verdict_names_the_mirror_with_the_camera_error_and_it_is_aligned(target: str) -> None:
    bench = bench_of()
    inject(bench, "mirror", target, 2.0)
    bench.run(40 * US_PER_DAY)
    misaligned_mirrors, back = reports(bench)
    assert isinstance(misaligned_mirrors, MirrorStoodOut)
    assert isinstance(back, MirrorSteady)
    label = target.rpartition("/")[2]
    assert (
        misaligned_mirrors.ocs,
        f"{misaligned_mirrors.side}{misaligned_mirrors.port}",
        f"{back.side}{back.port}",
    ) == (7, label, label)
    assert misaligned_mirrors.error_urad == pytest.approx(447.0, rel=0.25)  # 2 dB at 10 dB/mrad²
    [verdict] = verdicts(bench)
    assert (verdict.kind, verdict.target, verdict.confidence) == ("mirror", target, 0.98)
    assert [body.target for body in bodies(bench.log) if isinstance(body, RepairCompleted)] == [target]
    assert [body.how for body in bodies(bench.log) if isinstance(body, FaultEnded)] == ["repaired"]
    assert not bench.state("diagnosis").misaligned_mirrors
    assert not bench.state("ocs").misaligned_mirrors
    bench.assert_documents_hold()


def test_a_slow_drift_is_reported_once_when_it_exceeds_the_threshold() -> None:
    bench = bench_of()
    inject(bench, "mirror", SOUTH, 0.2, onset_h=8)
    began_us = bench.now_us
    bench.run(began_us + US_PER_DAY)
    [(at_us, misaligned_mirrors)] = [
        (m.at_us, m.body) for m in bench.log if isinstance(m.body, MirrorStoodOut)
    ]
    hour = round((at_us - began_us) / US_PER_HOUR)
    assert at_us == began_us + hour * US_PER_HOUR
    assert 1 <= hour <= 3  # 0.025 dB an hour is 50, 71, 87 µrad
    assert isinstance(misaligned_mirrors, MirrorStoodOut)
    assert misaligned_mirrors.error_urad > 60.0


def test_a_dead_camera_reports_no_mirror_so_either_is_suspected() -> None:
    bench = bench_of()
    inject(bench, "camera", "pod-0/ocs-7/camera-S")
    inject(bench, "mirror", SOUTH, 12.0)  # far more than mirrors of an array without a camera drift
    bench.run(bench.now_us + 3 * US_PER_HOUR)
    assert not reports(bench)
    assert {verdict.confidence for verdict in verdicts(bench) if verdict.kind == "mirror"} == {0.5}


def test_equally_shaking_mirrors_are_no_outliers_and_a_drifting_one_is() -> None:
    bench = bench_of()
    inject(bench, "shake", "pod-0/ocs-7", 1.0)
    bench.run(bench.now_us + US_PER_HOUR)
    assert not reports(bench)
    inject(bench, "mirror", NORTH, 6.0)
    bench.run(bench.now_us + 10)
    assert [f"{body.side}{body.port}" for body in reports(bench)] == ["N2"]


def test_a_drifted_mirror_without_a_circuit_shows_with_its_next_circuit() -> None:
    bench = bench_of()
    inject(bench, "mirror", "pod-0/ocs-7/N14", 2.0)
    bench.run(bench.now_us + US_PER_HOUR)
    assert not reports(bench)
    bench.say(ConnectCircuits(slice="pod-0/slice-1", joins=((0, 7, 8),)))
    bench.run(bench.now_us + US_PER_HOUR)
    assert [f"{body.side}{body.port}" for body in reports(bench)] == ["N14"]


def test_after_a_patch_the_verdict_names_the_spare_of_the_mirror() -> None:
    bench = bench_of()
    bench.say(InjectFault(kind="port", target=NORTH), bench.now_us + 1)
    bench.say(PatchPort(repair="pod-0/repair-0", ocs=7, side="N", port=2))
    bench.run(bench.now_us + US_PER_HOUR)
    assert not bench.state("ocs").misaligned_mirrors
    inject(bench, "mirror", "pod-0/ocs-7/N128", 2.0)
    bench.run(bench.now_us + 10)
    [misaligned_mirrors] = reports(bench)
    assert isinstance(misaligned_mirrors, MirrorStoodOut)
    assert (misaligned_mirrors.port, misaligned_mirrors.spare) == (2, 128)


def test_without_cameras_nothing_is_reported() -> None:
    bench = bench_of(technology="robotic")
    inject(bench, "mirror", NORTH, 2.0)
    bench.run(bench.now_us + US_PER_DAY)
    assert not reports(bench)
