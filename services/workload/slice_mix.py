"""The production mix of slices, and the arrivals of each shape in a pod.

The mix is that of one production day ([T4] Table 2); `_T` there is twisted here, `_NT` twistable but regular.
"""

from dataclasses import dataclass
from functools import lru_cache

from schemas.config.workload import WorkloadConfig
from schemas.config.workload_mix import parse_mix
from schemas.names import Shape
from services.workload.run_times import run_mean_h
from shared.models.superpod.shapes import chips_of, cubes_of
from shared.models.superpod.wiring import CHIPS_PER_CUBE

PRODUCTION_MIX: tuple[tuple[Shape, bool, float], ...] = (
    ((1, 1, 1), False, 2.1),
    ((1, 1, 2), False, 0.4),
    ((1, 2, 2), False, 6.7),
    ((2, 2, 2), False, 4.7),
    ((2, 2, 4), False, 6.4),
    ((2, 4, 4), False, 8.9),
    ((4, 4, 4), False, 13.9),
    ((4, 4, 8), True, 16.0),
    ((4, 4, 8), False, 1.5),
    ((4, 4, 12), False, 0.7),
    ((4, 8, 8), True, 9.2),
    ((4, 8, 8), False, 1.5),
    ((4, 4, 16), False, 1.0),
    ((4, 8, 12), False, 0.1),
    ((4, 8, 16), False, 1.7),
    ((8, 8, 8), False, 9.6),
    ((4, 4, 32), False, 0.6),
    ((8, 8, 12), False, 0.7),
    ((8, 8, 16), True, 1.8),
    ((8, 8, 16), False, 1.4),
    ((4, 16, 16), False, 0.3),
    ((4, 4, 64), False, 0.1),
    ((4, 8, 32), False, 0.1),
    ((8, 12, 16), False, 0.1),
    ((4, 4, 96), False, 0.1),
    ((8, 8, 24), False, 0.1),
    ((8, 16, 16), True, 1.4),
    ((8, 16, 16), False, 0.3),
    ((12, 16, 16), False, 5.7),
    ((4, 4, 192), False, 0.4),
)
"""(shape, twisted, percent of slices), [T4] Table 2. Shapes with less than 0.1 % are missing in the table,
so the percentages add up to less than 100 and are renormalised."""


@dataclass(frozen=True, slots=True)
class ShapeShare:
    """All slices of one shape: their share of all slices, and the share of them that is twisted."""

    shape: Shape
    share: float
    twisted_share: float

    @property
    def chips(self) -> int:
        return chips_of(self.shape)

    @property
    def cubes(self) -> int:
        return cubes_of(self.shape)


@lru_cache(maxsize=256)
def mix_for(text: str, cubes: int) -> tuple[ShapeShare, ...]:
    """The part of a mix that fits a pod of this many cubes, renormalised; the production mix if `text` is
    empty.

    Leaving out what cannot be placed is an assumption.
    """
    fitting = [row for row in parse_mix(text) or PRODUCTION_MIX if cubes_of(row[0]) <= cubes]
    whole = sum(percent for _, _, percent in fitting)
    percents: dict[Shape, list[float]] = {}
    for shape, twisted, percent in fitting:
        percents.setdefault(shape, [0.0, 0.0])[twisted] += percent
    return tuple(
        ShapeShare(shape, (regular + twisted) / whole, twisted / (regular + twisted))
        for shape, (regular, twisted) in percents.items()
    )


def arrivals_per_day(config: WorkloadConfig, cubes: int) -> tuple[float, ...]:
    """Mean arrivals a day of each shape of the pod's mix, without filler.

    Their sum is `slices_per_day`, or their chips × run time equal the offered load. By Little's law a shape
    that is requested λ times a day runs λ · (mean run time in days) times on average, without queueing. So
    shares of running slices are converted into shares of arrivals by run times.
    """
    mix = mix_for(config.mix, cubes)
    days = [run_mean_h(config, kind.cubes) / 24.0 for kind in mix]
    weights = [
        kind.share / (span if config.mix_counts == "running" else 1.0)
        for kind, span in zip(mix, days, strict=True)
    ]
    if config.slices_per_day is not None:
        scale = config.slices_per_day / sum(weights)
    else:
        chip_days = sum(w * kind.chips * span for w, kind, span in zip(weights, mix, days, strict=True))
        scale = config.offered_load * cubes * CHIPS_PER_CUBE / chip_days
    return tuple(scale * weight for weight in weights)
