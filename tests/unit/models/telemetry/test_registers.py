"""Values as registers have them, against the formats of OIF CMIS."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.models.telemetry import registers


@given(st.floats(-60.0, 12.0))
def test_power_is_reported_in_tenths_of_a_microwatt(dbm: float) -> None:
    (said,) = registers.power_dbm(np.array([dbm])).tolist()
    steps = 10.0 ** (said / 10.0) / registers.POWER_MW
    assert steps == pytest.approx(round(steps), rel=1e-9)
    assert 1 <= round(steps) <= 65_535
    if -40.0 <= dbm <= 8.1:
        assert abs(10.0 ** (said / 10) - 10.0 ** (dbm / 10)) <= 0.5001 * registers.POWER_MW


def test_no_light_reads_as_the_least_and_nothing_as_nothing() -> None:
    said = registers.power_dbm(np.array([-np.inf, np.nan, 99.0]))
    assert said[0] == registers.DARK_DBM
    assert math.isnan(said[1])
    assert said[2] == pytest.approx(10 * math.log10(6.5535))


@given(st.floats(1e-24, 1.0))
def test_a_rate_has_a_mantissa_of_11_bits_and_an_exponent_of_5(value: float) -> None:
    (said,) = registers.rate(np.array([value])).tolist()
    exponents = range(registers.EXPONENT_MIN, registers.EXPONENT_MAX + 1)
    assert any(
        (mantissa := said / 10.0**exponent) < registers.MANTISSA_MAX + 0.5
        and mantissa == pytest.approx(round(mantissa), abs=1e-6)
        for exponent in exponents
    )
    if value > 1e-20:
        assert said == pytest.approx(value, rel=0.5 / 204)


def test_rates_of_nothing() -> None:
    said = registers.rate(np.array([0.0, np.nan, 2e-4]))
    assert said[0] == 0.0
    assert math.isnan(said[1])
    assert said[2] == pytest.approx(2e-4, rel=1e-12)


@given(st.floats(-50.0, 100.0), st.sampled_from([registers.TEMPERATURE_C, registers.BIAS_MA]))
def test_steps_are_the_nearest(value: float, step: float) -> None:
    (said,) = registers.stepped(np.array([value]), step).tolist()
    assert abs(said - value) <= 0.5001 * step
    assert said / step == pytest.approx(round(said / step), abs=1e-6)
