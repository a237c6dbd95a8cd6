"""Work of technicians at link ends shows while it lasts, and leaves no trace afterwards."""

import numpy as np
import pytest

from schemas.config.pods import SuperpodConfig
from schemas.messages.failures import FaultBegan, FaultEnded
from schemas.messages.ocs import CircuitsConnected, CircuitsDisconnected, LinkLooped
from schemas.messages.repairs import HandsOnBegun, RepairCancelled, RepairCompleted
from schemas.messages.transceivers import EndsStoodOut, LinksChanged, LinksTrained, LinkTested, ModuleReported
from services.transceivers.link_optics import lane_log10_bers
from services.transceivers.modules import US_PER_YEAR, bias_ageing, expected_bias_ageing, modules_of
from services.transceivers.outlier_inspection import inspect
from services.transceivers.service import SERVICE
from services.transceivers.state import TransceiversState
from services.transceivers.telemetry import readings_of
from shared.basics.units import US_PER_DAY, US_PER_HOUR, US_PER_MIN
from shared.models.faults.fault_definition import WorkKind
from shared.models.optics.manufactured_modules import manufacture_modules, manufactured_modules
from shared.models.optics.pod_links import link_table
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
    driven = Bench([SERVICE], SuperpodConfig())
    driven.say(CONNECTED, 100)
    return driven


def state_of(bench: Bench) -> TransceiversState:
    state = bench.state("transceivers")
    assert isinstance(state, TransceiversState)
    return state


def in_hand(work: WorkKind = "clean", target: str = TARGET) -> HandsOnBegun:
    return HandsOnBegun(repair="pod-0/repair-4", target=target, work=work, technician=0)


def done(work: WorkKind = "clean", target: str = TARGET) -> RepairCompleted:
    return RepairCompleted(
        repair="pod-0/repair-4", target=target, work=work, technician=0, waited_us=0, took_us=1
    )


def began(kind: str, severity: float | None = None) -> FaultBegan:
    row = {"fault": "pod-0/fault-3", "kind": kind, "target": TARGET, "injected": True, "severity": severity}
    return FaultBegan.model_validate(row | {"onset_us": 0, "expires_us": None})


@pytest.mark.parametrize("work", ["clean", "reseat", "replace"])
@pytest.mark.parametrize("is_called_off", [False, True])
def test_a_link_with_an_end_in_hand_is_down_until_the_work_ends(
    bench: Bench, work: WorkKind, is_called_off: bool
) -> None:
    emitted = bodies(bench.say(in_hand(work), DAY))
    assert emitted == [LinksChanged(up=(), degraded=(), down=(NEAR, FAR))]
    read = readings_of(bench.state("transceivers"), np.array([NEAR, FAR]), DAY)
    assert np.isnan(read.temperature_c).tolist() == [True, False]
    assert (read.rx_power_dbm[1] == -40.0).all()
    (impaired,) = bench.documents["links", "pod-0/cube-1"].impaired
    assert (impaired.end, impaired.worked_on) == (NEAR, True)
    last = RepairCancelled(repair="pod-0/repair-4", target=TARGET) if is_called_off else done(work)
    emitted = bodies(bench.say(last, DAY + 10 * US_PER_MIN))
    assert emitted == [LinksChanged(up=(NEAR, FAR), degraded=(), down=())]
    assert not bench.state("transceivers").impaired
    assert bench.documents["links", "pod-0/cube-1"].impaired == ()


def test_a_dead_module_in_hand_is_down_as_before(bench: Bench) -> None:
    emitted = bodies(bench.say(began("link"), DAY))
    assert [type(body) for body in emitted] == [ModuleReported, LinksChanged]
    assert bodies(bench.say(in_hand("replace"), DAY + 1)) == []
    assert bodies(bench.say(done("replace"), DAY + 2)) == []
    ended = FaultEnded(fault="pod-0/fault-3", kind="link", target=TARGET, how="repaired")
    assert [type(body) for body in bodies(bench.say(ended, DAY + 3))] == [ModuleReported, LinksChanged]


def test_a_link_connected_while_an_end_is_in_hand_trains_without_it(bench: Bench) -> None:
    bench.say(CircuitsDisconnected(slice=SLICE, joins=JOINS), DAY)
    assert bodies(bench.say(in_hand(), DAY + 1)) == []
    (trained,) = bodies(bench.say(CONNECTED, DAY + 2), LinksTrained)
    assert trained.down == (NEAR, FAR)
    assert bodies(bench.say(done(), DAY + 3), LinksChanged)[0].up == (NEAR, FAR)


