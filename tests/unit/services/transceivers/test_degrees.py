"""Gradual faults: each kind shows in light or readings as in reality, at the right end and time, and leaves
no trace when it has ended."""

import numpy as np
import pytest

from schemas.config.pods import SuperpodConfig
from schemas.messages.failures import FaultBegan, FaultEnded
from schemas.messages.ocs import CircuitsConnected, PortPatched
from schemas.messages.repairs import RepairCompleted
from schemas.messages.transceivers import LinksChanged, ModuleReported
from schemas.names import FaultKind
from services.transceivers.service import SERVICE
from services.transceivers.state import DOWN, UP, TransceiversState
from services.transceivers.telemetry import readings_of
from shared.basics.units import US_PER_DAY, US_PER_HOUR, US_PER_S
from shared.models.telemetry.module_readings import Readings
from tests.support.rig import Bench, bodies

NEAR, FAR = 1 * 96 + 7, 2 * 96 + 16 + 7
"""cube-1/+x/7 and cube-2/-x/7, joined by a circuit."""
TARGET = "pod-0/cube-1/+x/7"
FIRST, SECOND = slice(0, 4), slice(4, 8)
DAY = US_PER_DAY


@pytest.fixture
def bench() -> Bench:
    driven = Bench([SERVICE], SuperpodConfig())
    joins = tuple((0, cube, cube + 1) for cube in range(4))
    driven.say(CircuitsConnected(slice="pod-0/slice-0", joins=joins, missing_ocs=(), missing_ports=()), 100)
    return driven


def began(
    kind: FaultKind, severity: float | None = None, onset_us: int = 0, target: str = TARGET
) -> FaultBegan:
    return FaultBegan(
        fault="pod-0/fault-3",
        kind=kind,
        target=target,
        injected=True,
        severity=severity,
        onset_us=onset_us,
        expires_us=None,
    )


def ended(kind: FaultKind, target: str = TARGET) -> FaultEnded:
    return FaultEnded(fault="pod-0/fault-3", kind=kind, target=target, how="cleared")


def state_of(bench: Bench) -> TransceiversState:
    state = bench.state("transceivers")
    assert isinstance(state, TransceiversState)
    return state


def readings_at(bench: Bench, at_us: int) -> Readings:
    """The readings of the modules of both ends; the first row is the near end's."""
    return readings_of(state_of(bench), np.array([NEAR, FAR]), at_us)


def change(bench: Bench, kind: FaultKind, severity: float | None, target: str = TARGET) -> "Difference":
    """All readings at one time, without and with the fault; calibration and noise are the same."""
    before = readings_at(bench, DAY)
    bench.say(began(kind, severity, target=target), DAY - 1)
    return Difference(before, readings_at(bench, DAY))


class Difference:
    def __init__(self, before: Readings, after: Readings) -> None:
        self.before, self.after = before, after

    def __call__(self, field: str, place: int, lanes: slice = slice(None)) -> float:
        """Mean over the lanes, after minus before; error rates in orders of magnitude."""
        values = [readings_at.field(field)[place] for readings_at in (self.before, self.after)]
        if field.endswith("ber"):
            values = [np.log10(value) for value in values]
        low, high = (np.atleast_1d(value)[lanes] for value in values)
        return float((high - low).mean())


def near(value: float) -> object:
    return pytest.approx(value, abs=0.02)


def test_dirt_costs_both_directions_and_reflects_at_its_own_end(bench: Bench) -> None:
    seen = change(bench, "connector", 3.0)
    assert [seen("rx_power_dbm", place) for place in (0, 1)] == [near(-3.0), near(-3.0)]
    assert seen("tx_power_dbm", 0) == seen("tx_power_dbm", 1) == near(0.0)
    assert seen("mpi_db", 0) > seen("mpi_db", 1) + 3.0


def test_a_bend_costs_as_much_light_and_reflects_nothing(bench: Bench) -> None:
    seen = change(bench, "fibre", 3.0)
    assert [seen("rx_power_dbm", place) for place in (0, 1)] == [near(-3.0), near(-3.0)]
    # Reflections from behind the bend are weaker, and so is the light of the far end.
    assert seen("mpi_db", 0) < 3.5


def test_a_drifted_mirror_dims_one_strand_in_both_directions(bench: Bench) -> None:
    seen = change(bench, "mirror", 2.0, "pod-0/ocs-7/N2")
    hurt, sound = (FIRST, SECOND) if seen("rx_power_dbm", 0, FIRST) < -1.0 else (SECOND, FIRST)
    for place in (0, 1):
        assert seen("rx_power_dbm", place, hurt) == near(-2.0)
        assert seen("rx_power_dbm", place, sound) == near(0.0)


def test_a_chassis_that_shakes_costs_every_circuit_twice(bench: Bench) -> None:
    bers = state_of(bench).worst_lane_log10_ber.copy()
    seen = change(bench, "shake", 2.0, "pod-0/ocs-7")
    assert [seen("rx_power_dbm", place) for place in (0, 1)] == [near(-4.0), near(-4.0)]
    worse = np.flatnonzero(state_of(bench).worst_lane_log10_ber > bers)
    assert set((worse % 16).tolist()) == {7}
    assert len(worse) > 1


