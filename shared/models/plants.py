"""Which plant each kind of fabric has, and which slices its cubes can hold."""

from collections.abc import Callable

from schemas.config import AnyPodConfig, FabricConfig
from schemas.mix import mix_shares
from schemas.names import Shape
from shared.basics.errors import InvalidInput
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


def check_demand(config: FabricConfig) -> None:
    """InvalidInput unless what is configured can be asked of an empty fabric: the slices of its mix, and of
    its recorded trace."""
    if isinstance(config, AnyPodConfig):
        check_mix(config.workload.mix, config.pod.cubes)
    check_trace(config)


def check_mix(mix: str, cubes: int) -> None:
    """InvalidInput unless every shape of a mix is legal, and one fits a pod of so many cubes: a mix is the
    same for every kind of pod."""
    wanted = mix_shares(mix)
    try:
        for shape, twisted, _ in wanted:
            shapes.check(shape, twisted, shapes.POD_CUBES_MAX)
    except InvalidInput as error:
        raise InvalidInput(f"workload.mix: {error}") from None
    if wanted and all(shapes.cubes_of(shape) > cubes for shape, _, _ in wanted):
        least = min(shapes.cubes_of(shape) for shape, _, _ in wanted)
        raise InvalidInput(
            f"workload.mix {mix}: the smallest shape takes {least} cubes and the pod has {cubes}; allowed: "
            "shapes of which one fits"
        )


def check_trace(config: FabricConfig) -> None:
    """InvalidInput unless an empty fabric of this configuration can hold every slice of its recorded trace:
    the sentence names the first row that it cannot."""
    if not isinstance(config, AnyPodConfig):
        return
    cubes, fit = config.pod.cubes, set[tuple[Shape, bool]]()
    for n, row in enumerate(config.trace or ()):
        if (row.shape, row.twisted) in fit:
            continue
        try:
            check_slice(config.kind, row.shape, row.twisted, cubes)
        except InvalidInput as error:
            raise InvalidInput(f"trace.{n} (submit_us {row.submit_us}): {error}") from None
        fit.add((row.shape, row.twisted))
