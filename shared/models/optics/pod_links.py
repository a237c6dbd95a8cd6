"""Figures of every possible link of a pod: each + face end with each − face end on the same OCS.

[LF] Figure 13. A pod of 64 cubes has 48 × 64 × 64 of them: 32 strands of each cube on 48 OCSes with those of
any other cube. A pair of modules never changes, so each is computed once, when a cube is first used, and the
pairs of an end again when its module is replaced. Connecting circuits only needs a lookup. All tables of a
fabric share the figures of its original modules, which most links keep for years.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from shared.models.optics.fast_lane_ber import LaneKernel
from shared.models.optics.link_design import DIRECT, FloatArray, LinkDesign, Strands
from shared.models.optics.manufactured_modules import (
    Lanes,
    ManufacturedModules,
    lanes_between,
    manufactured_modules,
)
from shared.models.optics.ocs_strands import strands_of
from shared.models.optics.palomar import DECIMALS
from shared.models.superpod.wiring import (
    DIMENSIONS,
    ENDS_PER_CUBE,
    FACE_LINKS,
    STRANDS,
    IntArray,
    join_columns,
    ocs_radix,
)

WholeArray = npt.NDArray[np.int32]
FABRICS_KEPT_MAX = 128
"""Cached fabrics: 2.4 megabytes each for 64 cubes, 12 for 144."""
PER_DB, PER_ORDER = 10.0**DECIMALS, 1_000.0
"""Resolution: parts of a dB for losses, parts of an order of magnitude for rates."""
FIGURES = 3
"""Figures of a link: its loss, and the bit error rate at each of its two ends."""


@dataclass(slots=True)
class LinkTable:
    """Figures by (dimension, cube of the + face end, cube of the − face end, face index, figure).

    They are whole numbers in the resolution above: half the memory of double precision, without loss. The
    values for a join of two cubes are contiguous. `known`, by dimension and cube of the + face end, marks
    those computed. `made` has the modules at the ends, None for the original ones. Otherwise `first` is the
    table of the original modules, and `replaced` are the ends with other modules.

    The figures, in order: insertion loss of the worse strand in dB, log10 of the bit error rate of the worst
    lane received by the + face end, and the same for the − face end.
    """

    seed: int
    fabric: str
    cubes: int
    design: LinkDesign
    technology: str
    made: ManufacturedModules | None = None
    first: "LinkTable | None" = None
    replaced: tuple[int, ...] = ()
    parts: WholeArray = field(init=False)
    known: npt.NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        shape = (DIMENSIONS, self.cubes, self.cubes, FACE_LINKS, FIGURES)
        self.parts = np.empty(shape, dtype=np.int32)
        self.known = np.zeros(shape[:2], dtype=np.bool_)

    def at(
        self, ocs: IntArray, north: IntArray, south: IntArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The figures of pairs by OCS and both cubes, in their common shape."""
        dimension, index = np.divmod(ocs, FACE_LINKS)
        self._compute(dimension, north)
        return _figures(self.parts[dimension, north, south, index])

    def of_joins(self, joins: tuple[tuple[int, int, int], ...]) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The figures of all links of some joins, each of shape (16 × joins,), ordered as in `join_ends`."""
        columns = join_columns(joins)
        self._compute(columns[0], columns[1])
        return _figures(self.parts[columns].reshape(-1, FIGURES))

    def _compute(self, dimension: IntArray, plus: IntArray) -> None:
        """All links of the + faces of these cubes in these dimensions."""
        if self.known[dimension, plus].all():
            return
        requested = np.zeros_like(self.known)
        requested[dimension, plus] = True
        for d in np.flatnonzero((requested & ~self.known).any(axis=1)).tolist():
            cubes = np.flatnonzero(requested[d] & ~self.known[d])
            self.parts[d, cubes] = self._all_of(d, cubes)
            self.known[d, cubes] = True

    def _all_of(self, dimension: int, plus: IntArray) -> WholeArray:
        """All links of the + faces of these cubes, of shape (n, cubes, face links, figures)."""
        minus, index = np.arange(self.cubes)[:, None], np.arange(FACE_LINKS)
        if self.first is None:
            found = np.empty((len(plus), *self.parts.shape[2:]), dtype=np.int32)
            for row, cube in zip(found, plus, strict=True):  # a cube at a time stays in the caches
                row[:] = self._figures_of(dimension, cube, minus, index)
            return found
        found = self.first.rows(dimension, plus)
        is_other = np.zeros(self.cubes * ENDS_PER_CUBE, dtype=np.bool_)
        is_other[list(self.replaced)] = True
        plus_ends, minus_ends = _ends(dimension, plus[:, None, None], minus, index)
        others = np.nonzero(is_other[plus_ends] | is_other[minus_ends])
        found[others] = self._figures_of(dimension, plus[others[0]], *others[1:])
        return found

    def rows(self, dimension: int, plus: IntArray) -> WholeArray:
        """A copy of `parts` of the + faces of these cubes in a dimension."""
        self._compute(np.asarray(dimension), plus)
        found: WholeArray = self.parts[dimension, plus]
        return found

    def over(self, made: ManufacturedModules, replaced: Iterable[int]) -> "LinkTable":
        """The links of the fabric with these modules, which differ from the original ones at exactly these
        ends."""
        return replace(self, made=made, first=self.first or self, replaced=(*replaced,))

    def renewed(self, made: ManufacturedModules, end: int) -> "LinkTable":
        """The links of the fabric with these modules, of which only the one at this end has changed."""
        found = self.over(made, {*self.replaced, end})
        found.parts[:], found.known[:] = self.parts, self.known
        found.compute_end(end)
        return found

    def compute_end(self, end: int) -> None:
        """Computes all known links of an end again."""
        cube, rest = divmod(end, ENDS_PER_CUBE)
        face, index = divmod(rest, FACE_LINKS)
        d, own, cubes = face // 2, np.asarray(cube), np.arange(self.cubes)
        known = np.flatnonzero(self.known[d])
        if face % 2:
            self.parts[d, known, cube, index] = self._figures_of(d, known, own, np.asarray(index))
        elif self.known[d, cube]:
            self.parts[d, cube, :, index] = self._figures_of(d, own, cubes, np.asarray(index))

    def _figures_of(self, dimension: int, plus: IntArray, minus: IntArray, index: IntArray) -> FloatArray:
        """The figures, as in `parts`, of the links of one dimension between + faces and − faces of cubes.

        In the common shape of all three.
        """
        plus_ends, minus_ends = np.broadcast_arrays(*_ends(dimension, plus, minus, index))
        loss_db, at_plus = self._received(plus_ends, minus_ends)
        _, at_minus = self._received(minus_ends, plus_ends)
        found: FloatArray = np.rint(
            np.stack((loss_db * PER_DB, at_plus * PER_ORDER, at_minus * PER_ORDER), axis=-1)
        )
        return found

    def _received(self, ends: IntArray, peers: IntArray) -> tuple[FloatArray, FloatArray]:
        """(insertion loss of the worse strand, log10 of the bit error rate of the worst lane) at these ends,
        of their shape."""
        ocs = strands_of(self.seed, self.fabric, ends, peers, ocs_radix(self.cubes), self.technology)
        made = self.made or manufactured_modules(self.seed, self.fabric, self.cubes * ENDS_PER_CUBE)
        lanes = lanes_between(made, ends, peers, STRANDS)
        rates = strand_log10_bers(self.design, Strands(ocs), lanes)
        return ocs.loss_db.max(axis=-1), rates.max(axis=(-2, -1))


def _ends(dimension: int, plus: IntArray, minus: IntArray, index: IntArray) -> tuple[IntArray, IntArray]:
    """The ends at the + faces and at the − faces of cubes in one dimension."""
    first = 2 * dimension * FACE_LINKS
    return plus * ENDS_PER_CUBE + first + index, minus * ENDS_PER_CUBE + first + FACE_LINKS + index


def _figures(parts: WholeArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    return parts[..., 0] / PER_DB, parts[..., 1] / PER_ORDER, parts[..., 2] / PER_ORDER


@lru_cache(maxsize=FABRICS_KEPT_MAX)
def link_table(
    seed: int, fabric: str, cubes: int, design: LinkDesign, technology: str = "palomar"
) -> LinkTable:
    """All links of a fabric with clean connectors."""
    return LinkTable(seed, fabric, cubes, design, technology)


def lanes_of(
    seed: int, fabric: str, cubes: int, ends: IntArray, peers: IntArray, warmer_k: float = 0.0
) -> Lanes:
    """The lanes that these ends of a pod receive from these peers, of shape (…, strands, lanes)."""
    return lanes_between(
        manufactured_modules(seed, fabric, cubes * ENDS_PER_CUBE), ends, peers, STRANDS, warmer_k
    )


def strand_log10_bers(design: LinkDesign, strands: Strands, lanes: Lanes) -> FloatArray:
    """log10 of the bit error rate of every lane, of shape (…, strands, lanes), for strands of shape (…,
    strands)."""
    found = kernel_of(design).lane_log10_ber(strands.each(), lanes.each())
    return found.reshape(*strands.shape, design.kind.lanes_per_strand)


@lru_cache(maxsize=16)
def kernel_of(design: LinkDesign) -> LaneKernel:
    """Cached with its tables."""
    return LaneKernel(design)


def direct_log10_bers(
    made: ManufacturedModules, design: LinkDesign, ends: IntArray, peers: IntArray
) -> FloatArray:
    """log10 of the bit error rate of the worst lane at each of these ends, from its peer over fibre alone, of
    their shape.

    Connectors are clean.
    """
    fibres = Strands(DIRECT.over((*ends.shape, STRANDS)))
    rates = strand_log10_bers(design, fibres, lanes_between(made, ends, peers, STRANDS))
    return rounded(rates.max(axis=(-2, -1)))


def rounded(log10_ber: FloatArray) -> FloatArray:
    """Rounded as in `LinkTable`, so differences in the last bit between machines have no effect."""
    found: FloatArray = np.rint(log10_ber * PER_ORDER) / PER_ORDER
    return found
