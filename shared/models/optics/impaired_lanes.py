"""What is wrong with ends, as the arrays that the optics take."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from shared.models.assumptions import assumed
from shared.models.optics.beat import GHZ_PER_NM
from shared.models.optics.impairments import Impairment
from shared.models.optics.made_modules import Lanes
from shared.models.superpod.wiring import STRANDS

FloatArray = npt.NDArray[np.float64]
AnyFloat = float | tuple[float, float]


class Wrong:
    """What is wrong with some ends, in their order. Of shape (ends, strands): `lost_db` and `dimmed_db`; of
    shape (ends, 1) for both strands alike: all others."""

    def __init__(self, impaired: Mapping[int, Impairment], ends: npt.NDArray[np.int64]) -> None:
        self._places = [(place, impaired[end]) for place, end in enumerate(ends.tolist()) if end in impaired]
        self._count = len(ends)
        self.dirt_db = self._each(lambda wrong: wrong.dirt_db)
        self.leak_db = self._each(lambda wrong: wrong.leak_db)
        self.deaf_db = self._each(lambda wrong: wrong.deaf_db)
        self.hotter_k = self._each(lambda wrong: wrong.hotter_k)
        self.lost_db = self._each(lambda wrong: wrong.lost_db, STRANDS)
        self.dimmed_db = self._each(lambda wrong: wrong.dimmed_db, STRANDS)
        self.worn = self._each(lambda wrong: wrong.worn)

    def _each(self, amount: Callable[[Impairment], AnyFloat], width: int = 1) -> FloatArray:
        found = np.zeros((self._count, width))
        for place, wrong in self._places:
            found[place] = amount(wrong)
        return found


def changed_lanes(made: Lanes, near: Wrong, far: Wrong) -> Lanes:
    """The lanes of shape (ends, strands, lanes) with what is wrong at both ends."""
    offset_ghz = made.offset_ghz
    if offset_ghz is not None:
        drift_ghz = -assumed("laser_drift_nm_per_k") * GHZ_PER_NM * (near.hotter_k - far.hotter_k)
        offset_ghz = offset_ghz + drift_ghz[..., None]
    return replace(
        made,
        far_launch_db=made.far_launch_db - far.dimmed_db[..., None],
        near_launch_db=made.near_launch_db - near.dimmed_db[..., None],
        sensitivity_db=made.sensitivity_db + near.deaf_db[..., None],
        offset_ghz=offset_ghz,
    )
