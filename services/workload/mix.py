"""The production mix of slices, and what is drawn from it: shapes, gaps between arrivals, run times.

The mix is that of one production day ([T4] Table 2); `_T` there is twisted here, `_NT` twistable but regular.
The papers give no run times: log-normal is an assumption, its mean and sigma are parameters.
"""

from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from schemas.config import WorkloadConfig
from schemas.names import Shape
from shared.basics.keyed_random import draw_exponential, draw_lognormal, draw_uniform
from shared.basics.units import US_PER_DAY, US_PER_HOUR, us
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
"""(shape, twisted, percent of slices), [T4] Table 2. The table's shapes of less than 0.1 % are missing, so
the percentages add up to less than 100 and are renormalised."""


@dataclass(frozen=True, slots=True)
class Mix:
    """The part of the production mix that fits a pod, renormalised: leaving out what cannot be placed is an
    assumption. `cumulative` are the shares up to and including each kind, the last 1."""

    kinds: tuple[tuple[Shape, bool], ...]
    shares: tuple[float, ...]
    cumulative: tuple[float, ...]
    chips_mean: float


@lru_cache(maxsize=256)
def mix_for(cubes: int) -> Mix:
    """The mix of a pod of this many cubes."""
    fitting = [row for row in PRODUCTION_MIX if cubes_of(row[0]) <= cubes]
    whole = sum(percent for _, _, percent in fitting)
    shares = tuple(percent / whole for _, _, percent in fitting)
    return Mix(
        kinds=tuple((shape, twisted) for shape, twisted, _ in fitting),
        shares=shares,
        cumulative=(*tuple(accumulate(shares))[:-1], 1.0),
        chips_mean=sum(share * chips_of(row[0]) for share, row in zip(shares, fitting, strict=True)),
    )


def arrivals_per_day(config: WorkloadConfig, cubes: int) -> float:
    """Mean arrivals a day: as configured, or such that chips × run time come to the offered load."""
    if config.slices_per_day is not None:
        return config.slices_per_day
    chips = cubes * CHIPS_PER_CUBE
    slice_chip_days = mix_for(cubes).chips_mean * config.duration_mean_h * US_PER_HOUR / US_PER_DAY
    return config.offered_load * chips / slice_chip_days


def draw_gap_us(seed: int, fabric: str, arrival: int, config: WorkloadConfig, cubes: int) -> int:
    """Time from the arrival before to this one; arrivals are a Poisson process."""
    mean_us = US_PER_DAY / arrivals_per_day(config, cubes)
    return us(draw_exponential(seed, fabric, "arrival", arrival, mean_us), 1)


def draw_kind(seed: int, fabric: str, arrival: int, cubes: int) -> tuple[Shape, bool]:
    """(shape, twisted) of an arrival, by the inverse of the mix's cumulative shares."""
    mix = mix_for(cubes)
    return mix.kinds[bisect_right(mix.cumulative, draw_uniform(seed, fabric, "shape", arrival))]


def draw_work_us(seed: int, fabric: str, arrival: int, config: WorkloadConfig) -> int:
    """What the job of an arrival has to do: its stepping time at full speed."""
    hours = draw_lognormal(seed, fabric, "duration", arrival, config.duration_mean_h, config.duration_sigma)
    return us(hours, US_PER_HOUR)