def test_an_end_in_hand_is_not_inspected_and_its_outlier_remains(bench: Bench) -> None:
    bench.say(began("connector", 3.0), DAY)
    bench.run(DAY + 6 * US_PER_HOUR)
    assert {look.end for said in bodies(bench.log, EndsStoodOut) for look in said.ends} == {NEAR, FAR}
    bench.say(in_hand(), DAY + 6 * US_PER_HOUR + 1)
    quiet = bench.run(DAY + 12 * US_PER_HOUR)
    assert not bodies(quiet, EndsStoodOut)
    assert bench.state("transceivers").reported.keys() == {NEAR, FAR}
    bench.say(done(), DAY + 12 * US_PER_HOUR + 1)
    bench.say(FaultEnded(fault="pod-0/fault-3", kind="connector", target=TARGET, how="repaired"))
    (reported,) = bodies(bench.run(2 * DAY), EndsStoodOut)
    assert (reported.ends, reported.usual) == ((), (NEAR, FAR))


def test_unreadable_values_are_neither_normal_nor_forgotten(bench: Bench) -> None:
    """Light and its errors are read only where there is light, not over a held OCS."""
    bench.say(began("receiver", 3.0), DAY)
    bench.run(DAY + 2 * US_PER_HOUR)
    bench.say(CircuitsDisconnected(slice=SLICE, joins=JOINS))
    bench.say(CONNECTED.model_copy(update={"missing_ocs": (7,)}))
    (dark,) = bodies(bench.run(2 * DAY), EndsStoodOut)
    assert (dark.ends, dark.usual, dark.unseen) == ((), (), (NEAR, FAR))
    bench.say(CircuitsDisconnected(slice=SLICE, joins=JOINS))
    bench.say(CONNECTED)
    (lit,) = bodies(bench.run(3 * DAY), EndsStoodOut)
    assert [look.end for look in lit.ends] == [NEAR, FAR]
    bench.say(CircuitsDisconnected(slice=SLICE, joins=JOINS))
    bench.say(FaultEnded(fault="pod-0/fault-3", kind="receiver", target=TARGET, how="cleared"))
    (gone,) = bodies(bench.run(4 * DAY), EndsStoodOut)
    assert gone.unseen == (NEAR, FAR)
    assert not bodies(bench.run(5 * DAY), EndsStoodOut), "it is told once"
    bench.say(CONNECTED)
    (usual,) = bodies(bench.run(6 * DAY), EndsStoodOut)
    assert (usual.ends, usual.usual, usual.unseen) == ((), (NEAR, FAR), ())


def test_frequent_repairs_are_not_counted_as_flaps(bench: Bench) -> None:
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


def test_work_at_other_parts_interrupts_no_light(bench: Bench) -> None:
    assert bodies(bench.say(in_hand("replace", "pod-0/cube-1/host-0"), DAY)) == []


# --- another module -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("work", ["clean", "reseat"])
def test_a_repair_without_a_replacement_keeps_the_module(bench: Bench, work: WorkKind) -> None:
    bench.say(done(work), DAY)
    assert not state_of(bench).replaced


def test_a_replaced_module_is_new_and_all_others_are_unchanged(bench: Bench) -> None:
    state = state_of(bench)
    ends = len(state.peer)
    first, others = modules_of(state), np.arange(ends) != NEAR
    bench.say(done("replace"), DAY)
    second = modules_of(state)
    bench.say(done("replace"), 2 * DAY)
    third = modules_of(state)
    assert first.made is manufactured_modules(state.seed, "pod-0", ends)
    for which in ("made", "calibration", "accepted"):
        for name in type(getattr(first, which)).__dataclass_fields__:
            was, then, now = (getattr(getattr(one, which), name) for one in (first, second, third))
            assert np.array_equal(was[others], then[others])
            assert np.array_equal(was[others], now[others])
            of_place = name == "warmer_k"
            assert np.array_equal(was[NEAR], then[NEAR]) == of_place, name
            assert np.array_equal(then[NEAR], now[NEAR]) == of_place, name
    made = manufacture_modules(state.seed, "pod-0", np.array([NEAR]), 2)
    assert np.array_equal(third.made.launch_db[NEAR], made.launch_db[0])
    (row,) = bench.documents["links", "pod-0/cube-1"].replaced
    assert (row.end, row.generation, row.since_us) == (NEAR, 2, 2 * DAY)


