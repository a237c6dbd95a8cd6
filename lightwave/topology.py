"""Slices of chips: what their shapes can carry, how they are routed, which shape suits what.

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
    """What a slice is made of and what it can carry, ideally routed, as `lightwave topology show` has it.
    InvalidInput where there is no such slice or OCS.

    >>> regular, twisted = figures("4x4x8"), figures("4x4x8", twisted=True)
    >>> regular.chips, regular.diameter, twisted.diameter
    (128, 8, 6)
    >>> round(twisted.all_to_all_throughput / regular.all_to_all_throughput, 2)
    1.75
    """
    return slice_figures(parse_shape(shape), twisted, without_ocs)


@check_argument_types
def graph(shape: str, *, twisted: bool = False, without_ocs: Sequence[int] = ()) -> SliceTopology:
    """The links of a slice as arrays, chip by chip. InvalidInput where there is no such slice or OCS.

    >>> graph("4x4x4").neighbours.shape  # (chips, the six directions)
    (64, 6)
    """
    return _without(slice_topology(parse_shape(shape), twisted), without_ocs)


@check_argument_types
def routing(shape: str, *, twisted: bool = False, without_ocs: Sequence[int] = ()) -> RoutingFigures:
    """The routing table of a slice, around what is gone, proven free of deadlock, and what it comes to.
    InvalidInput where there is no such slice or OCS, or no table.

    >>> around = routing("4x4x4", without_ocs=[3])
    >>> around.reached == around.pairs, around.deadlock_free
    (True, True)
    """
    return routing_figures(graph(shape, twisted=twisted, without_ocs=without_ocs))


@check_argument_types
def suggest(chips: int, traffic: str = "all-to-all") -> tuple[Suggestion, ...]:
    """All shapes of exactly so many chips, the best for a traffic pattern first: "all-to-all", "ring:x",
    "ring:y", "ring:z" or "nearest". InvalidInput where no slice has so many, or for another pattern.

    >>> [(one.shape, one.twisted) for one in suggest(512)[:2]]
    [('8x8x8', False), ('4x8x16', False)]
    """
    return ranked_shapes(chips, traffic)
