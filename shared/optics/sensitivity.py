"""The least light that a receiver needs, and what interference alone leaves however much it gets.

[LF] 4.1.2, Figures 11 and 12. With more light the bit error rate only falls, towards a floor: thermal and
shot noise fade beside the signal, but distortion, the laser's own noise and the beat with interference grow
with it.
"""

import math

import numpy as np
import numpy.typing as npt

from shared.errors import InvalidInput
from shared.optics.link import check_range
from shared.optics.modules import lane_rate
from shared.optics.receiver import BER_THRESHOLD, Receiver

FloatArray = npt.NDArray[np.float64]

RECEIVED_DBM = (-30.0, 5.0)
"""From what no receiver here can read to what would overload one."""
MPI_DB = (-80.0, 0.0)
"""From nothing that matters to interference as strong as the signal."""
BER = (1e-15, 1e-1)
PLENTY_DBM = 100.0
"""Where whatever does not grow with the signal has faded."""
HALVINGS = 60
"""Of 35 dB: down to the last bit."""


def sensitivity_dbm(
    rate: str, mpi_db: float, ber: float = BER_THRESHOLD, *, mitigation: bool = False, soft_fec: bool = False
) -> float:
    """Received power, the average of a lane, at which its bit error rate before the outer code is `ber`.

    `mpi_db`: power of interfering light over that of the signal. InvalidInput names a value out of its range,
    or the bit error rate that stays where no power reaches this one.
    """
    receiver = Receiver(lane_rate(rate), mitigation, soft_fec)
    check_range("mpi-db", mpi_db, *MPI_DB, "dB")
    if not BER[0] <= ber <= BER[1]:
        nearest = BER[1] if ber > BER[1] else BER[0]
        raise InvalidInput(f"ber {ber:g}: allowed are {BER[0]:g} to {BER[1]:g}; the nearest is {nearest:g}")
    wanted = math.log10(ber)
    low, high = RECEIVED_DBM
    if log10_ber(receiver, high, mpi_db) > wanted:
        raise InvalidInput(_unreachable(receiver, mpi_db, ber))
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if log10_ber(receiver, middle, mpi_db) > wanted else (low, middle)
    return high


def floor_ber(receiver: Receiver, mpi_db: float) -> float:
    """Bit error rate that stays however much light arrives."""
    return math.pow(10.0, log10_ber(receiver, PLENTY_DBM, mpi_db))


def log10_ber(receiver: Receiver, received_dbm: float, mpi_db: float) -> float:
    """Of one lane."""
    return float(receiver.log10_ber(np.asarray(received_dbm), np.asarray(mpi_db)))


def _unreachable(receiver: Receiver, mpi_db: float, ber: float) -> str:
    """Why: the floor, or a receiver's overload below it."""
    what = f"ber {ber:g}: no light is enough for {receiver.rate.name} at an MPI of {mpi_db:g} dB"
    floor = floor_ber(receiver, mpi_db)
    if floor > ber:
        return f"{what}, where interference and distortion alone leave {floor:.2g}"
    most = math.pow(10.0, log10_ber(receiver, RECEIVED_DBM[1], mpi_db))
    return f"{what}: {RECEIVED_DBM[1]:g} dBm, the most that it takes, leaves {most:.2g}"
