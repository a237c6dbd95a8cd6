"""Stuck and late sensors report the light of an earlier time, whatever has become of the link since."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from schemas.config.pods import SuperpodConfig
from schemas.messages.failures import FaultBegan
from schemas.messages.ocs import CircuitsConnected, CircuitsDisconnected
from schemas.names import FaultKind
from services.transceivers.link_optics import masks_of
from services.transceivers.sensor_history import RECORDS_MAX
from services.transceivers.service import SERVICE
from services.transceivers.telemetry import readings_of
from shared.basics.units import US_PER_DAY, US_PER_HOUR, US_PER_MIN
from shared.models.telemetry.module_readings import Readings
from tests.support.rig import Bench
from tests.unit.services.transceivers.test_degrees import DAY, FAR, NEAR, TARGET, began, ended, state_of
from tests.unit.services.transceivers.test_link_repairs import done

JOINS = tuple((0, cube, cube + 1) for cube in range(4))


def connect(bench: Bench, at_us: int) -> None:
    bench.say(CircuitsConnected(slice="pod-0/slice-0", joins=JOINS, missing_ocs=(), missing_ports=()), at_us)


def disconnect(bench: Bench, at_us: int) -> None:
    bench.say(CircuitsDisconnected(slice="pod-0/slice-0", joins=JOINS), at_us)


def lit_bench() -> Bench:
    driven = Bench([SERVICE], SuperpodConfig())
    connect(driven, 100)
    return driven


def readings_at(bench: Bench, at_us: int, end: int = NEAR) -> list[Any]:
    """All readings of one module, field by field, with their time; null as None."""
    readings: Readings = readings_of(state_of(bench), np.array([end]), at_us)
    fields = [np.asarray(getattr(readings, name)[0]) for name in Readings.__slots__]
    return [[None if np.isnan(one) else one for one in value.ravel().tolist()] for value in fields]


def rx_dbm(bench: Bench, at_us: int) -> float:
    return float(readings_of(state_of(bench), np.array([NEAR]), at_us).rx_power_dbm.mean())


def another(kind: FaultKind, severity: float | None, number: int, target: str = TARGET) -> FaultBegan:
    return began(kind, severity, target=target).model_copy(update={"fault": f"pod-0/fault-{number}"})


@pytest.mark.parametrize("reload", [False, True])
def test_a_stuck_module_repeats_its_readings_though_its_laser_dims(reload: bool) -> None:
    bench = lit_bench()
    then = readings_at(bench, DAY)
    bench.say(began("stuck"), DAY)
    bench.say(another("laser", 6.0, 4), DAY + US_PER_HOUR)
    bench.say(another("fibre", 3.0, 5, "pod-0/cube-2/-x/7"), DAY + US_PER_HOUR)
    if reload:
        bench.reload()
    for hours in (0, 1, 2, 30):
        assert readings_at(bench, DAY + hours * US_PER_HOUR) == then
    bench.say(ended("stuck"), DAY + 30 * US_PER_HOUR)
    assert not state_of(bench).light_history
    mended = readings_of(state_of(bench), np.array([NEAR]), DAY)
    assert float(mended.tx_power_dbm.mean()) == pytest.approx(np.mean(then[1]) - 6.0, abs=0.02)


def test_a_new_fault_discards_the_kept_misreadings() -> None:
    bench = lit_bench()
    bench.say(began("stuck"), DAY)
    state = state_of(bench)
    state.masks = replace(masks_of(state), misreading={})
    connect(bench, DAY + 1)
    assert not state.light_history, "the kept misreadings decide"
    bench.say(another("late", 60.0, 4, "pod-0/cube-2/-x/7"), DAY + 2)
    assert state.light_history.keys() == {NEAR, FAR}


def test_a_module_stuck_in_the_dark_reads_dark_and_one_stuck_in_light_reads_light() -> None:
    bench = lit_bench()
    disconnect(bench, DAY)
    bench.say(began("stuck"), DAY + 1)
    connect(bench, DAY + US_PER_HOUR)
    assert rx_dbm(bench, DAY + US_PER_HOUR) == -40.0
    bench.say(ended("stuck"), DAY + 2 * US_PER_HOUR)
    then = readings_at(bench, DAY + 2 * US_PER_HOUR + 1)
    bench.say(began("stuck"), DAY + 2 * US_PER_HOUR + 1)
    disconnect(bench, DAY + 3 * US_PER_HOUR)
    connect(bench, DAY + 4 * US_PER_HOUR)
    assert readings_at(bench, DAY + 5 * US_PER_HOUR) == then


def test_a_stuck_module_that_is_dead_shows_nothing() -> None:
    bench = lit_bench()
    bench.say(began("stuck"), DAY)
    bench.say(another("link", None, 4), DAY + 1)
    assert np.isnan(rx_dbm(bench, DAY + 2))


def test_a_late_module_shows_the_readings_of_a_healthy_one_an_hour_later() -> None:
    """A dip of ten minutes, and a circuit that is removed and made again: equal to the last digit."""
    late, sound = lit_bench(), lit_bench()
    late.say(began("late", 60.0), DAY)
    acts: dict[int, Callable[[Bench, int], object]] = {
        120: lambda bench, at_us: bench.say(another("fibre", 3.0, 4), at_us),
        130: lambda bench, at_us: bench.say(
            ended("fibre").model_copy(update={"fault": "pod-0/fault-4"}), at_us
        ),
        240: disconnect,
        270: connect,
    }
    told: dict[int, list[Any]] = {}
    dbm: dict[int, float] = {}
    for minute in range(0, 400, 5):
        at_us = DAY + minute * US_PER_MIN
        for bench in (late, sound):
            bench.run(at_us)
            if minute in acts:
                acts[minute](bench, at_us)
        # A module without a link reports its readings differently: `looks`.
        if state_of(late).peer[NEAR] != -1:
            told[minute], dbm[minute] = readings_at(sound, at_us), rx_dbm(late, at_us)
            if minute - 60 in told and minute >= 60:
                assert readings_at(late, at_us) == told[minute - 60]
    dip = {minute for minute in range(60, 240, 5) if dbm[minute] < dbm[60] - 2.0}
    assert dip == {180, 185}
    assert {minute for minute in dbm if dbm[minute] == -40.0} == {*range(300, 330, 5)}


@pytest.mark.parametrize("target", [TARGET, "pod-0/cube-2/-x/7"])
@pytest.mark.parametrize("reload", [False, True])
def test_a_replaced_module_does_not_change_earlier_readings(target: str, reload: bool) -> None:
    """The earlier lasers, receivers, calibration and their age still apply. One hour later, a late sensor
    shows the readings of the new module."""
    late, sound = lit_bench(), lit_bench()
    late.say(began("late", 60.0), 200 * DAY)
    then = readings_at(sound, 200 * DAY + US_PER_MIN)
    for bench in (late, sound):
        bench.say(done("replace", target), 200 * DAY + 30 * US_PER_MIN)
    if reload:
        late.reload()
    assert readings_at(late, 200 * DAY + 61 * US_PER_MIN) == then
    assert readings_at(sound, 200 * DAY + 61 * US_PER_MIN) != then
    anew = readings_at(sound, 200 * DAY + 40 * US_PER_MIN)
    for bench in (late, sound):
        connect(bench, 200 * DAY + 90 * US_PER_MIN)
    assert readings_at(late, 200 * DAY + 100 * US_PER_MIN) == anew
    moment = state_of(late).light_history[NEAR][-1]
    assert [(end, module.generation) for end, module in moment.replaced] == [
        (NEAR if target == TARGET else FAR, 1)
    ]


def test_a_stuck_module_shows_the_readings_of_the_module_that_stuck() -> None:
    """The same after a second replacement of the far module, long after."""
    bench = lit_bench()
    bench.say(done("replace", "pod-0/cube-2/-x/7"), DAY)
    then = readings_at(bench, 2 * DAY)
    bench.say(began("stuck"), 2 * DAY)
    bench.say(done("replace", "pod-0/cube-2/-x/7"), 3 * DAY)
    assert readings_at(bench, 300 * DAY) == then


def test_the_history_is_bounded_and_kept_only_for_broken_sensors() -> None:
    bench = lit_bench()
    bench.say(began("late", 1_440.0), DAY)
    for number in range(RECORDS_MAX):
        bench.say(another("fibre", 3.0, 4), DAY + 2 * number + 1)
        bench.say(ended("fibre").model_copy(update={"fault": "pod-0/fault-4"}), DAY + 2 * number + 2)
    assert state_of(bench).light_history.keys() == {NEAR}
    assert len(state_of(bench).light_history[NEAR]) == RECORDS_MAX
    connect(bench, 3 * US_PER_DAY)
    # Readings older than the delay of the sensor are dropped, except the last one before it.
    assert len(state_of(bench).light_history[NEAR]) == 1
    moment = state_of(bench).light_history[NEAR][-1]
    assert moment.far == FAR
    assert moment.is_same_as(replace(moment, since_us=0))
