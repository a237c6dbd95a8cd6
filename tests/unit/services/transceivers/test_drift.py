"""An array without a camera or a monitor beam drifts: its links lose light every hour, until the last of
these faults has ended."""

from typing import Any

import numpy as np
import pytest

from schemas.config.pods import SuperpodConfig
from schemas.messages.failures import FaultBegan, FaultEnded
from schemas.messages.ocs import CircuitsConnected, PortPatched
from schemas.names import FaultKind
from services.transceivers.service import SERVICE
from services.transceivers.state import TransceiversState
from services.transceivers.telemetry import readings_of
from shared.basics.units import US_PER_DAY, US_PER_HOUR
from shared.models.ocs.camera_alignment import drift_loss_db
from shared.models.ocs.drift import drifted_db, step_nrad
from shared.models.superpod.wiring import end_at, link_end
from tests.support.rig import Bench

OCS = 7
NEAR, FAR = 1 * 96 + 7, 2 * 96 + 16 + 7
"""cube-1/+x/7 (port 2 of OCS 7) and cube-2/-x/7 (port 5), joined by a circuit."""
BEGAN_US = 1_000_000


def made(cubes: int = 16, **ocs: Any) -> Bench:
    driven = Bench([SERVICE], SuperpodConfig.model_validate({"pod": {"cubes": cubes}, "ocs": ocs}))
    joins = tuple((0, cube, cube + 1) for cube in range(4))
    driven.say(CircuitsConnected(slice="pod-0/slice-0", joins=joins, missing_ocs=(), missing_ports=()), 100)
    return driven


def begin(bench: Bench, part: str, number: int = 0, at_us: int = BEGAN_US) -> None:
    kind: FaultKind = "camera" if part.startswith("camera") else "injector"
    body = FaultBegan(
        fault=f"pod-0/fault-{number}",
        kind=kind,
        target=f"pod-0/ocs-{OCS}/{part}",
        injected=True,
        severity=None,
        expires_us=None,
    )
    bench.say(body, at_us)


def end(bench: Bench, part: str, number: int, at_us: int) -> None:
    kind: FaultKind = "camera" if part.startswith("camera") else "injector"
    target = f"pod-0/ocs-{OCS}/{part}"
    bench.say(FaultEnded(fault=f"pod-0/fault-{number}", kind=kind, target=target, how="repaired"), at_us)


def state_of(bench: Bench) -> TransceiversState:
    state = bench.state("transceivers")
    assert isinstance(state, TransceiversState)
    return state


def lost_db(bench: Bench) -> dict[int, tuple[float, float]]:
    return {number: wrong.lost_db for number, wrong in state_of(bench).impaired.items()}


def expected_db(side: int, port: int, hours: int, ports: int = 136) -> float:
    """The drift of the mirror of a port, by the model."""
    first = BEGAN_US // US_PER_HOUR
    tilts = sum(step_nrad(0, "pod-0", OCS, side, first + hour, ports) for hour in range(hours))
    return float(drifted_db(np.asarray(tilts))[port])


def test_each_mirror_of_an_unmonitored_array_costs_its_strand_more_every_hour() -> None:
    bench = made()
    begin(bench, "camera-N")
    bench.run(BEGAN_US + US_PER_HOUR - 1)
    assert not lost_db(bench)
    for hours in (1, 2, 30):
        bench.run(BEGAN_US + hours * US_PER_HOUR)
        found = lost_db(bench)
        assert {link_end(number).ocs for number in found} == {OCS}
        # The mirror at North 2 is on strand 0 of the link, the one at North 5 on strand 1.
        assert found[NEAR] == (expected_db(0, 2, hours), 0.0)
        assert found[FAR] == (0.0, expected_db(0, 5, hours))
    bench.assert_documents_hold()


