"""Which plant each kind of fabric has, and which slices its cubes can hold."""

from collections.abc import Callable

from schemas.names import Shape
from shared.models.plant import Plant
from shared.models.static_pod import boxes
from shared.models.static_pod.plant import static_pod_plant
from shared.models.superpod import shapes
from shared.models.superpod.plant import superpod_plant

PLANTS: dict[str, Callable[[int], Plant]] = {
    "superpod": superpod_plant,
    "static-pod": lambda _cubes: static_pod_plant(),
}
"""Kind of fabric → its plant by number of cubes."""


def plant_of(kind: str, cubes: int) -> Plant:
    """The plant of a pod of this kind and size."""
    return PLANTS[kind](cubes)


SLICE_CHECKS: dict[str, Callable[[Shape, bool, int], None]] = {
    "superpod": shapes.check,
    "static-pod": lambda shape, twisted, _cubes: boxes.check(shape, twisted),
}
"""Kind of fabric → what a slice must be for a pod of so many cubes."""


def check_slice(kind: str, shape: Shape, twisted: bool, cubes: int) -> None:
    """InvalidInput unless an empty pod of this kind and size can hold such a slice."""
    SLICE_CHECKS[kind](shape, twisted, cubes)
