"""Every link that a pod could be asked for: each + face end with each − face end on the same OCS.

[LF] Figure 13. A pod of 64 cubes has 48 × 64 × 64 of them, 32 strands of each cube on 48 OCSes with any other
cube's. Computed once a fabric, since a pair of ports never changes; whoever connects circuits only looks up.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from shared.models.optics.link import (
    DIRECT,
    LinkDesign,
    Switched,
    arriving,
    dispersed,
    dispersion_penalty_db,
    lanes_nm,
)
from shared.models.optics.palomar import DECIMALS, ManufacturedOcses, manufactured_ocses
from shared.models.superpod.wiring import DIMENSIONS, FACE_LINKS, STRANDS, IntArray, join_columns, ocs_radix

FloatArray = npt.NDArray[np.float64]
WholeArray = npt.NDArray[np.int32]
FABRICS_KEPT_MAX = 128
"""Fabrics at hand: 2.4 megabytes each for 64 cubes, 12 for 144."""
PER_DB, PER_ORDER = 10.0**DECIMALS, 1_000.0
"""Losses are known to so many parts of a dB, rates to so many of an order of magnitude."""
FIGURES = 3
"""Figures of a link: its loss, and what each of its two ends receives."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Read-only whole numbers by (dimension, cube of the + face end, cube of the − face end, face index,
    figure), in the parts above: half the memory of double precision, and nothing lost. All that a join of two
    cubes asks for lies together.

    The figures are told in this order: insertion loss of the worse strand in dB, log10 of the bit error rate
    of the worst lane that the + face end receives, the same of the − face end.
    """

    parts: WholeArray

    def at(
        self, ocs: IntArray, north: IntArray, south: IntArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The figures of some pairs by OCS and both cubes, in their common shape."""
        dimension, index = np.divmod(ocs, FACE_LINKS)
        return _figures(self.parts[dimension, north, south, index])

    def of_joins(self, joins: tuple[tuple[int, int, int], ...]) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The figures of all links of some joins, each of shape (16 × joins,), as `join_ends` orders them."""
        return _figures(self.parts[join_columns(joins)].reshape(-1, FIGURES))


def _figures(parts: WholeArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    return parts[..., 0] / PER_DB, parts[..., 1] / PER_ORDER, parts[..., 2] / PER_ORDER


@lru_cache(maxsize=FABRICS_KEPT_MAX)
def pairs(seed: int, fabric: str, cubes: int, design: LinkDesign) -> Pairs:
    """All links of a fabric with sound modules and clean connectors."""
    made = manufactured_ocses(seed, fabric, ocs_radix(cubes))
    table = np.empty((DIMENSIONS, cubes, cubes, FACE_LINKS, FIGURES), dtype=np.int32)
    for ocs in range(DIMENSIONS * FACE_LINKS):
        dimension, index = divmod(ocs, FACE_LINKS)
        north = between(made, ocs, cubes)
        rates = (worst_lane_log10_ber(design, seen) for seen in (north, north.reversed()))
        parts = (north.loss_db * PER_DB, *(log10_ber * PER_ORDER for log10_ber in rates))
        for figure, values in enumerate(parts):
            table[dimension, :, :, index, figure] = np.rint(values.max(axis=-1))
    table.flags.writeable = False
    return Pairs(table)


def between(made: ManufacturedOcses, ocs: int, cubes: int) -> Switched:
    """What one OCS puts between the + face end of every cube and the − face end of every cube, as the former
    sees it: of a shape that broadcasts to (+ face, − face, strands)."""
    plus, minus = (STRANDS * np.arange(cubes) + face for face in (0, 1))
    return_db = np.stack([made.north_return_loss_db[ocs], made.south_return_loss_db[ocs]], axis=-1)
    loss_db = np.stack(
        [_insertion_loss_db(made, ocs, plus, minus), _insertion_loss_db(made, ocs, minus, plus).T], axis=-1
    )
    # A strand enters North at one end and South at the other.
    return Switched(loss_db, return_db[plus][:, None, :], return_db[minus][None, :, ::-1])


def _insertion_loss_db(made: ManufacturedOcses, ocs: int, norths: IntArray, souths: IntArray) -> FloatArray:
    """Of every circuit from these North ports to these South ports of an OCS, of shape (norths, souths)."""
    north, south = norths[:, None], souths[None, :]
    found: FloatArray = (
        made.deflection_loss_db[made.north_mirror[ocs][north], made.south_mirror[ocs][south]]
        + made.north_loss_db[ocs][north]
        + made.south_loss_db[ocs][south]
    )
    return found


def worst_lane_log10_ber(
    design: LinkDesign,
    ocs: Switched,
    near_excess_db: FloatArray | float = 0.0,
    far_excess_db: FloatArray | float = 0.0,
) -> FloatArray:
    """Of the lanes that the near end receives over a strand: they differ in dispersion alone, so the one with
    the largest penalty is the worst."""
    arrives = arriving(design, ocs, near_excess_db, far_excess_db)
    receiver = design.receiver
    penalty_db = dispersion_penalty_db(receiver.symbol_gbd, lanes_nm(design.kind), design.length_km).max()
    return receiver.log10_ber(*dispersed(*arrives, penalty_db))


@lru_cache(maxsize=64)
def direct_log10_ber(design: LinkDesign) -> float:
    """log10 of the bit error rate of the worst lane that both ends receive over fibre alone, with sound
    modules and clean connectors: all such links are alike."""
    return float(rounded(worst_lane_log10_ber(design, DIRECT)))


def rounded(log10_ber: FloatArray) -> FloatArray:
    """As `Pairs` knows them, so that the last bit of a machine's logarithm never shows."""
    found: FloatArray = np.rint(log10_ber * PER_ORDER) / PER_ORDER
    return found
