"""The beat of a signal with reflections, as fields are drawn and squared; and the far tail of a rate."""

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import erfcx

from shared.models.assumptions import assumed
from shared.models.optics.module_kinds import LANE_RATES
from shared.models.optics.multipath_interference import REACH, in_reach, is_steady, passed
from shared.models.optics.receiver import Receiver
from shared.models.optics.sensitivity import sensitivity_dbm

SYMBOLS, REFLECTORS = 400_000, 16
GRAY = np.array([[0, 0], [0, 1], [1, 1], [1, 0]])
RECEIVED_DBM = 30.0
"""Where neither the amplifier nor shot noise matters, so that the oracle leaves them out."""
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def levels_mw(received_dbm: float, count: int) -> FloatArray:
    """Evenly spaced, with the extinction ratio assumed and this average."""
    relative = np.linspace(1.0, 10 ** (assumed("laser_extinction_db") / 10), count)
    return np.asarray(10 ** (received_dbm / 10) * relative / relative.mean())


def other_noise_ma(receiver: Receiver, level_mw: FloatArray) -> FloatArray:
    """The noise of distortion and of the laser, which remains besides interference when there is plenty of
    light."""
    current_ma = assumed("receiver_responsivity_a_per_w") * level_mw
    bandwidth_hz = assumed("receiver_bandwidth") * receiver.symbol_gbd * 1e9
    laser = 10 ** (assumed("laser_intensity_noise_db_per_hz") / 10) * bandwidth_hz
    distortion_ma = np.ptp(current_ma) / 10 ** (assumed("signal_to_distortion_db") / 20)
    return np.asarray(np.hypot(distortion_ma, current_ma * math.sqrt(laser)))


def wrong_share(sent: IntArray, arrived_mw: FloatArray, receiver: Receiver, beat_mw2: FloatArray) -> float:
    """Of bits, with slicers between the levels as many deviations, beat counted, above the one as below the
    next."""
    level_mw = levels_mw(RECEIVED_DBM, 4)
    responsivity, noise_ma = assumed("receiver_responsivity_a_per_w"), other_noise_ma(receiver, level_mw)
    drawn = np.random.default_rng(6)
    current_ma = responsivity * arrived_mw + noise_ma[sent] * drawn.standard_normal(SYMBOLS)
    spread = np.hypot(noise_ma, responsivity * np.sqrt(beat_mw2))
    middle = responsivity * level_mw
    thresholds = (middle[:-1] * spread[1:] + middle[1:] * spread[:-1]) / (spread[:-1] + spread[1:])
    return float((GRAY[sent] != GRAY[np.searchsorted(thresholds, current_ma)]).mean())


@pytest.mark.parametrize(
    ("mitigation", "mpi_db"), [(False, -24.0), (False, -20.0), (True, -12.0), (True, -9.0)]
)
def test_one_reflection_errs_as_often_as_its_fields(mitigation: bool, mpi_db: float) -> None:
    """Light of one reflection, with data of its own, added as a field of random phase to that of each level,
    and squared by the photodiode; the notch takes off the tone of both mean fields."""
    drawn = np.random.default_rng(5)
    receiver = Receiver(LANE_RATES["50G-PAM4"], mitigation, soft_fec=False)
    level_mw = levels_mw(RECEIVED_DBM, 4)
    fields, share = np.sqrt(level_mw), 10 ** (mpi_db / 10)
    sent, other = drawn.integers(0, 4, (2, SYMBOLS))
    phase = np.exp(2j * np.pi * drawn.random(SYMBOLS))
    reflected = math.sqrt(share) * fields[other] * phase
    arrived_mw = np.abs(fields[sent] + reflected) ** 2 - np.abs(reflected) ** 2
    tone = 2.0 * math.sqrt(share) * fields.mean() ** 2 if mitigation else 0.0
    arrived_mw -= tone * phase.real
    amplitude = 2.0 * math.sqrt(share) * np.outer(fields, fields) - tone
    found = wrong_share(sent, arrived_mw, receiver, 0.5 * np.mean(amplitude**2, axis=1))
    expected = float(receiver.ber(np.asarray(RECEIVED_DBM), np.asarray(mpi_db)))
    assert found > 0.001
    assert expected == pytest.approx(found, rel=0.05)


