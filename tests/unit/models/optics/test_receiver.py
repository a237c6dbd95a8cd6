"""The receiver against closed forms, a scalar rendering of the same physics, and a million symbols drawn."""

import math
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import norm

from shared.models.assumptions import ASSUMPTIONS, Assumption, assumed
from shared.models.optics import receiver
from shared.models.optics.lane_parts import parts_of
from shared.models.optics.module_kinds import LANE_RATES, lane_rate
from shared.models.optics.receiver import BER_THRESHOLD, SYMBOL_GBD, Receiver

RECEIVED_DBM = st.floats(-30, 5)
INTERFERENCE_DB = st.floats(-80, 0)
RECEIVERS = st.builds(Receiver, st.sampled_from([*LANE_RATES.values()]), st.booleans(), st.booleans())
UNCODED = st.builds(Receiver, st.sampled_from([*LANE_RATES.values()]), st.booleans(), st.just(False))
NONE = -math.inf


def ber(of: Receiver, received_dbm: float, interference_db: float, rest_db: float = NONE) -> float:
    given_db = (np.asarray(value) for value in (received_dbm, interference_db, rest_db))
    return float(of.ber(*given_db))


def log10_ber(of: Receiver, received_dbm: float, interference_db: float, rest_db: float = NONE) -> float:
    given_db = (np.asarray(value) for value in (received_dbm, interference_db, rest_db))
    return float(of.log10_ber(*given_db))


def currents_a(of: Receiver, received_dbm: float) -> npt.NDArray[np.float64]:
    """Photocurrent of every level: they average to that of the received power, and the highest is over the
    lowest by the extinction ratio."""
    ratio = 10 ** (assumed("laser_extinction_db") / 10)
    levels = np.linspace(1.0, ratio, of.levels)
    average_a = assumed("receiver_responsivity_a_per_w") * 1e-3 * 10 ** (received_dbm / 10)
    return np.asarray(average_a * levels / levels.mean())


def deviations_a(of: Receiver, received_dbm: float, rest_db: float) -> npt.NDArray[np.float64]:
    """Standard deviation at every level, each kind of noise by its own textbook formula."""
    level_a = currents_a(of, received_dbm)
    average_a = level_a.mean()
    bandwidth_hz = assumed("receiver_bandwidth") * SYMBOL_GBD[of.rate.gbps] * 1e9
    thermal = (parts_of(of.rate).noise_pa_per_rthz * 1e-12) ** 2 * bandwidth_hz
    shot = 2 * 1.602176634e-19 * level_a * bandwidth_hz
    intensity = 10 ** (assumed("laser_intensity_noise_db_per_hz") / 10) * bandwidth_hz * level_a**2
    distortion = ((level_a[-1] - level_a[0]) / 10 ** (assumed("signal_to_distortion_db") / 20)) ** 2
    # Two waves in one polarisation beat by 2 √(I₁ I₂) cos φ, here with all phases and levels alike, less the
    # tone of both mean fields.
    phases = np.linspace(0, 2 * math.pi, 64, endpoint=False)
    fields = np.sqrt(level_a)
    products = np.outer(fields, fields) - of.mitigation * fields.mean() ** 2
    share = 10 ** (rest_db / 10)
    beat = ((2 * math.sqrt(share) * products[:, :, None] * np.cos(phases)) ** 2).mean(axis=(1, 2))
    assert average_a > 0
    return np.asarray(np.sqrt(thermal + shot + intensity + distortion + beat))


# --- closed forms -------------------------------------------------------------------------------------------


@pytest.fixture
def thermal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """No noise but the amplifier's, and full extinction."""
    silence = {"laser_intensity_noise_db_per_hz": -999.0, "signal_to_distortion_db": 999.0}
    for name, value in {"laser_extinction_db": 200.0, **silence}.items():
        monkeypatch.setitem(ASSUMPTIONS, name, Assumption(value, "", ""))
    monkeypatch.setattr(receiver, "ELECTRON_C", 0.0)


