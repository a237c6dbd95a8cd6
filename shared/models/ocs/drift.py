"""Drift of mirrors whose array has no camera or no monitor beam.

Either tilt of a mirror is a random walk, with one draw per hour keyed by the mirror and the hour only. Tilts
are whole nanoradians, so their sum is exact.
"""

import numpy as np
import numpy.typing as npt
import scipy  # which loads scipy.special when it is first used

from shared.basics.keyed_random import draw_uniform_array
from shared.basics.units import US_PER_HOUR
from shared.models.ocs.camera_alignment import DECIMALS, TILTS, FloatArray, pointing_loss_db
from shared.models.ocs.ocs_assumptions import assumed
from shared.models.ocs.parts import PART
from shared.models.ocs.patched_fibres import SIDES

STEP_US = US_PER_HOUR
"""Time of one step of the walk: an hour."""
NRAD_PER_URAD = 1_000
PORT_BITS = 10
Tilts = npt.NDArray[np.int64]
"""Shape (tilts, ports), by physical port."""


def array_of(part: str) -> tuple[int, int] | None:
    """(OCS, side as an index of SIDES) of the array that cannot be aligned without this part.

    For `pod-0/ocs-17/camera-N` it is (17, 0); None for parts that do not affect alignment.
    """
    _, _, inside = part.partition("/ocs-")
    ocs, _, last = inside.partition("/")
    word, _, side = last.partition("-")
    if word not in PART or PART[word].effect != "alignment":
        return None
    return int(ocs), SIDES.index("N" if side == "N" else "S")


def step_nrad(seed: int, fabric: str, ocs: int, side: int, step: int, ports: int) -> Tilts:
    """Movement of the mirrors of an array in hour number `step` without a camera."""
    sigma_nrad = assumed("drift_urad_per_rt_h") * NRAD_PER_URAD
    counts = (np.uint64(step) << np.uint64(PORT_BITS)) | np.arange(ports, dtype=np.uint64)
    entity = f"{fabric}/ocs-{ocs}/{SIDES[side]}"
    uniform = [draw_uniform_array(seed, entity, f"drift of tilt {tilt}", counts) for tilt in range(TILTS)]
    return np.rint(sigma_nrad * np.round(scipy.special.ndtri(np.stack(uniform)), DECIMALS)).astype(np.int64)


def drifted_db(tilts: Tilts) -> FloatArray:
    """Loss of a mirror with these tilts, by physical port."""
    return pointing_loss_db(tilts / NRAD_PER_URAD)
