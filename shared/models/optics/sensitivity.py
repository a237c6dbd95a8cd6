"""Receiver sensitivity: the least light for a bit error rate, and the error floor from interference.

[LF] 4.1.2, Figures 11 and 12. With more light the bit error rate only falls, towards a floor: thermal and
shot noise become negligible, but distortion, the laser's own noise and the beat with interference grow with
the signal.
"""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from shared.basics.checks import check_range
from shared.basics.errors import InvalidInput
from shared.models.optics.module_kinds import lane_rate
from shared.models.optics.receiver import BER_THRESHOLD, Receiver

FloatArray = npt.NDArray[np.float64]

RECEIVED_DBM = (-30.0, 5.0)
"""From below any receiver's sensitivity to overload."""
MPI_DB = (-80.0, 0.0)
"""From negligible interference to interference as strong as the signal."""
BER = (1e-15, 1e-1)
PLENTY_DBM = 100.0
"""Power at which noise that does not grow with the signal is negligible."""
HALVINGS = 60
"""Bisection steps over some tens of dB: down to the last bit."""


def sensitivity_dbm(
    rate: str, mpi_db: float, ber: float = BER_THRESHOLD, *, mitigation: bool = False, soft_fec: bool = False
) -> float:
    """Average received power of a lane at which its bit error rate before the outer code is `ber`.

    `mpi_db`: power of interfering light relative to the signal. InvalidInput names a value out of its range,
    or the error floor if no power reaches this rate.
    """
    receiver = Receiver(lane_rate(rate), mitigation, soft_fec)
    check_range("mpi-db", mpi_db, *MPI_DB, "dB")
    check_range("ber", ber, *BER, "")
    wanted = math.log10(ber)
    if scalar_log10_ber(receiver, RECEIVED_DBM[1], mpi_db) > wanted:
        raise InvalidInput(_unreachable(receiver, mpi_db, ber))
    return _border(lambda dbm: scalar_log10_ber(receiver, dbm, mpi_db) <= wanted, *RECEIVED_DBM)


def _border(holds: Callable[[float], bool], fails_at: float, holds_at: float) -> float:
    """The last value, from `holds_at` towards `fails_at`, at which the condition is true."""
    for _ in range(HALVINGS):
        middle = 0.5 * (fails_at + holds_at)
        fails_at, holds_at = (fails_at, middle) if holds(middle) else (middle, holds_at)
    return holds_at


def floor_ber(receiver: Receiver, mpi_db: float) -> float:
    """Bit error rate that remains at any power."""
    return math.pow(10.0, scalar_log10_ber(receiver, PLENTY_DBM, mpi_db))


def scalar_log10_ber(receiver: Receiver, received_dbm: float, mpi_db: float) -> float:
    """For one lane."""
    return float(receiver.log10_ber(np.asarray(received_dbm), np.asarray(mpi_db)))


def _unreachable(receiver: Receiver, mpi_db: float, ber: float) -> str:
    """The error if no power is enough, with the interference at which it would be."""
    what = f"ber: {ber:g} cannot be reached by {receiver.rate.name} at an MPI of {mpi_db:g} dB"
    least, most_dbm = MPI_DB[0], RECEIVED_DBM[1]
    floor = floor_ber(receiver, mpi_db)
    left = math.pow(10.0, scalar_log10_ber(receiver, most_dbm, mpi_db))
    why = (
        f"because interference and distortion alone leave {floor:.2g}"
        if floor > ber
        else f"because the maximum power, {most_dbm:g} dBm, leaves {left:.2g}"
    )

    def reached(lower_mpi_db: float) -> bool:
        return scalar_log10_ber(receiver, most_dbm, lower_mpi_db) <= math.log10(ber)

    if not reached(least):
        return f"{what}, {why}; it cannot be reached without interference either"
    # Rounded down, so that the value in the message can be reached.
    highest_db = math.floor(10.0 * _border(reached, mpi_db, least)) / 10.0
    return f"{what}, {why}; the MPI must be at most {max(highest_db, least):g} dB"
