"""Claims on the shape of slices: bisection, wrap-around, twists, and what a failed OCS leaves."""

import math
from functools import lru_cache

import numpy as np

from ops.reproduce.claims import Claim, Stated
from schemas.names import Shape
from services.workload.mix import PRODUCTION_MIX
from shared.models.superpod.shapes import chips_of, is_mesh, legal_shapes, shape_text
from shared.models.superpod.wiring import OCS_COUNT
from shared.models.topology import (
    SliceTopology,
    all_to_all_bounds,
    slice_figures,
    slice_topology,
    without_links,
)
from shared.models.topology.cuts import best_plane_cut
from shared.models.topology.graph import COPPER, without_ocs
from shared.models.topology.paths import hops
from shared.models.topology.routing import routing_figures
from shared.models.topology.trees import tree_packing

CUBES = 64
V3_SIDES = (16, 32)
"""512 chips of the generation before: a 2D torus, sides in chips."""
V3_LINK_GB_S, V4_LINK_GB_S = 70, 50
"""Bandwidth of one link, one way ([T4] Table 4)."""
LOST_OCS = 5
MEASURED_GAIN = (((4, 4, 8), 1.63), ((4, 8, 8), 1.31))
"""All-to-all of the twisted over the regular torus, as measured in [T4] Figure 6."""


def twisted_gain(shape: Shape) -> float:
    """All-to-all throughput of the twisted torus over the regular one, both ideally routed."""
    gain = slice_figures(shape, twisted=True).all_to_all_gain
    return math.nan if gain is None else gain


@lru_cache(maxsize=4)
def _open(shape: Shape) -> SliceTopology:
    """The mesh-like alternative: a torus without its wrap-around links."""
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


def _wrapped_all_reduce() -> float:
    """Spanning trees that fit at once, with over without wrap-around."""
    with_wrap, without = tree_packing(slice_topology((8, 8, 8))), tree_packing(_open((8, 8, 8)))
    return with_wrap.trees / without.trees if with_wrap and without else math.nan


def _bisection_growth() -> float:
    """Exponent of the chips, from 4×4×4 to 16×16×16."""
    small, large = (slice_figures((side,) * 3).bisection_links for side in (4, 16))
    return math.log(large / small) / math.log(chips_of((16, 16, 16)) / chips_of((4, 4, 4)))


def _bisection_over_v3() -> float:
    """At 512 chips: 8×8×8 against the 2D torus before, whose best cut crosses the short side twice."""
    before = 2 * min(V3_SIDES) * V3_LINK_GB_S
    return slice_figures((8, 8, 8)).bisection_links * V4_LINK_GB_S / before


def _wider_shapes() -> int:
    """Shapes of the whole pod with at least as many links across their best cut as 16×16×16."""
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


def _copper_rewired() -> int:
    """Ends of electrical links that lead elsewhere once the torus is twisted."""
    regular, twisted = slice_topology((8, 8, 16), False), slice_topology((8, 8, 16), True)
    copper = regular.ocs == COPPER
    moved = (regular.neighbours != twisted.neighbours) | (twisted.ocs != COPPER)
    return int((copper & moved).sum())


def _shapes_on_all_ocs() -> float:
    """Percent of the production mix's tori of several cubes that use every OCS of the pod."""
    tori = {
        (shape, twisted)
        for shape, twisted, _ in PRODUCTION_MIX
        if not is_mesh(shape) and chips_of(shape) > 64
    }
    used = [np.unique(slice_topology(shape, twisted).ocs) for shape, twisted in tori]
    return 100.0 * sum(len(ocs[ocs != COPPER]) == OCS_COUNT for ocs in used) / len(tori)


def _kept_ideally() -> float:
    """Percent of the all-to-all that ideal routing keeps without one OCS."""
    bounds = all_to_all_bounds(without_ocs(slice_topology((8, 8, 8)), [LOST_OCS]))
    whole = all_to_all_bounds(slice_topology((8, 8, 8)))
    return 100.0 * bounds[0] / whole[0] if bounds and whole else math.nan


def _kept_by_table() -> float:
    """Percent that a fault-tolerant routing table keeps without one OCS."""
    kept = routing_figures(without_ocs(slice_topology((8, 8, 8)), [LOST_OCS])).all_to_all_kept
    return math.nan if kept is None else 100.0 * kept


