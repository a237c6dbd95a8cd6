"""Filler: an endless backlog of jobs that run in the gaps between production and research.

The scheduler knows only queued requests, so some jobs of each size are always queued. There are as many as
fit at once into an empty pod, if the largest that fits is placed repeatedly. So the scheduler can always fill
a gap of at least the smallest size. When a job is placed, another of its size is queued.
"""

from schemas.config.workload import WorkloadConfig
from schemas.names import Shape
from services.workload.run_times import draw_run_us
from shared.basics.units import US_PER_HOUR
from shared.models.superpod.shapes import shape_for_chips
from shared.models.superpod.wiring import CHIPS_PER_CUBE


def filler_backlog(config: WorkloadConfig, cubes: int) -> dict[int, int]:
    """Cubes of a filler job → number of such jobs in the queue, largest first."""
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
    """The most cubical shape with this number of cubes."""
    return shape_for_chips(cubes * CHIPS_PER_CUBE)


def draw_filler_us(seed: int, entity: str, number: int, config: WorkloadConfig) -> int:
    """Run time of one filler job of any size."""
    return draw_run_us(seed, entity, number, config.filler_mean_h * US_PER_HOUR, config.filler_sigma)