@pytest.mark.usefixtures("thermal_only")
@pytest.mark.parametrize("rate", LANE_RATES)
@pytest.mark.parametrize("received_dbm", [-20.0, -14.0, -10.5])
def test_thermal_noise_alone_has_the_textbook_error_rate(rate: str, received_dbm: float) -> None:
    """M levels from 0 to twice the average: ((M − 1) ÷ (M log₂ M)) · erfc(R P ÷ ((M − 1) σ √2))."""
    of = Receiver(lane_rate(rate), mitigation=False, soft_fec=False)
    levels = 2 if "NRZ" in rate else 4
    symbol_gbd = {"10G-NRZ": 10.3125, "25G-NRZ": 25.78125, "50G-PAM4": 26.5625, "100G-PAM4": 53.125}[rate]
    current_a = assumed("receiver_responsivity_a_per_w") * 1e-3 * 10 ** (received_dbm / 10)
    bandwidth_hz = assumed("receiver_bandwidth") * symbol_gbd * 1e9
    noise_a = parts_of(lane_rate(rate)).noise_pa_per_rthz * 1e-12 * math.sqrt(bandwidth_hz)
    expected = (
        (levels - 1)
        / (levels * math.log2(levels))
        * math.erfc(current_a / ((levels - 1) * noise_a * math.sqrt(2)))
    )
    assert ber(of, received_dbm, NONE) == pytest.approx(expected, rel=1e-9)


@given(UNCODED, RECEIVED_DBM, INTERFERENCE_DB)
def test_every_noise_adds_as_its_own_formula_has_it(
    of: Receiver, received_dbm: float, rest_db: float
) -> None:
    level_a = currents_a(of, received_dbm)
    noise_a = deviations_a(of, received_dbm, rest_db)
    decisions = zip(pairwise(level_a), pairwise(noise_a), strict=True)
    wrong = sum(norm.sf((above - below) / (low + high)) for (below, above), (low, high) in decisions)
    bits = math.log2(of.levels)
    expected = 2 * wrong / (of.levels * bits)
    assert ber(of, received_dbm, NONE, rest_db) == pytest.approx(expected, rel=1e-6, abs=1e-300)


def test_the_inner_code_costs_symbols() -> None:
    """[LF] 3.3.2: 128 bits are sent for 120, over a bandwidth larger by that ratio."""
    coded, uncoded = (Receiver(lane_rate("50G-PAM4"), soft_fec=soft_fec) for soft_fec in (True, False))
    assert coded.symbol_gbd == uncoded.symbol_gbd * 128 / 120
    assert ber(coded.uncoded(), -9.0, NONE) > ber(uncoded, -9.0, NONE)
    assert coded.uncoded().symbol_gbd == coded.symbol_gbd


def test_each_rate_has_parts_made_for_it() -> None:
    """[LF] 3.3.1: the newest module is no older one run faster."""
    old, new = (parts_of(lane_rate(rate)) for rate in ("50G-PAM4", "100G-PAM4"))
    assert new.launch_dbm > old.launch_dbm
    assert new.noise_pa_per_rthz < old.noise_pa_per_rthz
    assert parts_of(lane_rate("10G-NRZ")) == parts_of(lane_rate("25G-NRZ")) == old


# --- drawn symbols ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rate", "received_dbm", "rest_db"),
    [("50G-PAM4", -10.0, -32.0), ("50G-PAM4", -4.0, -22.0), ("100G-PAM4", -8.5, -40.0)],
)
@pytest.mark.parametrize("mitigation", [False, True])
def test_pam4_errs_as_often_as_a_million_symbols_drawn(
    rate: str, received_dbm: float, rest_db: float, mitigation: bool
) -> None:
    of = Receiver(lane_rate(rate), mitigation, soft_fec=False)
    rest_db += 9.0 * mitigation
    level_a = currents_a(of, received_dbm)
    noise_a = deviations_a(of, received_dbm, rest_db)
    drawn = np.random.default_rng(5)
    sent = drawn.integers(0, 4, 1_000_000)
    received_a = level_a[sent] + noise_a[sent] * drawn.standard_normal(len(sent))
    # The slicer is as many deviations above one level as below the next.
    thresholds_a = [
        (level_a[n] * noise_a[n + 1] + level_a[n + 1] * noise_a[n]) / (noise_a[n] + noise_a[n + 1])
        for n in range(3)
    ]
    gray = np.array([0b00, 0b01, 0b11, 0b10])
    wrong = gray[sent] ^ gray[np.searchsorted(thresholds_a, received_a)]
    errors = int((wrong & 1).sum() + (wrong >> 1).sum())
    expected = 2 * len(sent) * ber(of, received_dbm, NONE, rest_db)
    assert errors > 1_000
    assert errors == pytest.approx(expected, abs=4 * math.sqrt(expected))


# --- over the physical range --------------------------------------------------------------------------------