def _gain(shape: Shape, measured: float) -> Claim:
    text = shape_text(shape)
    return Claim(
        f"twist/gain-{text}",
        f"Twisting {text} was measured to speed the all-to-all up {measured} ×; the ideal bound lies above",
        "[T4] 2.8, Fig. 6",
        Stated(measured, "×", "at least"),
        "model",
        lambda: twisted_gain(shape),
        "maximum concurrent flow; the paper's own bars stay below their ideal peak as well",
    )


CLAIMS: tuple[Claim, ...] = (
    *(_gain(shape, measured) for shape, measured in MEASURED_GAIN),
    Claim(
        "twist/diameter",
        "Twisting reduces the worst latency: the longest way in 4×4×8 is shorter",
        "[T4] 2.8",
        Stated(1, "× regular", "below"),
        "model",
        _twisted_diameter,
    ),
    Claim(
        "twist/bisection",
        "Twisting raises the bisection of 4×4×8",
        "[T4] 2.8",
        Stated(1, "× regular", "above"),
        "model",
        _twisted_bisection,
        "best plane cuts of both",
    ),
    Claim(
        "twist/electrical-links",
        "Twisting leaves every electrical link where it is: only OCS circuits change",
        "[T4] Fig. 5",
        Stated(0, "link ends"),
        "model",
        _copper_rewired,
        "8×8×16",
    ),
    Claim(
        "topology/wrap-bisection",
        "Wrap-around doubles the bisection of a mesh",
        "[T4] 2.6",
        Stated(2, "×"),
        "model",
        _wrapped_bisection,
        "8×8×8",
    ),
    Claim(
        "topology/wrap-all-reduce",
        "Wrap-around doubles the all-reduce bandwidth of a mesh",
        "[T4] 2.6",
        Stated(2, "×", 0.1),
        "model",
        _wrapped_all_reduce,
        "8×8×8 ideally routed: as many spanning trees fit into a mesh as into a torus but for one link in 8. "
        "The doubling is that of ring algorithms: a closed line carries two rings, an open one only one",
    ),
    Claim(
        "topology/bisection-growth",
        "The bisection of a 3D torus grows as N^(2/3)",
        "[T4] 3.6",
        Stated(2 / 3, "exponent"),
        "model",
        _bisection_growth,
        "from 4×4×4 to 16×16×16",
    ),
    Claim(
        "topology/bisection-over-v3",
        "The bisection is 2 to 4 × that of the generation before",
        "[T4] 3.6, Fig. 8",
        Stated(3, "×", 1.0),
        "model",
        _bisection_over_v3,
        "512 chips: 8×8×8 at 50 GB/s a link against a 16×32 torus at 70",
    ),
    Claim(
        "topology/most-symmetric",
        "16×16×16 has the highest bisection of all shapes of a pod",
        "[LF] 4.2.1",
        Stated(0, "shapes with more"),
        "model",
        _wider_shapes,
        "best plane cuts of the regular tori of 4,096 chips",
    ),
    Claim(
        "topology/cube-over-cigar",
        "For the highest bisection 8×8×8 is preferred over 4×4×32",
        "[T4] 2.7",
        Stated(1, "×", "above"),
        "model",
        _cube_over_cigar,
    ),
    Claim(
        "topology/all-ocs-used",
        "Any OCS carries links of every slice of more than one cube",
        "[LF] 4.2.2",
        Stated(100, "% of shapes"),
        "model",
        _shapes_on_all_ocs,
        "tori of the production mix",
    ),
    Claim(
        "topology/one-ocs-lost",
        "Routed around a failed OCS, the all-to-all keeps 92 to 102 %",
        "NSDI 2024 (second-hand)",
        Stated(97, "%", 5.0),
        "model",
        _kept_by_table,
        "8×8×8 with the twin's fault-tolerant table, against dimension order in the healthy slice",
    ),
    Claim(
        "topology/one-ocs-lost-ideally",
        "Ideal routing around a failed OCS is within the same range",
        "NSDI 2024 (second-hand)",
        Stated(97, "%", 5.0),
        "model",
        _kept_ideally,
        "8×8×8, maximum concurrent flow: one of 16 links of one dimension is gone everywhere",
    ),
)
