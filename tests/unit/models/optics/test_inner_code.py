"""The inner code against a real decoder, and its count of neighbours against all words of a short code."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from shared.models.assumptions import ASSUMPTIONS, Assumption
from shared.models.optics.fec import BLOCK_BITS, DATA_BITS, NEIGHBOURS, OVERHEAD, decoded_log10

LEAST_RELIABLE = 6
"""Bits that a Chase decoder turns about in all ways."""


def columns(bits: int) -> np.ndarray:
    """Parity checks of the extended Hamming code of 2^bits: distinct columns, and an overall check."""
    numbers = np.arange(2**bits)
    return np.concatenate([(numbers[None, :] >> np.arange(bits)[:, None]) & 1, np.ones((1, 2**bits), int)])


def test_the_number_of_words_of_weight_four_is_as_reported() -> None:
    """All sets of four columns of a code of 16 bits that add up to nothing; the formula for any length."""
    checks = columns(4)
    found = sum(
        not (checks[:, list(four)].sum(axis=1) % 2).any() for four in itertools.combinations(range(16), 4)
    )
    assert found == 16 * 15 * 14 // 24
    assert NEIGHBOURS == 128 * 127 * 126 // 24
    assert OVERHEAD == BLOCK_BITS / DATA_BITS == 128 / 120


def decoded_share(q: float, blocks: int) -> float:
    """Wrong bits of zero words, sent as +1 in noise of 1 ÷ q, after soft decoding. The decoder flips the
    least reliable bits, decodes each variant with the hard decoder, and takes the word nearest to the
    received one."""
    drawn = np.random.default_rng(11)
    received = 1.0 + drawn.standard_normal((blocks, BLOCK_BITS)) / q
    checks, powers = columns(7), 1 << np.arange(8)
    wrong = 0
    for block in received:
        hard = (block < 0).astype(int)
        weak = np.argsort(np.abs(block))[:LEAST_RELIABLE]
        best, least = hard, math.inf
        for turned in itertools.product((0, 1), repeat=LEAST_RELIABLE):
            word = hard.copy()
            word[weak] ^= np.array(turned)
            syndrome = int((checks @ word % 2) @ powers)
            if syndrome:
                if not syndrome & 128:  # an even number of wrong bits: cannot be mended
                    continue
                word[syndrome & 127] ^= 1
            distance = float(np.abs(block)[word != hard].sum())
            if distance < least:
                best, least = word, distance
        wrong += int(best.sum())
    return wrong / received.size


def test_a_decoder_errs_about_as_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """With 7 of 1,000 input bits wrong: the bound counts each wrong neighbour separately, so it lies above
    the error of the best decoder, and not by much."""
    monkeypatch.setitem(ASSUMPTIONS, "inner_decoder_loss_db", Assumption(0.0, "dB", ""))
    q = 2.45
    found = decoded_share(q, 1_500)
    bound = 10 ** float(decoded_log10(np.log10(norm.sf(q)), 1.0))
    assert found > 2e-4
    assert 0.5 * bound < found < 1.1 * bound


@given(st.floats(-30, -2.5), st.floats(0.001, 1.0), st.sampled_from([1.0, 0.75]))
def test_fewer_errors_before_are_fewer_after(log10_ber: float, fewer: float, share: float) -> None:
    here, better = (float(decoded_log10(np.asarray(x), share)) for x in (log10_ber, log10_ber - fewer))
    assert better < here <= log10_ber
    assert here - better > fewer, "a waterfall: it falls faster than what goes in"


@given(st.floats(-1.9, -0.31))
def test_an_uncorrectable_block_stays_unchanged(log10_ber: float) -> None:
    found = float(decoded_log10(np.asarray(log10_ber), 1.0))
    assert found == pytest.approx(log10_ber, abs=1e-12)


def test_a_decoder_that_loses_needs_this_much_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """By 0.5 dB of Q: NRZ, whose Q follows from its rate."""
    q, loss_db = 3.0, 0.5
    after = []
    for loss, at in ((0.0, q), (loss_db, q * 10 ** (loss_db / 20))):
        monkeypatch.setitem(ASSUMPTIONS, "inner_decoder_loss_db", Assumption(loss, "dB", ""))
        after.append(float(decoded_log10(np.log10(norm.sf(at)), 1.0)))
    assert after[0] == pytest.approx(after[1])