def test_a_worn_laser_raises_its_bias_and_dims_the_far_end(bench: Bench) -> None:
    seen = change(bench, "laser", 3.0)
    assert (seen("tx_power_dbm", 0), seen("tx_power_dbm", 1)) == (near(-3.0), near(0.0))
    assert (seen("rx_power_dbm", 0), seen("rx_power_dbm", 1)) == (near(0.0), near(-3.0))
    assert seen("bias_ma", 0) > 20.0
    assert seen("bias_ma", 1) == 0.0


def test_a_deaf_receiver_errs_at_the_same_power(bench: Bench) -> None:
    seen = change(bench, "receiver", 3.0)
    assert seen("rx_power_dbm", 0) == near(0.0)
    assert seen("snr_db", 0) < -2.0
    assert seen("raw_ber", 0) > 1.0
    assert seen("snr_db", 1) == near(0.0)


def test_a_dark_transmitter_takes_down_one_direction_of_one_strand(bench: Bench) -> None:
    seen = change(bench, "transmitter", None)
    dark = [lanes for lanes in (FIRST, SECOND) if seen("tx_power_dbm", 0, lanes) < -30.0]
    assert len(dark) == 1
    assert seen("rx_power_dbm", 1, dark[0]) < -20.0
    assert seen("rx_power_dbm", 0) == near(0.0)
    assert state_of(bench).code[[NEAR, FAR]].tolist() == [DOWN, DOWN]


def test_a_leaking_circulator_shows_as_interference_at_its_own_end(bench: Bench) -> None:
    seen = change(bench, "circulator", 20.0)
    assert seen("rx_power_dbm", 0) == near(0.0)
    assert seen("mpi_db", 0) > 10.0
    assert seen("mpi_db", 1) == near(0.0)


def test_a_hot_module_reports_it_and_launches_less(bench: Bench) -> None:
    seen = change(bench, "heat", 20.0)
    assert seen("temperature_c", 0) == near(20.0)
    assert seen("temperature_c", 1) == near(0.0)
    assert seen("rx_power_dbm", 1) == near(-1.0)


def test_a_wrong_calibration_shows_in_one_reading_only(bench: Bench) -> None:
    seen = change(bench, "calibration", -2.5)
    assert seen("rx_power_dbm", 0) == near(-2.5)
    for field in ("tx_power_dbm", "snr_db", "raw_ber", "mpi_db", "temperature_c"):
        assert seen(field, 0) == 0.0
    assert seen("rx_power_dbm", 1) == 0.0


def test_a_stuck_module_repeats_its_readings_and_a_late_one_delays_them(bench: Bench) -> None:
    bench.say(began("stuck"), DAY)
    once, later = (readings_at(bench, at_us) for at_us in (DAY + US_PER_HOUR, DAY + 9 * US_PER_HOUR))
    assert (once.rx_power_dbm[0] == later.rx_power_dbm[0]).all()
    assert (once.rx_power_dbm[1] != later.rx_power_dbm[1]).any()
    bench.say(ended("stuck"), DAY + 10 * US_PER_HOUR)
    bench.say(began("late", 90.0), DAY + 10 * US_PER_HOUR)
    late = readings_at(bench, DAY + 12 * US_PER_HOUR)
    assert late.at_us.tolist() == [DAY + 10 * US_PER_HOUR + US_PER_HOUR // 2, DAY + 12 * US_PER_HOUR]


def test_a_lying_module_reads_values_unrelated_to_the_light(bench: Bench) -> None:
    bench.say(began("lying"), DAY)
    lies = readings_at(bench, DAY + US_PER_HOUR)
    bench.say(began("fibre", 6.0).model_copy(update={"fault": "pod-0/fault-4"}), DAY + 2 * US_PER_HOUR)
    assert np.abs(readings_at(bench, DAY + US_PER_HOUR).rx_power_dbm[0] - lies.rx_power_dbm[0]).max() == 0.0


def test_short_outages_are_ridden_out_and_long_ones_take_the_link_down(bench: Bench) -> None:
    bench.say(began("flap", 1.0), DAY)
    emitted = bodies(bench.run(3 * DAY))
    assert not [body for body in emitted if isinstance(body, ModuleReported | LinksChanged)]
    assert len(state_of(bench).outages[NEAR]) > 5
    bench.say(ended("flap"), 3 * DAY)
    bench.say(began("flap", 30.0), 3 * DAY)
    start = len(bench.log)
    bench.run(4 * DAY)
    changed = [m for m in bench.log[start:] if isinstance(m.body, LinksChanged)]
    assert len(changed) > 6
    falls = [
        message.at_us for message in changed if isinstance(message.body, LinksChanged) and message.body.down
    ]
    rises = [
        message.at_us for message in changed if isinstance(message.body, LinksChanged) and message.body.up
    ]
    assert {up - down for down, up in zip(falls, rises, strict=False)} == {30 * US_PER_S}


def test_a_fault_grows_in_steps_until_it_is_complete(bench: Bench) -> None:
    bench.say(began("receiver", 8.0, onset_us=8 * US_PER_HOUR), DAY)
    grown = []
    for hour in range(10):
        bench.run(DAY + hour * US_PER_HOUR)
        wrong = state_of(bench).impaired.get(NEAR)
        grown.append(0.0 if wrong is None else wrong.sensitivity_loss_db)
    assert grown == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 8.0]
    assert state_of(bench).code[NEAR] != UP


