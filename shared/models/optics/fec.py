"""What the outer code, KP4, leaves: RS(544, 514) over symbols of 10 bits, which mends 15 of them.

[LF] 3.3.2, 4.1.2. Errors are taken as independent of each other, as an interleaver makes them. With p_s the
share of wrong symbols, a block is lost when 16 or more of its 544 are wrong; the bits of lost blocks stay as
they were.
"""

import numpy as np
import numpy.typing as npt
import scipy  # which loads scipy.special when it is first used

FloatArray = npt.NDArray[np.float64]

BLOCK_SYMBOLS, MENDED_SYMBOLS, SYMBOL_BITS = 544, 15, 10


def block_loss(ber: FloatArray) -> FloatArray:
    """Share of blocks that the outer code cannot mend, from the bit error rate before it."""
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
