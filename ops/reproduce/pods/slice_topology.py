"""Claims about the shape of slices: bisection, wrap-around, twists, and the effect of a failed OCS."""

import math
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import pairwise

import numpy as np

from ops.reproduce.claim import (
    Measured,
    PaperClaim,
    Stated,
    derived,
    on_machines,
    predicted,
    second_hand,
)
from schemas.names import Shape
from shared.models.superpod.shapes import chips_of, is_twistable, legal_shapes, shape_text
from shared.models.topology import (
    SliceTopology,
    slice_figures,
    slice_topology,
    without_links,
)
from shared.models.topology.cuts import best_plane_cut
from shared.models.topology.graph import without_ocs
from shared.models.topology.routing.routing_figures import routing_figures
from shared.models.topology.shortest_paths import hops
from shared.models.topology.spanning_trees import tree_packing

CUBES = 64
V3_SIDES = {
    (4, 4, 4): (8, 8),
    (4, 4, 8): (8, 16),
    (4, 8, 8): (16, 16),
    (8, 8, 8): (16, 32),
    (8, 8, 16): (32, 32),
}
"""The most even shapes → the sides of the previous generation's 2D torus with as many chips."""
V3_LINK_GB_S, V4_LINK_GB_S = 70, 50
"""Bandwidth of one link, one way, in GB/s ([T4] Table 4)."""
ROUTED: tuple[tuple[Shape, bool], ...] = (
    *(((4, 4, 4), False), ((4, 4, 8), True)),
    *(((4, 8, 8), True), ((8, 8, 8), False)),
)
LOST_OCSES = (5, 37)
"""One OCS of the x and one of the z dimension, which routing treats differently."""
MEASURED_GAIN = (((4, 4, 8), 1.63), ((4, 8, 8), 1.31))
"""All-to-all of the twisted over the regular torus, as measured in [T4] Figure 6."""
WIRING = predicted("nothing fitted: from the wiring of the papers, cut by planes")
TWIST = predicted("nothing fitted: from the twist that [T4] 2.8 describes; half of it gives the same")
OVER_V3 = predicted("nothing fitted; assumed: slices of the previous generation wrap around")


def twisted_gain(shape: Shape) -> float:
    """Return the all-to-all throughput of the twisted torus over the regular one, both ideally routed."""
    gain = slice_figures(shape, twisted=True).all_to_all_gain
    return math.nan if gain is None else gain


@lru_cache(maxsize=4)
def _open(shape: Shape) -> SliceTopology:
    """Return the mesh-like alternative: the torus without its wrap-around links."""
    torus = slice_topology(shape)
    last = np.array(shape) - 1
    wrapped = [
        (chip, 2 * dimension)
        for chip, place in enumerate(torus.coordinates)
        for dimension in range(3)
        if place[dimension] == last[dimension]
    ]
    return without_links(torus, wrapped)


def _wrapped_bisection() -> float:
    return best_plane_cut(slice_topology((8, 8, 8))) / best_plane_cut(_open((8, 8, 8)))


def _wrapped_trees() -> float:
    """Return the spanning trees that fit at once, with wrap-around over without."""
    with_wrap, without = tree_packing(slice_topology((8, 8, 8))), tree_packing(_open((8, 8, 8)))
    return with_wrap.trees / without.trees if with_wrap and without else math.nan


def _bisection_growth() -> float:
    """Return the exponent of the chips for the step between cubes that is farthest from 2/3."""
    cut = {side: slice_figures((side,) * 3).bisection_links for side in (4, 8, 12, 16)}
    steps = [
        math.log(cut[large] / cut[small]) / (3.0 * math.log(large / small)) for small, large in pairwise(cut)
    ]
    return max(steps, key=lambda exponent: abs(exponent - 2 / 3))


def _over_v3(of: Callable[[Iterable[float]], float]) -> Measured:
    """Return the bisection over that of the 2D torus with as many chips: the minimum or maximum over all
    sizes, each with the better of the regular and the twisted torus. The best cut of a 2D torus crosses its
    short side twice."""
    ratios = {}
    for shape, (short, long) in V3_SIDES.items():
        twists = (False, True) if is_twistable(shape) else (False,)
        links = max(best_plane_cut(slice_topology(shape, twisted)) for twisted in twists)
        ratios[short * long] = links * V4_LINK_GB_S / (2 * short * V3_LINK_GB_S)
    each = ", ".join(f"{ratio:.2f} at {chips}" for chips, ratio in ratios.items())
    return Measured(of(ratios.values()), note=f"{each} chips")


def _wider_shapes() -> int:
    """Count the shapes of the whole pod with at least as many links across their best cut as 16×16×16."""
    whole = [shape for shape in legal_shapes(CUBES) if chips_of(shape) == CUBES * 64]
    cuts = {shape: best_plane_cut(slice_topology(shape)) for shape in whole}
    return sum(cut >= cuts[16, 16, 16] for shape, cut in cuts.items() if shape != (16, 16, 16))


def _cube_over_cigar() -> float:
    return best_plane_cut(slice_topology((8, 8, 8))) / best_plane_cut(slice_topology((4, 4, 32)))


def _twisted_diameter() -> float:
    regular, twisted = (hops(slice_topology((4, 4, 8), twist)).diameter for twist in (False, True))
    return twisted / regular if regular and twisted else math.nan


def _twisted_bisection() -> float:
    regular, twisted = (best_plane_cut(slice_topology((4, 4, 8), twist)) for twist in (False, True))
    return twisted / regular


