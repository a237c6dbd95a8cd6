"""The least light that a receiver needs: against a scan, a closed form, and its own inverse."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from shared.basics.errors import InvalidInput
from shared.models.assumptions import ASSUMPTIONS, Assumption, assumed
from shared.models.optics import receiver
from shared.models.optics.module_kinds import LANE_RATES, lane_rate
from shared.models.optics.receiver import Receiver
from shared.models.optics.sensitivity import floor_ber, scalar_log10_ber, sensitivity_dbm

RATES = st.sampled_from([*LANE_RATES])
AIDS = st.fixed_dictionaries({"mitigation": st.booleans(), "soft_fec": st.booleans()})


@pytest.mark.parametrize("rate", LANE_RATES)
@pytest.mark.parametrize("mpi_db", [-60.0, -36.0, -32.0])
@pytest.mark.parametrize("mitigation", [False, True])
def test_sensitivity_against_a_scan(rate: str, mpi_db: float, mitigation: bool) -> None:
    """The first of finely spaced powers that is enough."""
    received_dbm = np.arange(-30.0, 5.0, 0.001)
    of = Receiver(lane_rate(rate), mitigation, soft_fec=False)
    enough = of.ber(received_dbm, np.asarray(mpi_db)) <= 2e-4
    expected_dbm = received_dbm[np.argmax(enough)]
    assert sensitivity_dbm(rate, mpi_db, mitigation=mitigation) == pytest.approx(expected_dbm, abs=0.0011)


def test_sensitivity_in_closed_form(monkeypatch: pytest.MonkeyPatch) -> None:
    """NRZ in thermal noise alone, with full extinction: R P = Q σ."""
    silence = {"laser_intensity_noise_db_per_hz": -999.0, "signal_to_distortion_db": 999.0}
    for name, value in {"laser_extinction_db": 200.0, "interference_overlap": 0.0, **silence}.items():
        monkeypatch.setitem(ASSUMPTIONS, name, Assumption(value, "", ""))
    monkeypatch.setattr(receiver, "ELECTRON_C", 0.0)
    noise_a = (
        assumed("receiver_noise_pa_per_rthz") * 1e-12 * math.sqrt(assumed("receiver_bandwidth") * 25.78125e9)
    )
    needed_w = norm.isf(1e-12) * noise_a / assumed("receiver_responsivity_a_per_w")
    assert sensitivity_dbm("25G-NRZ", -80.0, 1e-12) == pytest.approx(
        10 * math.log10(needed_w / 1e-3), abs=1e-6
    )


@given(RATES, st.floats(-80, -20), st.floats(-15, -1), AIDS)
def test_the_found_power_is_just_enough_or_does_not_exist(
    rate: str, mpi_db: float, wanted: float, aids: dict[str, bool]
) -> None:
    ber = 10.0**wanted
    of = Receiver(lane_rate(rate), **aids)
    if scalar_log10_ber(of, 5.0, mpi_db) <= wanted:
        found_dbm = sensitivity_dbm(rate, mpi_db, ber, **aids)
        assert scalar_log10_ber(of, found_dbm, mpi_db) == pytest.approx(wanted, abs=1e-6)
        assert scalar_log10_ber(of, found_dbm - 0.01, mpi_db) > wanted
        return
    with pytest.raises(InvalidInput) as raised:
        sensitivity_dbm(rate, mpi_db, ber, **aids)
    lower = re.search(r"the MPI must be at most (\S+) dB$", str(raised.value))
    if lower is None:
        assert str(raised.value).endswith("; it cannot be reached without interference either")
        assert scalar_log10_ber(of, 5.0, -80.0) > wanted
        return
    at_db = float(lower[1])
    assert at_db < mpi_db
    assert sensitivity_dbm(rate, at_db, ber, **aids) <= 5.0
    assert scalar_log10_ber(of, 5.0, at_db + 0.11) > wanted


@given(RATES, st.floats(-80, -40), st.floats(0, 8), AIDS)
def test_more_interference_needs_more_light_and_aids_need_less(
    rate: str, mpi_db: float, more_db: float, aids: dict[str, bool]
) -> None:
    here_dbm = sensitivity_dbm(rate, mpi_db, 1e-4, **aids)
    assert sensitivity_dbm(rate, mpi_db + more_db, 1e-4, **aids) >= here_dbm
    assert sensitivity_dbm(rate, mpi_db, 1e-5, **aids) > here_dbm
    assert here_dbm <= sensitivity_dbm(rate, mpi_db, 1e-4)


@given(RATES, st.floats(-80, -15), AIDS)
def test_the_floor_is_the_limit_of_unlimited_light(rate: str, mpi_db: float, aids: dict[str, bool]) -> None:
    of = Receiver(lane_rate(rate), **aids)
    floor = floor_ber(of, mpi_db)
    if floor < 1e-300:
        assert scalar_log10_ber(of, 60.0, mpi_db) < -290
        return
    assert scalar_log10_ber(of, 60.0, mpi_db) == pytest.approx(math.log10(floor), rel=1e-3)
    assert scalar_log10_ber(of, 5.0, mpi_db) >= math.log10(floor) - 1e-3


def test_a_rate_below_the_floor_is_an_error_in_one_sentence() -> None:
    with pytest.raises(InvalidInput) as raised:
        sensitivity_dbm("50G-PAM4", -24.0)
    found = re.fullmatch(
        r"ber: 0\.0002 cannot be reached by 50G-PAM4 at an MPI of -24 dB, because interference and "
        r"distortion alone leave (\S+); the MPI must be at most (\S+) dB",
        str(raised.value),
    )
    assert found is not None
    assert float(found[1]) == pytest.approx(
        floor_ber(Receiver(lane_rate("50G-PAM4"), False, False), -24.0), rel=0.05
    )
    assert -29 < float(found[2]) < -25


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("50G-PAM4", 1.0, 2e-4), "mpi-db 1 dB: must be between -80 and 0 dB; did you mean -1?"),
        (("50G-PAM4", -81.0, 2e-4), "mpi-db -81 dB: must be between -80 and 0 dB; the nearest is -80"),
        (("50G-PAM4", math.nan, 2e-4), "mpi-db nan: not a number; must be between -80 and 0 dB"),
        (("50G-PAM4", -32.0, 0.3), "ber 0.3: must be between 1e-15 and 0.1; the nearest is 0.1"),
        (("50G-PAM4", -32.0, 0.0), "ber 0: must be between 1e-15 and 0.1; the nearest is 1e-15"),
        (("50G-PAM4", -32.0, 1e-15), "ber: 1e-15 cannot be reached by 50G-PAM4"),
        (
            ("40G-PAM4", -32.0, 2e-4),
            "rate: '40G-PAM4' is not a known lane rate; must be one of 10G-NRZ, 25G-NRZ",
        ),
    ],
)
def test_a_mistake_is_an_error_in_one_sentence(words: tuple[str, float, float], sentence: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        sensitivity_dbm(*words)
    assert str(raised.value).startswith(sentence)