def test_a_batch_fault_wears_all_its_modules_and_no_others(bench: Bench) -> None:
    bench.say(began("batch", 3.0, target="pod-0/batch-5"), DAY)
    assert sorted(state_of(bench).impaired) == list(range(5, 64 * 96, 64))


def test_a_replaced_module_belongs_to_another_batch(bench: Bench) -> None:
    bench.say(began("batch", 3.0, target="pod-0/batch-5"), DAY)
    done = RepairCompleted(
        repair="pod-0/repair-0",
        target="pod-0/cube-0/+x/5",
        work="replace",
        technician=0,
        waited_us=0,
        took_us=1,
    )
    cleaned = done.model_copy(update={"work": "clean"})
    bench.say(cleaned, 2 * DAY)
    assert 5 in state_of(bench).impaired
    bench.say(done, 2 * DAY)
    assert sorted(state_of(bench).impaired) == list(range(5 + 64, 64 * 96, 64))
    bench.say(done.model_copy(update={"target": "pod-0/ocs-3"}), 2 * DAY)
    bench.say(ended("batch", "pod-0/batch-5"), 3 * DAY)
    assert not state_of(bench).impaired


KINDS: list[tuple[FaultKind, float | None, str]] = [
    *(("connector", 6.0, TARGET), ("fibre", 6.0, TARGET), ("laser", 6.0, TARGET), ("receiver", 6.0, TARGET)),
    *(("transmitter", None, TARGET), ("circulator", 30.0, TARGET), ("heat", 40.0, TARGET)),
    *(("calibration", 3.0, TARGET), ("stuck", None, TARGET), ("late", 40.0, TARGET), ("lying", None, TARGET)),
    *(("mirror", 6.0, "pod-0/ocs-7/N2"), ("shake", 4.0, "pod-0/ocs-7"), ("batch", 6.0, "pod-0/batch-7")),
]


@pytest.mark.parametrize(("kind", "severity", "target"), KINDS)
def test_ended_faults_leave_nothing_behind(
    bench: Bench, kind: FaultKind, severity: float | None, target: str
) -> None:
    def held() -> list[object]:
        state, document = state_of(bench), bench.documents["links", "pod-0/cube-1"]
        arrays = [array.tobytes() for array in (state.worst_lane_log10_ber, state.code, state.excess_db)]
        return [*arrays, dict(state.impaired), document.conditions, document.losses_db]

    before = held()
    bench.say(began(kind, severity, target=target), DAY)
    assert state_of(bench).impaired
    bench.say(ended(kind, target), 2 * DAY)
    assert held() == before


def lost(bench: Bench) -> dict[int, tuple[float, float]]:
    """The loss of each end by mirrors."""
    return {end: wrong.lost_db for end, wrong in state_of(bench).impaired.items()}


def test_a_mirror_strikes_the_fibre_that_is_before_it() -> None:
    """cube-1/+x/7 was wired to N2; its fibre is moved to N130, and from there to N131."""
    bench = Bench([SERVICE], SuperpodConfig())
    joins = tuple((0, cube, cube + 1) for cube in range(4))
    bench.say(CircuitsConnected(slice="pod-0/slice-0", joins=joins, missing_ocs=(), missing_ports=()), 100)
    bench.say(began("mirror", 3.0, target="pod-0/ocs-7/N130"))
    assert lost(bench) == {}, "no fibre is before a spare"
    bench.say(PortPatched(ocs=7, side="N", port=2, spare=130))
    assert lost(bench) == {NEAR: (3.0, 0.0)}
    bench.say(PortPatched(ocs=7, side="N", port=2, spare=131))
    assert lost(bench) == {}
    bench.say(PortPatched(ocs=7, side="N", port=2, spare=130))
    assert lost(bench) == {NEAR: (3.0, 0.0)}
    bench.say(ended("mirror", "pod-0/ocs-7/N130"))
    assert lost(bench) == {}
    bench.assert_documents_hold()


def test_the_mirror_that_a_fibre_was_moved_away_from_strikes_nothing() -> None:
    bench = Bench([SERVICE], SuperpodConfig())
    bench.say(PortPatched(ocs=7, side="N", port=2, spare=129))
    bench.say(began("mirror", 3.0, target="pod-0/ocs-7/N2"))
    assert lost(bench) == {}
    bench.say(ended("mirror", "pod-0/ocs-7/N2"))
    bench.say(began("mirror", 3.0, target="pod-0/ocs-7/N129"))
    assert lost(bench) == {NEAR: (3.0, 0.0)}, "the strand is that of the port where the fibre was wired"