@pytest.mark.parametrize("mpi_db", [-20.0, -17.0])
def test_many_reflections_err_as_often_as_their_fields(mpi_db: float) -> None:
    """Of 16 equally strong reflections, none is the strongest."""
    drawn = np.random.default_rng(5)
    receiver = Receiver(LANE_RATES["50G-PAM4"], mitigation=False, soft_fec=False)
    level_mw = levels_mw(RECEIVED_DBM, 4)
    other_mw = 10 ** ((RECEIVED_DBM + mpi_db) / 10)
    field = np.zeros(SYMBOLS, dtype=np.complex128)
    for _ in range(REFLECTORS):
        data = np.sqrt(level_mw / level_mw.mean())[drawn.integers(0, 4, SYMBOLS)]
        field += math.sqrt(other_mw / REFLECTORS) * data * np.exp(2j * np.pi * drawn.random(SYMBOLS))
    sent = drawn.integers(0, 4, SYMBOLS)
    arrived_mw = np.abs(np.sqrt(level_mw[sent]) + field) ** 2 - np.abs(field) ** 2
    found = wrong_share(sent, arrived_mw, receiver, 2.0 * level_mw * other_mw)
    none = np.asarray(-np.inf)
    expected = float(receiver.ber(np.asarray(RECEIVED_DBM), none, np.asarray(mpi_db)))
    assert found > 0.01
    assert expected == pytest.approx(found, rel=0.05)


def test_one_strong_reflection_costs_less_than_as_much_noise() -> None:
    """It stays within bounds: 1.1 dB at −32 dB, where Gaussian noise would cost 2 (and is close to an error
    floor)."""
    receiver = Receiver(LANE_RATES["50G-PAM4"], mitigation=False, soft_fec=False)
    bounded_dbm = sensitivity_dbm("50G-PAM4", -32.0) - sensitivity_dbm("50G-PAM4", -80.0)
    assert 0.9 < bounded_dbm < 1.3
    at_dbm, none = np.asarray(sensitivity_dbm("50G-PAM4", -32.0) + 0.5), np.asarray(-np.inf)
    assert receiver.log10_ber(at_dbm, np.asarray(-32.0)) < receiver.log10_ber(at_dbm, none, np.asarray(-32.0))


# --- frequencies --------------------------------------------------------------------------------------------


@given(st.floats(-400, 400), st.sampled_from([15.0, 20.0, 40.0]))
def test_a_beat_passes_where_the_receiver_does(offset_ghz: float, bandwidth_ghz: float) -> None:
    share = float(passed(np.asarray(offset_ghz), bandwidth_ghz))
    away = abs(offset_ghz) / bandwidth_ghz
    assert 0.0 <= share <= 1.0
    assert share == float(passed(np.asarray(-offset_ghz), bandwidth_ghz))
    assert (share > 0) == (away < REACH) == bool(in_reach(np.asarray(offset_ghz), bandwidth_ghz))
    assert (share > 0.99) == (away < 0.75) or 0.74 < away < 0.76
    assert share < 0.5 or away < 1.0001


def test_out_of_band_a_reflection_does_nothing_and_a_standing_beat_cannot_be_taken_off() -> None:
    receiver, received_dbm, mpi_db = Receiver(LANE_RATES["50G-PAM4"]), np.asarray(-9.0), np.asarray(-26.0)
    by_offset = {
        offset: float(receiver.log10_ber(received_dbm, mpi_db, offset_ghz=np.asarray(offset)))
        for offset in (0.1, 5.0, 18.0, 25.0, 300.0)
    }
    alone = float(receiver.log10_ber(received_dbm, np.asarray(-np.inf)))
    assert by_offset[300.0] == alone
    assert alone < by_offset[25.0] < by_offset[18.0] < by_offset[5.0] < by_offset[0.1]
    bits = receiver.symbol_gbd * 2
    assert [bool(is_steady(np.asarray(ghz), bits)) for ghz in (0.1, 0.44, 0.45)] == [True, True, False]


def test_the_far_tail() -> None:
    """Below 10^−90, against the scaled complementary error function."""
    receiver = Receiver(LANE_RATES["10G-NRZ"], mitigation=False, soft_fec=False)
    level_mw = levels_mw(60.0, 2)
    opening = assumed("receiver_responsivity_a_per_w") * float(np.ptp(level_mw))
    x = opening / float(other_noise_ma(receiver, level_mw).sum()) / math.sqrt(2)
    exact = math.log10(0.5 * erfcx(x)) - x**2 / math.log(10)
    assert exact < -90
    assert float(receiver.log10_ber(np.asarray(60.0), np.asarray(-math.inf))) == pytest.approx(
        exact, rel=1e-4
    )
