"""Every link that a pod could be asked for: each + face end with each − face end on the same OCS.

[LF] Figure 13. A pod of 64 cubes has 48 × 64 × 64 of them, 32 strands of each cube on 48 OCSes with any other
cube's. Computed once a fabric, since a pair of ports never changes; whoever connects circuits only looks up.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from shared.geometry import STRANDS, ocs_radix
from shared.optics.link import LinkDesign, Switched, arriving, dispersion_penalty_db, lanes_nm
from shared.optics.palomar import palomars

FloatArray = npt.NDArray[np.float64]
FABRICS_KEPT_MAX = 16


@dataclass(frozen=True, slots=True)
class Pairs:
    """Read-only, by (OCS, cube of the + face end, cube of the − face end).

    `loss_db` is the path's of the worse strand, fibre and OCS, without the modules' own parts; the others are
    those of the worst lane that the + and the − face end receive.
    """

    loss_db: FloatArray
    north_log10_ber: FloatArray
    south_log10_ber: FloatArray


@lru_cache(maxsize=FABRICS_KEPT_MAX)
def pairs(seed: int, fabric: str, cubes: int, design: LinkDesign) -> Pairs:
    """All links of a fabric with sound modules and clean connectors."""
    strands = [_strand(seed, fabric, cubes, strand) for strand in range(STRANDS)]
    worse_db = np.maximum.reduce([ocs.loss_db for ocs in strands]) + design.fibre_loss_db
    north = rounded(np.maximum.reduce([worst_lane_log10_ber(design, ocs) for ocs in strands]))
    south = rounded(np.maximum.reduce([worst_lane_log10_ber(design, ocs.reversed()) for ocs in strands]))
    for array in (worse_db, north, south):
        array.flags.writeable = False
    return Pairs(worse_db, north, south)


def worst_lane_log10_ber(
    design: LinkDesign,
    ocs: Switched,
    near_excess_db: FloatArray | float = 0.0,
    far_excess_db: FloatArray | float = 0.0,
) -> FloatArray:
    """Of the lanes that the near end receives over a strand: they differ in dispersion alone, so the one with
    the largest penalty is the worst."""
    received_dbm, interference_db = arriving(design, ocs, near_excess_db, far_excess_db)
    receiver = design.receiver
    penalty_db = dispersion_penalty_db(receiver.symbol_gbd, lanes_nm(design.kind), design.length_km).max()
    return receiver.log10_ber(received_dbm - penalty_db, interference_db)


def rounded(log10_ber: FloatArray) -> FloatArray:
    """To 0.001, so that the last bit of a machine's logarithm never shows."""
    found: FloatArray = np.round(log10_ber, 3)
    return found


def _strand(seed: int, fabric: str, cubes: int, strand: int) -> Switched:
    """One strand of every pair, of shape (OCSes, cubes, cubes), as the North side sees it."""
    made = palomars(seed, fabric, ocs_radix(cubes))
    ports = STRANDS * np.arange(cubes) + strand
    shape = (made.north_mirror.shape[0], cubes, cubes)
    loss_db = made.deflection_loss_db[
        made.north_mirror[:, ports][:, :, None], made.south_mirror[:, ports][:, None, :]
    ]
    loss_db = loss_db + made.north_loss_db[:, ports][:, :, None] + made.south_loss_db[:, ports][:, None, :]
    north_db = np.broadcast_to(made.north_return_loss_db[:, ports][:, :, None], shape)
    south_db = np.broadcast_to(made.south_return_loss_db[:, ports][:, None, :], shape)
    return Switched(loss_db, north_db, south_db)
