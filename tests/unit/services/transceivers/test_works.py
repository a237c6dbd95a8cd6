"""What technicians do at link ends shows while they do it, and is gone when they have left."""

import numpy as np
import pytest

from schemas.config import SuperpodConfig
from schemas.failures import FaultBegan, FaultEnded
from schemas.ocs import CircuitsConnected, CircuitsDisconnected, LinkLooped
from schemas.repairs import HandsOnBegun, RepairCancelled, RepairCompleted
from schemas.transceivers import EndsStoodOut, LinksChanged, LinksTrained, LinkTested, ModuleReported
from services.transceivers.service import SERVICE
from services.transceivers.telemetry import readings_of
from shared.basics.units import US_PER_DAY, US_PER_HOUR, US_PER_MIN
from shared.models.fault_row import Work
from tests.support.rig import Bench, bodies

NEAR, FAR = 1 * 96 + 7, 2 * 96 + 16 + 7
"""cube-1/+x/7 and cube-2/-x/7, joined by a circuit."""
TARGET = "pod-0/cube-1/+x/7"
SLICE = "pod-0/slice-0"
JOINS = tuple((0, cube, cube + 1) for cube in range(4))
CONNECTED = CircuitsConnected(slice=SLICE, joins=JOINS, missing_ocs=(), missing_ports=())
DAY = US_PER_DAY
LOOPED = LinkLooped(end=NEAR, ocs=7, north=2, south=2)


@pytest.fixture
def bench() -> Bench:
    found = Bench([SERVICE], SuperpodConfig())
    found.say(CONNECTED, 100)
    return found


def in_hand(work: Work = "clean", target: str = TARGET) -> HandsOnBegun:
    return HandsOnBegun(repair="pod-0/repair-4", target=target, work=work, technician=0)


def done(work: Work = "clean", target: str = TARGET) -> RepairCompleted:
    return RepairCompleted(
        repair="pod-0/repair-4", target=target, work=work, technician=0, waited_us=0, took_us=1
    )


def began(kind: str, severity: float | None = None) -> FaultBegan:
    row = {"fault": "pod-0/fault-3", "kind": kind, "target": TARGET, "injected": True, "severity": severity}
    return FaultBegan.model_validate(row | {"onset_us": 0, "expires_us": None})


@pytest.mark.parametrize("work", ["clean", "reseat", "replace"])
@pytest.mark.parametrize("is_called_off", [False, True])
def test_a_link_of_which_an_end_is_in_hand_is_down_and_comes_back(
    bench: Bench, work: Work, is_called_off: bool
) -> None:
    said = bodies(bench.say(in_hand(work), DAY))
    assert said == [LinksChanged(up=(), degraded=(), down=(NEAR, FAR))]
    read = readings_of(bench.state("transceivers"), np.array([NEAR, FAR]), DAY)
    assert np.isnan(read.temperature_c).tolist() == [True, False]
    assert (read.rx_power_dbm[1] == -40.0).all()
    (impaired,) = bench.documents["links", "pod-0/cube-1"].impaired
    assert (impaired.end, impaired.worked_on) == (NEAR, True)
    last = RepairCancelled(repair="pod-0/repair-4", target=TARGET) if is_called_off else done(work)
    said = bodies(bench.say(last, DAY + 10 * US_PER_MIN))
    assert said == [LinksChanged(up=(NEAR, FAR), degraded=(), down=())]
    assert not bench.state("transceivers").impaired
    assert bench.documents["links", "pod-0/cube-1"].impaired == ()


def test_a_dead_module_that_is_in_hand_is_as_down_as_before(bench: Bench) -> None:
    said = bodies(bench.say(began("link"), DAY))
    assert [type(body) for body in said] == [ModuleReported, LinksChanged]
    assert bodies(bench.say(in_hand("replace"), DAY + 1)) == []
    assert bodies(bench.say(done("replace"), DAY + 2)) == []
    ended = FaultEnded(fault="pod-0/fault-3", kind="link", target=TARGET, how="repaired")
    assert [type(body) for body in bodies(bench.say(ended, DAY + 3))] == [ModuleReported, LinksChanged]


def test_what_is_connected_while_an_end_is_in_hand_trains_without_it(bench: Bench) -> None:
    bench.say(CircuitsDisconnected(slice=SLICE, joins=JOINS), DAY)
    assert bodies(bench.say(in_hand(), DAY + 1)) == []
    (trained,) = bodies(bench.say(CONNECTED, DAY + 2), LinksTrained)
    assert trained.down == (NEAR, FAR)
    assert bodies(bench.say(done(), DAY + 3), LinksChanged)[0].up == (NEAR, FAR)


def test_an_end_in_hand_is_not_looked_at_and_what_stood_out_stands(bench: Bench) -> None:
    bench.say(began("connector", 3.0), DAY)
    bench.run(DAY + 6 * US_PER_HOUR)
    assert {look.end for said in bodies(bench.log, EndsStoodOut) for look in said.ends} == {NEAR, FAR}
    bench.say(in_hand(), DAY + 6 * US_PER_HOUR + 1)
    quiet = bench.run(DAY + 12 * US_PER_HOUR)
    assert not bodies(quiet, EndsStoodOut)
    assert bench.state("transceivers").told.keys() == {NEAR, FAR}
    bench.say(done(), DAY + 12 * US_PER_HOUR + 1)
    bench.say(FaultEnded(fault="pod-0/fault-3", kind="connector", target=TARGET, how="repaired"))
    (told,) = bodies(bench.run(2 * DAY), EndsStoodOut)
    assert (told.ends, told.usual) == ((), (NEAR, FAR))


def test_to_be_in_hand_often_is_no_flap(bench: Bench) -> None:
    for hour in range(6):
        bench.say(in_hand(), DAY + hour * US_PER_HOUR)
        bench.say(done(), DAY + hour * US_PER_HOUR + 10 * US_PER_MIN)
    bench.run(2 * DAY)
    assert not bench.state("transceivers").outages
    assert not bodies(bench.log, EndsStoodOut)


def test_a_link_test_of_an_end_in_hand_finds_it_open(bench: Bench) -> None:
    bench.say(CircuitsDisconnected(slice=SLICE, joins=JOINS), DAY)
    bench.say(in_hand(), DAY + 1)
    (tested,) = bodies(bench.say(LOOPED, DAY + 2), LinkTested)
    assert (tested.verdict, tested.loss_db) == ("open", None)
    bench.say(done(), DAY + 3)
    assert bodies(bench.say(LOOPED, DAY + 4), LinkTested)[0].verdict == "clean"


def test_work_at_other_parts_puts_out_no_light(bench: Bench) -> None:
    assert bodies(bench.say(in_hand("replace", "pod-0/cube-1/host-0"), DAY)) == []
