"""Cubes without power: their modules are dark, and no module is at fault."""

import numpy as np

from schemas.messages.failures import FaultBegan
from schemas.messages.transceivers import LinksChanged, LinksTrained, ModuleReported
from services.transceivers import link_optics
from services.transceivers.state import DOWN
from services.transceivers.telemetry import readings_of
from tests.support.ocs_model import fault_began, fault_ended
from tests.support.rig import Bench, bodies
from tests.unit.services.transceivers.test_transceivers import (
    BUDGET,
    NAME,
    NORTH,
    SOUTH,
    bench_with,
    connected,
)

LINKS = (*range(NORTH, NORTH + 16), *range(SOUTH, SOUTH + 16))
OUTAGE = fault_began("pod-0/fault-1", "cube-power", "pod-0/cube-2")


def trained() -> Bench:
    bench = bench_with(BUDGET)
    bench.say(connected(), 100)
    return bench


def test_all_links_of_a_cube_without_power_are_down_until_it_returns() -> None:
    bench = trained()
    emitted = bodies(bench.say(OUTAGE, 200))
    assert emitted == [LinksChanged(up=(), degraded=(), down=LINKS)]
    state = bench.state("transceivers")
    assert state.failed.sum() == 96
    assert not link_optics.receiving(state, slice(None)).any(), "at neither end there is light to measure"
    bench.assert_documents_hold()
    emitted = bodies(bench.say(fault_ended(OUTAGE), 300))
    assert emitted == [LinksChanged(up=LINKS, degraded=(), down=())]
    assert state.failed.sum() == len(state.impaired) == 0
    bench.assert_documents_hold()


def test_modules_without_power_read_nothing_and_their_far_ends_receive_no_light() -> None:
    bench = trained()
    bench.say(OUTAGE, 200)
    shown = readings_of(bench.state("transceivers"), np.array([NORTH, SOUTH]), 300)
    assert np.isnan(shown.temperature_c).tolist() == [True, False]
    assert np.isnan(shown.tx_power_dbm).all(axis=1).tolist() == [True, False]
    assert (shown.rx_power_dbm[1] <= -40.0).all()


def test_no_module_shows_that_it_has_failed() -> None:
    bench = trained()
    bench.say(OUTAGE, 200)
    assert bodies(bench.log, ModuleReported) == []


def test_links_made_without_power_are_down() -> None:
    bench = bench_with(BUDGET)
    assert bodies(bench.say(OUTAGE, 50)) == []
    assert bodies(bench.say(connected(), 100)) == [LinksTrained(slice=NAME, up=0, degraded=(), down=LINKS)]


def test_the_power_is_back_when_the_last_of_its_faults_has_ended() -> None:
    bench = trained()
    other: FaultBegan = fault_began("pod-0/fault-2", "cube-power", "pod-0/cube-3")
    bench.say(OUTAGE, 200)
    assert bodies(bench.say(other, 201)) == []
    assert bodies(bench.say(fault_ended(OUTAGE), 300)) == []
    assert (bench.state("transceivers").code[list(LINKS)] == DOWN).all()
    assert bodies(bench.say(fault_ended(other), 400)) == [LinksChanged(up=LINKS, degraded=(), down=())]
