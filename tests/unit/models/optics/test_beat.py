"""The beat of a signal with reflections of many phases, as fields are drawn; and the far tail of a rate."""

import math

import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import erfcx

from shared.models.assumptions import assumed
from shared.models.optics.modules import LANE_RATES
from shared.models.optics.receiver import Receiver

SYMBOLS, REFLECTORS = 200_000, 16
GRAY = np.array([[0, 0], [0, 1], [1, 1], [1, 0]])
FloatArray = npt.NDArray[np.float64]


def levels_mw(received_dbm: float, count: int) -> FloatArray:
    """Evenly spaced, with the extinction ratio assumed and this average."""
    relative = np.linspace(1.0, 10 ** (assumed("laser_extinction_db") / 10), count)
    return np.asarray(10 ** (received_dbm / 10) * relative / relative.mean())


def other_noise_ma(receiver: Receiver, level_mw: FloatArray) -> FloatArray:
    """Of distortion and of the laser, which is what stays besides interference where light abounds."""
    current_ma = assumed("receiver_responsivity_a_per_w") * level_mw
    bandwidth_hz = assumed("receiver_bandwidth") * receiver.symbol_gbd * 1e9
    laser = 10 ** (assumed("laser_intensity_noise_db_per_hz") / 10) * bandwidth_hz
    distortion_ma = np.ptp(current_ma) / 10 ** (assumed("signal_to_distortion_db") / 20)
    return np.asarray(np.hypot(distortion_ma, current_ma * math.sqrt(laser)))


@pytest.mark.parametrize("mpi_db", [-20.0, -17.0])
def test_fields_of_random_phases_err_as_often(mpi_db: float) -> None:
    """Light of 16 reflections, added as fields to that of each level and squared by the photodiode. At 30 dBm
    neither the amplifier nor shot noise matters, so the oracle leaves them out."""
    drawn = np.random.default_rng(5)
    receiver, received_dbm = Receiver(LANE_RATES["50G-PAM4"], mitigation=False, soft_fec=False), 30.0
    level_mw = levels_mw(received_dbm, 4)
    other_mw = assumed("interference_overlap") * 10 ** ((received_dbm + mpi_db) / 10)
    phases = np.exp(2j * np.pi * drawn.random((SYMBOLS, REFLECTORS)))
    field = math.sqrt(other_mw / REFLECTORS) * phases.sum(axis=1)
    sent = drawn.integers(0, 4, SYMBOLS)
    arrived_mw = np.abs(np.sqrt(level_mw[sent]) + field) ** 2 - np.abs(field) ** 2
    responsivity, noise_ma = assumed("receiver_responsivity_a_per_w"), other_noise_ma(receiver, level_mw)
    current_ma = responsivity * arrived_mw + noise_ma[sent] * drawn.standard_normal(SYMBOLS)
    spread = np.hypot(noise_ma, responsivity * np.sqrt(2 * level_mw * other_mw))
    middle = responsivity * level_mw
    thresholds = (middle[:-1] * spread[1:] + middle[1:] * spread[:-1]) / (spread[:-1] + spread[1:])
    share = float((GRAY[sent] != GRAY[np.searchsorted(thresholds, current_ma)]).mean())
    found = float(receiver.ber(np.asarray(received_dbm), np.asarray(mpi_db)))
    assert share > 0.01
    assert found == pytest.approx(share, rel=0.05)


def test_the_far_tail() -> None:
    """Below 10^−90, against the scaled complementary error function."""
    receiver = Receiver(LANE_RATES["10G-NRZ"], mitigation=False, soft_fec=False)
    level_mw = levels_mw(60.0, 2)
    opening = assumed("receiver_responsivity_a_per_w") * float(np.ptp(level_mw))
    x = opening / float(other_noise_ma(receiver, level_mw).sum()) / math.sqrt(2)
    exact = math.log10(0.5 * erfcx(x)) - x**2 / math.log(10)
    assert exact < -90
    assert float(receiver.log10_ber(np.asarray(60.0), np.asarray(-200.0))) == pytest.approx(exact, rel=1e-4)
