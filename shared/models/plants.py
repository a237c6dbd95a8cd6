"""Which plant each kind of fabric has."""

from collections.abc import Callable

from shared.models.plant import Plant
from shared.models.static_pod.plant import static_pod_plant
from shared.models.superpod.plant import superpod_plant

PLANTS: dict[str, Callable[[int], Plant]] = {
    "superpod": superpod_plant,
    "static-pod": lambda _cubes: static_pod_plant(),
}
"""Kind of fabric → its plant by number of cubes."""


def plant_of(kind: str, cubes: int) -> Plant:
    """The plant of a pod of this kind and size."""
    return PLANTS[kind](cubes)
