"""Shapes for a number of chips, ranked for a pattern of traffic."""

from dataclasses import dataclass

from schemas.names import Shape
from shared.basics.errors import InvalidInput
from shared.models.superpod.shapes import chips_of, cubes_of, is_mesh, is_twistable, legal_shapes, shape_text
from shared.models.topology.graph import CUBES_PER_POD
from shared.models.topology.slice_figures import healthy_throughput

AXES = ("x", "y", "z")
TRAFFICS = ("all-to-all", "ring:x", "ring:y", "ring:z", "nearest")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A shape and the figure that ranks it, higher being better; see `ranked_shapes`."""

    rank: int
    shape: str
    twisted: bool
    cubes: int
    figure: float | None


@dataclass(frozen=True, slots=True)
class TrafficMeasure:
    """The figure by which a pattern of traffic ranks shapes."""

    name: str
    meaning: str


TRAFFIC_MEASURES = {
    "all-to-all": TrafficMeasure(
        "all_to_all_throughput",
        "rate at which each of N chips sends when all send to all, in one link's bandwidth one way; it "
        "includes the chip's share to itself, so (N-1)/N of it leaves the chip",
    ),
    "ring": TrafficMeasure(
        "ring_all_reduce_bandwidth",
        "all-reduce in every ring along the axis, in one link's bandwidth one way",
    ),
    "nearest": TrafficMeasure(
        "surface_exchange_rate",
        "a cubic grid of work split over the chips, which exchange faces with their neighbours; a cube has 1",
    ),
}


def ranked_shapes(chips: int, traffic: str, cubes_in_pod: int = CUBES_PER_POD) -> tuple[Suggestion, ...]:
    """Every slice of exactly this many chips, twisted ones included, the best for the traffic first.

    all-to-all: the throughput per chip under ideal routing. ring:x (y, z): all-reduce within the rings along
    that axis. nearest: the exchange of faces with the six neighbours. Among equals the regular torus comes
    first, then the most cubical. InvalidInput if no slice has this many chips, or for an unknown traffic.
    """
    if traffic not in TRAFFICS:
        raise InvalidInput(
            f"traffic: {traffic!r} is not a known pattern; must be one of {', '.join(TRAFFICS)}"
        )
    shapes = [shape for shape in legal_shapes(cubes_in_pod) if chips_of(shape) == chips]
    if not shapes:
        raise InvalidInput(_no_shape(chips, cubes_in_pod))
    slices = [
        (shape, twisted)
        for shape in shapes
        for twisted in ((False, True) if is_twistable(shape) else (False,))
    ]
    figures = {(shape, twisted): _figure(shape, twisted, traffic) for shape, twisted in slices}
    order = sorted(slices, key=lambda one: (-(figures[one] or 0.0), one[1], sum(one[0]), one[0]))
    return tuple(
        Suggestion(rank, shape_text(shape), twisted, cubes_of(shape), figures[shape, twisted])
        for rank, (shape, twisted) in enumerate(order, start=1)
    )


def traffic_measure(traffic: str) -> TrafficMeasure:
    return TRAFFIC_MEASURES[traffic.partition(":")[0]]


def _no_shape(chips: int, cubes_in_pod: int) -> str:
    sizes = sorted({chips_of(shape) for shape in legal_shapes(cubes_in_pod)})
    below = [size for size in sizes if size < chips][-1:]
    above = [size for size in sizes if size > chips][:1]
    nearest = " and ".join(map(str, below + above))
    verb = "are" if below and above else "is"
    return (
        f"chips: {chips} is not the size of any slice of a pod of {cubes_in_pod} cubes; "
        f"the nearest {verb} {nearest}"
    )


def _figure(shape: Shape, twisted: bool, traffic: str) -> float | None:
    if traffic == "nearest":
        return _surface_exchange(shape)
    if traffic == "all-to-all":
        return healthy_throughput(shape, twisted) if chips_of(shape) > 1 else None
    return _ring_all_reduce(shape, twisted, AXES.index(traffic.removeprefix("ring:")))


def ring_chips(shape: Shape, twisted: bool, axis: int) -> int:
    """Chips of a ring along an axis, or of the open line of a mesh.

    A twist doubles the rings of the axes whose wrap it moves: their second half is at another place.
    """
    if not twisted:
        return shape[axis]
    moved = (0, 1) if shape[0] == shape[1] else (0,)
    return 2 * shape[axis] if axis in moved else shape[axis]


def _ring_all_reduce(shape: Shape, twisted: bool, axis: int) -> float | None:
    """Spanning trees that fit at once into a ring of k chips, k ÷ (k − 1), or into a line, 1.

    See shared.models.topology.spanning_trees; None if the axis has one chip.
    """
    chips = ring_chips(shape, twisted, axis)
    if chips == 1:
        return None
    return 1.0 if is_mesh(shape) else chips / (chips - 1)


def _surface_exchange(shape: Shape) -> float | None:
    """N^(1/3) ÷ longest side; None for one chip.

    The grid does not wrap around, so every face has a link of its own. A side cut into k parts makes faces of
    k/N of the grid's own; the largest face takes longest.
    """
    chips = chips_of(shape)
    return None if chips == 1 else chips ** (1 / 3) / max(shape)