@given(RECEIVERS, RECEIVED_DBM, INTERFERENCE_DB, INTERFERENCE_DB)
def test_a_rate_is_a_rate_and_its_logarithm_is_its_logarithm(
    of: Receiver, received_dbm: float, interference_db: float, rest_db: float
) -> None:
    with np.errstate(all="raise", under="ignore"):
        found = ber(of, received_dbm, interference_db, rest_db)
        log = log10_ber(of, received_dbm, interference_db, rest_db)
    assert 0.0 <= found <= 0.5
    assert math.isfinite(log)
    assert log < 0.0
    if found > 1e-290:
        assert log == pytest.approx(math.log10(found), abs=1e-9)
    else:
        assert log < -289


@given(RECEIVERS, RECEIVED_DBM, st.floats(-80, -18), st.floats(0.01, 10))
@example(Receiver(lane_rate("50G-PAM4"), mitigation=False, soft_fec=False), 0.0, -18.0, 1.0)
@example(Receiver(lane_rate("100G-PAM4"), mitigation=False), 0.5, -18.0, 0.01)
def test_more_light_helps_and_more_interference_never_does(
    of: Receiver, received_dbm: float, interference_db: float, more_db: float
) -> None:
    """Up to −18 dB. Beyond that, levels overlap, and no slicer is in the right place.

    At −18 dB the eye of PAM4 is closed: every sixth bit is wrong, whatever the light. More light then lowers
    the noise, which moves the slicer and can raise the rate by 2·10⁻⁴ of a decade.
    """
    here = log10_ber(of, received_dbm, interference_db)
    brighter = log10_ber(of, received_dbm + more_db, interference_db)
    assert brighter < here + 1e-3
    assert brighter < here or here > -1.0, "more light helps wherever the eye is open"
    assert log10_ber(of, received_dbm, min(interference_db + more_db, -18.0)) >= here - 1e-3


@given(RECEIVERS, RECEIVED_DBM, st.floats(-80, -15), st.floats(-80, -15))
def test_neither_mitigation_nor_the_inner_code_ever_harms_where_it_matters(
    of: Receiver, received_dbm: float, interference_db: float, rest_db: float
) -> None:
    """The bits of the inner code cost bandwidth, which shows where it corrects nothing."""
    here = log10_ber(of, received_dbm, interference_db, rest_db)
    assert (
        log10_ber(Receiver(of.rate, True, of.soft_fec), received_dbm, interference_db, rest_db) <= here + 1e-3
    )
    if here < -3:
        coded = Receiver(of.rate, of.mitigation, True)
        assert log10_ber(coded, received_dbm, interference_db, rest_db) <= here


def test_arrays_of_any_shape_are_their_elements_one_by_one() -> None:
    of = Receiver(lane_rate("50G-PAM4"))
    received_dbm, interference_db = np.linspace(-14, 0, 5)[:, None], np.array([-45.0, -30.0, -math.inf])
    ratios_db, offsets_ghz = np.array([4.5, 5.0, 5.5]), np.array([0.1, 9.0, 300.0])
    for function in (of.ber, of.log10_ber):
        found = function(received_dbm, interference_db, interference_db - 3, offsets_ghz, ratios_db)
        assert found.shape == (5, 3)
        for row in range(5):
            for column in range(3):
                one = function(
                    received_dbm[row, 0],
                    interference_db[column],
                    interference_db[column] - 3,
                    offsets_ghz[column],
                    ratios_db[column],
                )
                assert found[row, column] == pytest.approx(float(one), rel=1e-12)


def test_phases_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gauss–Chebyshev with these few phases equals the result with very many."""
    received_dbm, mpi_db = np.linspace(-12, 0, 13)[:, None], np.linspace(-60, -15, 19)[None, :]
    for mitigation in (True, False):
        of = Receiver(lane_rate("50G-PAM4"), mitigation)
        found = of.log10_ber(received_dbm, mpi_db, mpi_db - 4)
        with monkeypatch.context() as patch:
            many = np.cos(np.pi * (np.arange(200) + 0.5) / 200)
            patch.setattr(receiver, "_cosines", lambda many=many: many)
            exact = of.log10_ber(received_dbm, mpi_db, mpi_db - 4)
        assert np.abs(found - exact)[exact > -15].max() < 0.003


def test_the_threshold_is_that_of_the_outer_code() -> None:
    """[LF] 4.1.2."""
    assert BER_THRESHOLD == 2e-4
