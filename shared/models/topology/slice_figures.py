"""Composition and capacity of a slice: every figure of `lightwave topology show`."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from math import ceil

import numpy as np

from schemas.names import Shape
from shared.models.superpod.shapes import cubes_of, is_mesh, shape_text
from shared.models.superpod.wiring import CHIPS_PER_HOST, STRANDS
from shared.models.topology.cuts import best_plane_cut
from shared.models.topology.graph import (
    COPPER,
    CUBES_PER_POD,
    NO_LINK,
    SliceTopology,
    slice_topology,
    without_ocs,
)
from shared.models.topology.lattice import dimension_order_load
from shared.models.topology.shortest_paths import hops
from shared.models.topology.spanning_trees import tree_packing
from shared.models.topology.symmetry import is_whole

EXACT_TO = 1e-5
"""Bounds with a smaller relative gap are shown as one value if both round to it with DIGITS digits."""
DIGITS = 6
OWN_SHARE_TO = 64
"""Up to this many chips a note says that throughput includes a chip's share to itself: beyond, it is under 2
%."""


@dataclass(frozen=True, slots=True)
class SliceFigures:
    """The figures of one slice. Bandwidths in units of one link's bandwidth in one direction.

    Links are between chips and carry both directions. Missing values are None: hops if the slice is
    disconnected, rates of a slice of one chip. `notes` says how each inexact value was found.
    """

    shape: str
    twisted: bool
    without_ocs: tuple[int, ...]
    chips: int
    hosts: int
    cubes: int
    links: int
    optical_links: int
    cross_connects: int
    ocs_used: int
    diameter: int | None
    mean_hops: float | None
    bisection_links: int
    all_to_all_throughput: float | None
    all_to_all_gain: float | None
    dimension_order_throughput: float | None
    all_reduce_bandwidth: float | None
    notes: tuple[str, ...]


def slice_figures(
    shape: Shape, twisted: bool = False, lost: Sequence[int] = (), cubes_in_pod: int = CUBES_PER_POD
) -> SliceFigures:
    """All figures of a slice of this shape without these OCSes; InvalidInput for an unknown slice or OCS."""
    whole = slice_topology(shape, twisted, cubes_in_pod)
    topology = without_ocs(whole, lost)
    notes = []
    unused = sorted(set(lost) - set(np.unique(whole.ocs).tolist()))
    if unused:
        notes.append(f"OCS {', '.join(map(str, unused))}: not used by this slice")
    apart = hops(topology)
    throughput, new_notes = _all_to_all(topology)
    notes += new_notes
    if 1 < topology.chips <= OWN_SHARE_TO:
        notes.append(
            f"all_to_all_throughput: with each chip's share to itself; {topology.chips - 1}/{topology.chips} "
            "of it leave the chip"
        )
    if apart.unreachable_pairs:
        notes.append(
            f"the slice has fallen apart: {apart.unreachable_pairs:,} ordered pairs of chips have no path"
        )
    bisection, new_notes = _bisection(topology, throughput or 0.0)
    notes += new_notes
    reduce, new_notes = _all_reduce(topology)
    notes += new_notes
    optical = int((topology.ocs != COPPER).sum()) // 2
    return SliceFigures(
        shape=shape_text(shape),
        twisted=twisted,
        without_ocs=tuple(sorted(set(lost))),
        chips=topology.chips,
        hosts=ceil(topology.chips / CHIPS_PER_HOST),
        cubes=cubes_of(shape),
        links=int((topology.neighbours != NO_LINK).sum()) // 2,
        optical_links=optical,
        cross_connects=STRANDS * optical,
        ocs_used=len(set(np.unique(topology.ocs).tolist()) - {COPPER}),
        diameter=apart.diameter,
        mean_hops=apart.mean,
        bisection_links=bisection,
        all_to_all_throughput=throughput,
        all_to_all_gain=None if throughput is None else throughput / healthy_throughput(shape, False),
        dimension_order_throughput=dimension_order_throughput(topology),
        all_reduce_bandwidth=reduce,
        notes=tuple(notes),
    )


def healthy_throughput(shape: Shape, twisted: bool) -> float:
    """Ideal all-to-all throughput of each chip of a whole slice of two chips or more.

    Rate r per ordered pair × N: including its own share, as in mean hops. A cut across the longest side and
    dimension order meet at 8 ÷ side in a torus and 4 ÷ side in a mesh. A twisted torus looks the same along
    x, y and z, so all links are equally loaded at 6 ÷ mean hops, and dimension order reaches that as well.
    """
    if is_mesh(shape):
        return 4 / max(shape)
    chips = shape[0] * shape[1] * shape[2]
    return chips / float(dimension_order_load(shape, twisted).max())


def dimension_order_throughput(topology: SliceTopology) -> float | None:
    """The same with every pair on its shortest displacements, along x, then y, then z, ties split evenly.

    0 if a link of the healthy slice is missing: the two chips that it joined have no other such route. None
    for one chip.
    """
    if topology.chips == 1:
        return None
    if is_mesh(topology.shape):
        links = sum((side - 1) * topology.chips // side for side in topology.shape)
        is_healthy = int((topology.neighbours != NO_LINK).sum()) == 2 * links
    else:
        is_healthy = is_whole(topology)
    return healthy_throughput(topology.shape, topology.twisted) if is_healthy else 0.0


def all_to_all_bounds(topology: SliceTopology) -> tuple[float, float] | None:
    """Proven (lower, upper) bounds of the all-to-all throughput per chip.

    The same value twice if it is exact, 0 if the slice is disconnected, None for one chip. A damaged slice
    carries no more than the healthy one, so the exact healthy throughput is a bound as well.
    """
    if topology.chips == 1:
        return None
    healthy = healthy_throughput(topology.shape, topology.twisted)
    if dimension_order_throughput(topology):
        return healthy, healthy
    if hops(topology).unreachable_pairs:
        return 0.0, 0.0
    from shared.models.topology.concurrent_flow import concurrent_flow  # noqa: PLC0415 -- scipy is slow to import, and rarely needed

    flow = concurrent_flow(topology)
    upper = min(flow.upper * topology.chips, healthy)
    return min(flow.lower * topology.chips, upper), upper


def _all_to_all(topology: SliceTopology) -> tuple[float | None, list[str]]:
    """The all-to-all throughput, or its lower bound if the two differ, and notes about it."""
    bounds = all_to_all_bounds(topology)
    if bounds is None:
        return None, ["one chip: it has no other chip to send to, so rates have no value"]
    lower, upper = bounds
    notes = []
    if dimension_order_throughput(topology) == 0.0:
        notes.append("dimension_order_throughput 0: pairs whose link is missing have no such route")
        notes.append("all_to_all_gain: against the healthy untwisted slice")
    if lower == upper:
        return lower, notes
    rounded = float(f"{lower:.{DIGITS}g}")
    if upper - lower <= EXACT_TO * upper and rounded == float(f"{upper:.{DIGITS}g}"):
        return rounded, notes
    least, most = _rounded_outward(lower, ROUND_FLOOR), _rounded_outward(upper, ROUND_CEILING)
    notes.append(
        f"all_to_all_throughput: at least {least}, at most {most} ({100 * (1 - lower / upper):.2g} % apart); "
        "the lower bound is given, also in all_to_all_gain"
    )
    return float(least), notes


def _rounded_outward(bound: float, rounding: str) -> Decimal:
    """A bound rounded to DIGITS digits that is still a bound."""
    return Context(prec=DIGITS, rounding=rounding).create_decimal_from_float(bound)


def _bisection(topology: SliceTopology, throughput: float) -> tuple[int, list[str]]:
    """The best plane cut, and whether it is exact.

    Halves exchange N²/4 pairs each way, so any bisection has at least throughput · N/4 links.
    """
    found = best_plane_cut(topology)
    least = ceil(throughput * topology.chips / 4 * (1 - EXACT_TO))
    if found == least or topology.chips == 1:
        return found, ["bisection_links: exact"]
    return found, [f"bisection_links: the best plane cut; no bisection has fewer than {least}"]


def _all_reduce(topology: SliceTopology) -> tuple[float | None, list[str]]:
    packing = tree_packing(topology)
    if packing is None:
        return None, []
    bound = "all_reduce_bandwidth: an upper bound, the tightest of cuts into chips, cubes and layers of cubes"
    return packing.trees, [] if packing.is_exact else [bound]
