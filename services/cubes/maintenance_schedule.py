"""When cubes are taken out of use for planned work: a Poisson process over all of a pod."""

from schemas.config.cubes import CubesConfig
from shared.basics.interarrival import reschedule_at_rate
from shared.basics.keyed_random import draw_exponential, draw_index, draw_lognormal
from shared.basics.units import US_PER_DAY, US_PER_HOUR, to_whole_us

MAINTENANCE_SIGMA = 0.5
"""Standard deviation of the logarithm of how long a cube is out for work: as that of repairs."""


def maintenance_after(
    seed: int, fabric: str, config: CubesConfig, cubes: int, number: int, since_us: int
) -> int | None:
    """When work number `number` begins, after the one before it; None where none ever does."""
    rate = drains_per_day(config, cubes)
    if not rate:
        return None
    return since_us + to_whole_us(
        draw_exponential(seed, fabric, "maintenance time", number, 1 / rate), US_PER_DAY
    )


def drains_per_day(config: CubesConfig, cubes: int) -> float:
    """How many cubes of a pod are taken out in a day."""
    return config.maintenance_per_day * cubes


def maintenance_at_other_rate(
    seed: int, fabric: str, rates: tuple[float, float], next_us: int | None, now_us: int, number: int
) -> int | None:
    """When the next work begins where so many do in a day from now on: (before, after). One that is drawn
    anew is keyed by the `number` of the work and the moment."""
    purpose = f"maintenance time from {now_us}"
    return reschedule_at_rate(
        next_us,
        now_us,
        rates,
        lambda rate: to_whole_us(draw_exponential(seed, fabric, purpose, number, 1 / rate), US_PER_DAY),
    )


def maintenance_cube(seed: int, fabric: str, cubes: int, number: int) -> int:
    """The cube that a work is on."""
    return draw_index(seed, fabric, "maintenance of", number, cubes)


def maintenance_us(seed: int, fabric: str, config: CubesConfig, number: int) -> int:
    """How long a work takes."""
    hours = draw_lognormal(seed, fabric, "maintenance", number, config.maintenance_h, MAINTENANCE_SIGMA)
    return to_whole_us(hours, US_PER_HOUR)
