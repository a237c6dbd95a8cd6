"""Sensors that are broken: calibrated wrong, stuck, late, or lying."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shared.models.superpod.wiring import IntArray

NOT_STUCK = -1


@dataclass(frozen=True, slots=True)
class Sensors:
    """How the sensors of n modules are, each of shape (n,): `rx_offset_db` their power monitors are off by
    beyond their calibration; `stuck_at_us` since when they say the same (−1: they do not); `late_us` how old
    their readings are; `lying` where what they say has nothing to do with what is."""

    rx_offset_db: npt.NDArray[np.float64]
    stuck_at_us: IntArray
    late_us: IntArray
    lying: npt.NDArray[np.bool_]

    @classmethod
    def sound(cls, count: int) -> "Sensors":
        """So many of which nothing is broken."""
        return cls(
            np.zeros(count),
            np.full(count, NOT_STUCK),
            np.zeros(count, dtype=np.int64),
            np.zeros(count, dtype=np.bool_),
        )

    def seen_us(self, at_us: int | IntArray) -> IntArray:
        """From when a reading at this moment is, or at that of each, of shape (n,)."""
        found: IntArray = np.maximum(
            np.where(self.stuck_at_us == NOT_STUCK, at_us - self.late_us, self.stuck_at_us), 0
        )
        return found
