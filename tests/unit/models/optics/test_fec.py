"""The outer code against scipy's binomial and exact sums."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from shared.models.optics.fec import block_loss, post_fec_ber

RATES = st.floats(-12, math.log10(0.5)).map(lambda log: 10.0**log)


def exact(ber: Fraction) -> tuple[float, float]:
    """(blocks lost, bit error rate after the code) by summing over the number of wrong symbols of 544."""
    symbol = 1 - (1 - ber) ** 10
    shares = {k: math.comb(544, k) * symbol**k * (1 - symbol) ** (544 - k) for k in range(16)}
    lost = 1 - sum(shares.values())
    # Wrong symbols on average, minus those of corrected blocks; each contains 10 · ber ÷ symbol bits.
    left = 544 * symbol - sum(k * share for k, share in shares.items())
    return float(lost), float(left * (10 * ber / symbol) / 5_440)


@pytest.mark.parametrize("ber", [Fraction(1, 100_000), Fraction(2, 10_000), Fraction(1, 500), Fraction(1, 3)])
def test_the_outer_code_against_exact_sums(ber: Fraction) -> None:
    lost, left = exact(ber)
    assert float(block_loss(np.asarray(float(ber)))) == pytest.approx(lost, rel=1e-9)
    assert float(post_fec_ber(np.asarray(float(ber)))) == pytest.approx(left, rel=1e-9)


@given(RATES)
def test_the_outer_code_against_scipys_binomial(ber: float) -> None:
    symbol = -math.expm1(10 * math.log1p(-ber))
    lost, stays = binom.sf(15, 544, symbol), binom.sf(14, 543, symbol)
    assert float(block_loss(np.asarray(ber))) == pytest.approx(lost, rel=1e-8, abs=1e-300)
    assert float(post_fec_ber(np.asarray(ber))) == pytest.approx(ber * stays, rel=1e-8, abs=1e-300)


@given(RATES, st.floats(1.001, 10))
def test_the_outer_code_never_harms_and_leaves_more_of_more(ber: float, times: float) -> None:
    fewer, more = np.array([ber, min(0.5, ber * times)])
    assert 0 <= block_loss(fewer) <= block_loss(more) <= 1
    assert 0 <= post_fec_ber(fewer) <= post_fec_ber(more)
    assert post_fec_ber(fewer) <= fewer


def test_the_threshold_is_where_next_to_nothing_is_left() -> None:
    """[LF] 4.1.2 takes 2×10⁻⁴ as the rate that the code corrects. At ten times that rate it fails."""
    assert float(post_fec_ber(np.asarray(2e-4))) < 1e-15
    assert float(post_fec_ber(np.asarray(2e-3))) > 1e-6


def test_nothing_stays_nothing_and_shapes_stay() -> None:
    rates = np.array([[0.0, 1e-300], [1e-3, 0.5]])
    with np.errstate(all="raise", under="ignore"):
        lost, left = block_loss(rates), post_fec_ber(rates)
    assert lost.shape == left.shape == (2, 2)
    assert lost[0].tolist() == left[0].tolist() == [0.0, 0.0]
    assert lost[1, 1] == 1.0
    assert left[1, 1] == 0.5