def test_a_link_over_a_replaced_module_receives_the_light_of_the_new_module(bench: Bench) -> None:
    """By the table of links and by the plain kernel for its two ends, now and after a rebuild."""
    state, ends = state_of(bench), np.array([NEAR, FAR])
    before = state.worst_lane_log10_ber[ends].copy()
    bench.say(done("replace"), DAY)
    after = state.worst_lane_log10_ber[ends].copy()
    assert after[0] != before[0]
    assert after == pytest.approx(lane_log10_bers(state, ends).max(axis=1), abs=1e-3)
    bench.say(CircuitsDisconnected(slice=SLICE, joins=JOINS), DAY + 1)
    bench.say(CONNECTED, DAY + 2)
    assert np.array_equal(state.worst_lane_log10_ber[ends], after)
    linked = np.flatnonzero(state.peer >= 0)
    plain = lane_log10_bers(state, linked).max(axis=1)
    assert state.worst_lane_log10_ber[linked] == pytest.approx(plain, abs=1.5e-3)


@pytest.mark.parametrize("target", [TARGET, "pod-0/cube-2/-x/7"])
def test_the_table_of_links_is_bit_identical_after_replacement_and_rebuild(bench: Bench, target: str) -> None:
    state = state_of(bench)
    bench.say(done("replace", target), DAY)
    bench.say(done("replace", "pod-0/cube-3/+y/2"), 2 * DAY)
    bench.say(done("replace", target), 3 * DAY)
    kept = modules_of(state).pairs
    state.modules = None
    rebuilt = modules_of(state).pairs
    assert kept is not None
    assert rebuilt is not None
    assert not rebuilt.known.any()
    cubes = np.arange(state.cubes)
    here, there = (array.ravel() for array in np.meshgrid(cubes, cubes))
    commissioned = link_table(state.seed, "pod-0", state.cubes, kept.design)
    for ocs in (7, 8, 18):
        found = [table.at(np.full(len(here), ocs), here, there) for table in (kept, rebuilt, commissioned)]
        for incremental, whole, first in zip(*found, strict=True):
            assert np.array_equal(incremental, whole)
            changed = set(np.flatnonzero(incremental != first).tolist())
            assert bool(changed) <= (ocs != 8)
    own, figure = (here == 1, 1) if target == TARGET else (there == 2, 2)
    now, first = (table.at(np.full(len(here), 7), here, there)[figure] for table in (kept, commissioned))
    assert (now != first)[own].mean() > 0.8
    assert not (now != first)[~own].any()


# --- age ----------------------------------------------------------------------------------------------------


def test_lasers_age_each_at_its_own_rate_and_again_when_replaced(bench: Bench) -> None:
    state, ends = state_of(bench), np.arange(96 * 4)
    year = bias_ageing(state, ends, US_PER_YEAR)
    assert 0.008 < np.median(year) < 0.012
    assert year.min() > 0.0
    assert (year > 0.03).mean() < 0.05
    assert bias_ageing(state, ends, 3 * US_PER_YEAR) == pytest.approx(3.0 * year)
    assert (bias_ageing(state, ends, 0) == 0.0).all()
    bench.say(done("replace"), 2 * DAY)
    ages = bias_ageing(state, np.array([NEAR, FAR]), 2 * DAY)
    assert (ages[0] == 0.0).all()
    assert (ages[1] > 0.0).all()


def test_age_shows_in_the_bias_and_in_nothing_else(bench: Bench) -> None:
    state, ends = state_of(bench), np.array([NEAR, FAR])
    old = readings_of(state, ends, 10 * US_PER_YEAR)
    share = bias_ageing(state, ends, 10 * US_PER_YEAR)
    state.commissioned_us, state.modules = 10 * US_PER_YEAR, None
    new = readings_of(state, ends, 10 * US_PER_YEAR)
    assert old.bias_ma / new.bias_ma - 1.0 == pytest.approx(share, abs=2e-4)
    for name in ("tx_power_dbm", "rx_power_dbm", "snr_db", "temperature_c", "ber"):
        assert np.array_equal(old.field(name), new.field(name))


def test_normal_values_follow_age_and_wear_out_is_an_outlier_at_every_age(
    bench: Bench,
) -> None:
    state, ends = state_of(bench), np.arange(96, 96 + 16)
    state.now_us = 20 * US_PER_YEAR
    quiet = np.array([look.bias for look in inspect(state, ends)])
    lag = (bias_ageing(state, ends, state.now_us) - expected_bias_ageing(state, ends, state.now_us)).mean(
        axis=1
    )
    assert (lag < 0.02).all()
    assert (np.abs(quiet) < 0.05).all()
    bench.say(began("laser", 4.0), state.now_us + 1)
    (look,) = inspect(state, np.array([NEAR]))
    assert look.bias > 0.3