@lru_cache(maxsize=1)
def _kept_of_slices() -> dict[str, float]:
    """Return slice and OCS → percentage of the all-to-all that a fault-tolerant routing table keeps without
    that OCS."""
    kept = {}
    for shape, twisted in ROUTED:
        for ocs in LOST_OCSES:
            figures = routing_figures(without_ocs(slice_topology(shape, twisted), [ocs]))
            share = math.nan if figures.all_to_all_kept is None else figures.all_to_all_kept
            kept[f"{shape_text(shape)} without OCS {ocs}"] = 100.0 * share
    return kept


def _kept_by_table(of: Callable[[Iterable[float]], float]) -> Measured:
    kept = _kept_of_slices()
    return Measured(
        of(kept.values()), note=", ".join(f"{share:.1f} of {which}" for which, share in kept.items())
    )


def _gain(shape: Shape, measured: float) -> PaperClaim:
    text = shape_text(shape)
    return PaperClaim(
        f"twist/gain-{text}",
        f"Twisting {text} speeds the all-to-all up {measured} ×",
        "[T4] 2.8, Fig. 6",
        on_machines(measured, "×"),
        predicted("nothing fitted; assumed: ideal routing of both tori; the paper measured machines"),
        "model",
        lambda: twisted_gain(shape),
        "maximum concurrent flow; not a bound of the measured value: either torus may miss its own "
        "ideal by more",
    )


CLAIMS: tuple[PaperClaim, ...] = (
    *(_gain(shape, measured) for shape, measured in MEASURED_GAIN),
    PaperClaim(
        "twist/diameter",
        "Twisting reduces the worst latency: the longest path in 4×4×8 is shorter",
        "[T4] 2.8",
        Stated(1, "× regular", "below"),
        TWIST,
        "model",
        _twisted_diameter,
    ),
    PaperClaim(
        "twist/bisection",
        "Twisting raises the bisection of 4×4×8",
        "[T4] 2.8",
        Stated(1, "× regular", "above"),
        TWIST,
        "model",
        _twisted_bisection,
        "best plane cuts of both",
    ),
    PaperClaim(
        "topology/wrap-bisection",
        "Wrap-around doubles the bisection of a mesh",
        "[T4] 2.6",
        Stated(2, "×"),
        WIRING,
        "model",
        _wrapped_bisection,
        "8×8×8",
    ),
    PaperClaim(
        "topology/wrap-all-reduce-ideal",
        "Wrap-around doubles the bandwidth of an all-reduce, also of an ideal one",
        "[T4] 2.6 (derived)",
        Stated(2, "×"),
        derived(
            "the paper has important collective operations, an all-reduce for example, and no algorithm; the "
            "ideal one, by spanning trees packed as densely as possible, is our reading"
        ),
        "model",
        _wrapped_trees,
        "8×8×8: as many spanning trees fit at once into a mesh as into a torus, except for one link in 8, so "
        "the factor of two holds for ring algorithms only",
    ),
    PaperClaim(
        "topology/bisection-growth",
        "The bisection of a 3D torus grows as N^(2/3)",
        "[T4] 3.6",
        Stated(2 / 3, "exponent"),
        WIRING,
        "model",
        _bisection_growth,
        "the farthest of the steps from 4×4×4 over 8×8×8 and 12×12×12 to 16×16×16",
    ),
    PaperClaim(
        "topology/bisection-over-v3-least",
        "At any number of chips, the bisection is at least twice that of the previous generation",
        "[T4] 3.6, Fig. 8",
        Stated(2, "×", "at least"),
        OVER_V3,
        "model",
        lambda: _over_v3(min),
        "50 GB/s per link against 70 of a 2D torus that wraps around, the better of twisted and regular; 64 "
        "chips cannot be twisted. If slices of the previous generation did not wrap around, all ratios would "
        "double: this row would hold, and topology/bisection-over-v3-most would not",
    ),
    PaperClaim(
        "topology/bisection-over-v3-most",
        "At no number of chips is it more than four times as much",
        "[T4] 3.6, Fig. 8",
        Stated(4, "×", "at most"),
        OVER_V3,
        "model",
        lambda: _over_v3(max),
        "50 GB/s per link against 70 of a 2D torus that wraps around, the better of twisted and regular: "
        "regular tori of 128, 256 and 1,024 chips have half as much. If slices of the previous generation "
        "did not wrap around, all ratios would double: this row would not hold, and "
        "topology/bisection-over-v3-least would",
    ),
    PaperClaim(
        "topology/most-symmetric",
        "16×16×16 has the highest bisection of all shapes of a pod",
        "[LF] 4.2.1",
        Stated(0, "shapes with more"),
        WIRING,
        "model",
        _wider_shapes,
        "best plane cuts of the regular tori of 4,096 chips",
    ),
    PaperClaim(
        "topology/cube-over-cigar",
        "For the highest bisection 8×8×8 is preferred over 4×4×32",
        "[T4] 2.7",
        Stated(1, "×", "above"),
        WIRING,
        "model",
        _cube_over_cigar,
    ),
    PaperClaim(
        "topology/one-ocs-lost",
        "Routed around a failed OCS, the all-to-all keeps at least 92 %",
        "NSDI 2024 (second-hand)",
        Stated(92, "%", "at least"),
        second_hand("computed"),
        "model",
        lambda: _kept_by_table(min),
        "the twin's fault-tolerant tables, against dimension order in the healthy slice; a slice of one cube "
        "keeps less, because its rings of 4 lose one link in 16 and have no other way around",
    ),
    PaperClaim(
        "topology/one-ocs-lost-most",
        "Routed around a failed OCS, the all-to-all keeps at most 102 %",
        "NSDI 2024 (second-hand)",
        Stated(102, "%", "at most"),
        second_hand("computed"),
        "model",
        lambda: _kept_by_table(max),
        "above 100 % if the table routes better than the dimension order of the healthy slice",
    ),
)