@pytest.mark.slow("days of a pod that drifts")
def test_readings_and_errors_show_the_drift_and_none_is_left_when_the_camera_is_back() -> None:
    bench = made()
    ber, code = state_of(bench).worst_lane_log10_ber.copy(), state_of(bench).code.copy()
    ends, at_us = np.array([NEAR, FAR]), BEGAN_US + 20 * US_PER_DAY
    sound = readings_of(state_of(bench), ends, at_us).field("rx_power_dbm")
    begin(bench, "injector-S")
    bench.run(at_us)
    state = state_of(bench)
    fell_db = sound - readings_of(state, ends, at_us).field("rx_power_dbm")
    by_strand = fell_db.reshape(2, 2, 4).mean(axis=2)
    lost = lost_db(bench)
    both = np.add(lost[NEAR], lost[FAR])
    assert (both > 0.5).all()  # after this time
    assert by_strand == pytest.approx(np.stack([both, both]), abs=0.05)  # both ways
    assert (state.worst_lane_log10_ber[ends] > ber[ends] + 0.5).all()
    end(bench, "injector-S", 0, at_us + 1)
    assert not state.impaired
    assert not state.drifting
    np.testing.assert_array_equal(state.worst_lane_log10_ber, ber)
    np.testing.assert_array_equal(state.code, code)
    bench.assert_documents_hold()


def test_an_array_stays_unmonitored_until_the_last_of_its_faults_has_ended() -> None:
    bench = made()
    begin(bench, "camera-N", 0)
    begin(bench, "injector-N", 1, BEGAN_US + US_PER_HOUR)
    end(bench, "camera-N", 0, BEGAN_US + 3 * US_PER_HOUR + 1)
    bench.run(BEGAN_US + 5 * US_PER_HOUR)
    assert lost_db(bench)[NEAR] == (expected_db(0, 2, 5), 0.0)
    end(bench, "injector-N", 1, BEGAN_US + 6 * US_PER_HOUR + 1)
    assert not lost_db(bench)


def test_both_arrays_add_up() -> None:
    bench = made()
    begin(bench, "camera-N", 0)
    begin(bench, "camera-S", 1)
    bench.run(BEGAN_US + 10 * US_PER_HOUR)
    assert lost_db(bench)[NEAR] == (expected_db(0, 2, 10), expected_db(1, 2, 10))


def test_the_mean_matches_the_closed_form() -> None:
    bench = made(cubes=64)
    begin(bench, "camera-N")
    hours = 72
    bench.run(BEGAN_US + hours * US_PER_HOUR)
    amounts = [sum(lost) for lost in lost_db(bench).values()]
    mean_db = drift_loss_db(hours, arrays=1)
    assert len(amounts) == 128
    assert np.mean(amounts) == pytest.approx(mean_db, abs=4 * mean_db / np.sqrt(128))


def test_a_fibre_moved_meanwhile_is_at_another_mirror() -> None:
    bench = made()
    begin(bench, "camera-N")
    bench.run(BEGAN_US + 10 * US_PER_HOUR)
    bench.say(PortPatched(ocs=OCS, side="N", port=2, spare=130))
    assert lost_db(bench)[NEAR] == (expected_db(0, 130, 10), 0.0)
    bench.run(BEGAN_US + 11 * US_PER_HOUR)
    assert lost_db(bench)[NEAR] == (expected_db(0, 130, 11), 0.0)
    bench.assert_documents_hold()


@pytest.mark.slow("days of a pod that drifts")
def test_links_made_meanwhile_lose_as_much() -> None:
    bench = made()
    begin(bench, "camera-N")
    bench.run(BEGAN_US + 400 * US_PER_HOUR)
    joins = ((0, 9, 10),)
    bench.say(CircuitsConnected(slice="pod-0/slice-1", joins=joins, missing_ocs=(), missing_ports=()))
    early, late = made(), state_of(bench)
    early.say(CircuitsConnected(slice="pod-0/slice-1", joins=joins, missing_ocs=(), missing_ports=()), 200)
    number = end_at(OCS, 18).number
    assert late.worst_lane_log10_ber[number] > state_of(early).worst_lane_log10_ber[number]


def test_all_ends_of_a_large_pod_drift() -> None:
    bench = made(cubes=144)
    begin(bench, "camera-S")
    bench.run(BEGAN_US + 2 * US_PER_HOUR)
    assert 280 < len(lost_db(bench)) <= 288  # one or two mirrors may have moved by a negligible amount
    last = end_at(OCS, 287)
    assert sum(lost_db(bench)[last.number]) == expected_db(1, 287, 2, 296)


@pytest.mark.parametrize("technology", ["robotic", "piezo", "wavelength"])
def test_a_technology_without_a_camera_does_not_drift(technology: str) -> None:
    bench = made(cubes=46, technology=technology)
    begin(bench, "camera-N")
    bench.run(BEGAN_US + 5 * US_PER_HOUR)
    assert not lost_db(bench)
