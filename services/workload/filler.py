"""Filler: jobs of a backlog without an end, which run in the holes that production and research leave.

The scheduler knows only what waits, so some jobs of each size always do: as many as it could place at once
in an empty pod if it took the largest that fits again and again. So it always finds one to place as long as a
hole is as large as the smallest. When one is placed, the next of its size takes its place in the queue.
"""

from schemas.config.workload import WorkloadConfig
from schemas.names import Shape
from services.workload.run_times import draw_run_us
from shared.basics.units import US_PER_HOUR
from shared.models.superpod.shapes import shape_for_chips
from shared.models.superpod.wiring import CHIPS_PER_CUBE


def filler_backlog(config: WorkloadConfig, cubes: int) -> dict[int, int]:
    """Cubes of a filler job → how many such jobs wait, largest first."""
    sizes: list[int] = []
    size = config.filler_cubes_min
    while size <= min(config.filler_cubes_max, cubes):
        sizes.append(size)
        size *= 2
    if not config.filler or not sizes:
        return {}
    largest = sizes[-1]
    return {size: cubes // largest if size == largest else 1 for size in reversed(sizes)}


def filler_shape(cubes: int) -> Shape:
    """The most cubical shape of so many cubes."""
    return shape_for_chips(cubes * CHIPS_PER_CUBE)


def draw_filler_us(seed: int, entity: str, number: int, config: WorkloadConfig) -> int:
    """The run time of one filler job, of whatever size."""
    return draw_run_us(seed, entity, number, config.filler_mean_h * US_PER_HOUR, config.filler_sigma)
