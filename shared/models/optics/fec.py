"""Residual errors of the codes: the outer code KP4 and the inner Hamming code.

KP4 is RS(544, 514) over symbols of 10 bits and corrects 15 of them. [LF] 3.3.2, 4.1.2. Errors are taken as
independent, as after an interleaver. With p_s the share of wrong symbols, a block is lost if 16 or more of
its 544 are wrong; the bits of lost blocks stay as they were.

The inner code is an extended Hamming code (128, 120) with soft decoding. [LF] 3.3.2, 4.1.2 has an inner code
of less than 20 ns next to KP4, of which IEEE 802.3dj took a variant; the code of 802.3dj is this one. Its
words differ in at least 4 bits. A softly decoded word is wrong if noise on 4 bits together exceeds 4
distances: like one bit with twice the distance. A word has n (n − 1) (n − 2) ÷ 24 such neighbours, and each
wrong word has 4 wrong bits (the union bound, tight where the outer code can still correct). So the error rate
falls more steeply than without the code. The price is 8 bits of 128: symbols are faster by 128 ÷ 120.
"""

import math

import numpy as np
import numpy.typing as npt
import scipy  # which loads scipy.special when it is first used

from shared.models.assumptions import assumed

FloatArray = npt.NDArray[np.float64]


BLOCK_BITS, DATA_BITS, DISTANCE = 128, 120, 4
OVERHEAD = BLOCK_BITS / DATA_BITS
NEIGHBOURS = BLOCK_BITS * (BLOCK_BITS - 1) * (BLOCK_BITS - 2) // 24
"""Words of weight 4 of an extended Hamming code of this length."""


def decoded_log10(log10_ber: FloatArray, errors_per_decision: float) -> FloatArray:
    """log10 of the bit error rate after the inner code, from that before it, of its shape.

    A bit of a modulation is wrong with `errors_per_decision` times the probability of a wrong decision
    between two neighbouring levels: 1 for NRZ, ¾ for PAM4 in Gray code. If the code would make it worse, the
    bits count as they are.
    """
    share = math.log(errors_per_decision)
    before = np.minimum(np.asarray(log10_ber) * math.log(10.0), share + math.log(0.5))
    q = -scipy.special.ndtri_exp(before - share) * 10.0 ** (-assumed("inner_decoder_loss_db") / 20.0)
    wrong = math.log(DISTANCE / BLOCK_BITS * NEIGHBOURS) + DISTANCE * share
    after = wrong + scipy.special.log_ndtr(-math.sqrt(DISTANCE) * q)
    found: FloatArray = np.minimum(before, after) / math.log(10.0)
    return found


BLOCK_SYMBOLS, MENDED_SYMBOLS, SYMBOL_BITS = 544, 15, 10


def block_loss(ber: FloatArray) -> FloatArray:
    """Share of blocks that the outer code cannot correct, from the bit error rate before it."""
    lost: FloatArray = scipy.special.betainc(
        MENDED_SYMBOLS + 1, BLOCK_SYMBOLS - MENDED_SYMBOLS, _symbol_error(np.asarray(ber))
    )
    return lost


def post_fec_ber(ber: FloatArray) -> FloatArray:
    """Bit error rate after the outer code. A wrong symbol stays if 15 or more of the other 543 are wrong."""
    before = np.asarray(ber)
    stays = scipy.special.betainc(MENDED_SYMBOLS, BLOCK_SYMBOLS - MENDED_SYMBOLS, _symbol_error(before))
    left: FloatArray = before * stays
    return left


def _symbol_error(ber: FloatArray) -> FloatArray:
    found: FloatArray = -np.expm1(SYMBOL_BITS * np.log1p(-np.minimum(ber, 0.5)))
    return found
