"""Slices of chips: capacity of their shapes, routing, and the best shape for a traffic pattern.

A shape is three sides in chips, as in "4x4x8". Bandwidths are in units of one link's in one direction.
OCSes are given by their numbers in a superpod, 0 to 47.
"""

from collections.abc import Sequence

from lightwave._arguments import check_argument_types
from shared.models.superpod.shapes import parse_shape
from shared.models.topology.graph import SliceTopology, slice_topology
from shared.models.topology.graph import without_ocs as _without
from shared.models.topology.routing import RoutingFigures, routing_figures
from shared.models.topology.slice_figures import SliceFigures, slice_figures
from shared.models.topology.suggest import Suggestion, ranked_shapes

__all__ = [
    "RoutingFigures",
    "SliceFigures",
    "SliceTopology",
    "Suggestion",
    "figures",
    "graph",
    "routing",
    "suggest",
]


def __dir__() -> list[str]:
    return __all__


@check_argument_types
def figures(shape: str, *, twisted: bool = False, without_ocs: Sequence[int] = ()) -> SliceFigures:
    """The parts of a slice, and its capacity with ideal routing, as in `lightwave topology show`.
    InvalidInput for an invalid shape or OCS.

    >>> regular, twisted = figures("4x4x8"), figures("4x4x8", twisted=True)
    >>> regular.chips, regular.diameter, twisted.diameter
    (128, 8, 6)
    >>> round(twisted.all_to_all_throughput / regular.all_to_all_throughput, 2)
    1.75
    """
    return slice_figures(parse_shape(shape), twisted, without_ocs)


@check_argument_types
def graph(shape: str, *, twisted: bool = False, without_ocs: Sequence[int] = ()) -> SliceTopology:
    """The links of a slice as arrays, chip by chip. InvalidInput for an invalid shape or OCS.

    >>> graph("4x4x4").neighbours.shape  # (chips, the six directions)
    (64, 6)
    """
    return _without(slice_topology(parse_shape(shape), twisted), without_ocs)


@check_argument_types
def routing(shape: str, *, twisted: bool = False, without_ocs: Sequence[int] = ()) -> RoutingFigures:
    """The figures of a deadlock-free routing table of a slice, around the lost OCSes. InvalidInput for an
    invalid shape or OCS, or if no table exists.

    >>> around = routing("4x4x4", without_ocs=[3])
    >>> around.reached == around.pairs, around.deadlock_free
    (True, True)
    """
    return routing_figures(graph(shape, twisted=twisted, without_ocs=without_ocs))


@check_argument_types
def suggest(chips: int, traffic: str = "all-to-all") -> tuple[Suggestion, ...]:
    """All shapes with exactly this number of chips, the best for the traffic pattern first.

    `traffic` is "all-to-all", "ring:x", "ring:y", "ring:z" or "nearest". InvalidInput if no slice has this
    number of chips, or for another pattern.

    >>> [(one.shape, one.twisted) for one in suggest(512)[:2]]
    [('8x8x8', False), ('4x8x16', False)]
    """
    return ranked_shapes(chips, traffic)
