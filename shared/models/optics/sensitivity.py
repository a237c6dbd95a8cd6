"""The least light that a receiver needs, and what interference alone leaves however much it gets.

[LF] 4.1.2, Figures 11 and 12. With more light the bit error rate only falls, towards a floor: thermal and
shot noise fade beside the signal, but distortion, the laser's own noise and the beat with interference grow
with it.
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
"""From what no receiver here can read to what would overload one."""
MPI_DB = (-80.0, 0.0)
"""From nothing that matters to interference as strong as the signal."""
BER = (1e-15, 1e-1)
PLENTY_DBM = 100.0
"""Where whatever does not grow with the signal has faded."""
HALVINGS = 60
"""Of some tens of dB: down to the last bit."""


def sensitivity_dbm(
    rate: str, mpi_db: float, ber: float = BER_THRESHOLD, *, mitigation: bool = False, soft_fec: bool = False
) -> float:
    """Received power, the average of a lane, at which its bit error rate before the outer code is `ber`.

    `mpi_db`: power of interfering light over that of the signal. InvalidInput names a value out of its range,
    or the bit error rate that stays where no power reaches this one.
    """
    receiver = Receiver(lane_rate(rate), mitigation, soft_fec)
    check_range("mpi-db", mpi_db, *MPI_DB, "dB")
    check_range("ber", ber, *BER, "")
    wanted = math.log10(ber)
    if log10_ber(receiver, RECEIVED_DBM[1], mpi_db) > wanted:
        raise InvalidInput(_unreachable(receiver, mpi_db, ber))
    return _border(lambda dbm: log10_ber(receiver, dbm, mpi_db) <= wanted, *RECEIVED_DBM)


def _border(holds: Callable[[float], bool], fails_at: float, holds_at: float) -> float:
    """The last value, from the one where it holds towards the other, at which it still does."""
    for _ in range(HALVINGS):
        middle = 0.5 * (fails_at + holds_at)
        fails_at, holds_at = (fails_at, middle) if holds(middle) else (middle, holds_at)
    return holds_at


def floor_ber(receiver: Receiver, mpi_db: float) -> float:
    """Bit error rate that stays however much light arrives."""
    return math.pow(10.0, log10_ber(receiver, PLENTY_DBM, mpi_db))


def log10_ber(receiver: Receiver, received_dbm: float, mpi_db: float) -> float:
    """Of one lane."""
    return float(receiver.log10_ber(np.asarray(received_dbm), np.asarray(mpi_db)))


def _unreachable(receiver: Receiver, mpi_db: float, ber: float) -> str:
    """Why no light is enough, and how much less interference would do."""
    what = f"ber: {ber:g} cannot be reached by {receiver.rate.name} at an MPI of {mpi_db:g} dB"
    least, most_dbm = MPI_DB[0], RECEIVED_DBM[1]
    floor = floor_ber(receiver, mpi_db)
    left = math.pow(10.0, log10_ber(receiver, most_dbm, mpi_db))
    why = (
        f"because interference and distortion alone leave {floor:.2g}"
        if floor > ber
        else f"because the maximum power, {most_dbm:g} dBm, leaves {left:.2g}"
    )

    def reached(lower_mpi_db: float) -> bool:
        return log10_ber(receiver, most_dbm, lower_mpi_db) <= math.log10(ber)

    if not reached(least):
        return f"{what}, {why}; it cannot be reached without interference either"
    # Rounded down, so that the value in the message can be reached.
    highest_db = math.floor(10.0 * _border(reached, mpi_db, least)) / 10.0
    return f"{what}, {why}; the MPI must be at most {max(highest_db, least):g} dB"
