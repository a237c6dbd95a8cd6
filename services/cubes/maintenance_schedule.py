"""Times of planned maintenance: a Poisson process over all cubes of a pod."""

from schemas.config.cubes import CubesConfig
from shared.basics.interarrival import reschedule_at_rate
from shared.basics.keyed_random import draw_exponential, draw_index, draw_lognormal
from shared.basics.units import US_PER_DAY, US_PER_HOUR, to_whole_us

MAINTENANCE_SIGMA = 0.5
"""Standard deviation of the logarithm of the duration of maintenance; the same as for repairs."""


def maintenance_after(
    seed: int, fabric: str, config: CubesConfig, cubes: int, number: int, since_us: int
) -> int | None:
    """The time at which maintenance `number` starts, given the start of the one before; None if the rate
    is 0."""
    rate = drains_per_day(config, cubes)
    if not rate:
        return None
    return since_us + to_whole_us(
        draw_exponential(seed, fabric, "maintenance time", number, 1 / rate), US_PER_DAY
    )


def drains_per_day(config: CubesConfig, cubes: int) -> float:
    """Expected number of cubes of a pod that go into maintenance per day."""
    return config.maintenance_per_day * cubes


def maintenance_at_other_rate(
    seed: int, fabric: str, rates: tuple[float, float], next_us: int | None, now_us: int, number: int
) -> int | None:
    """The time of the next maintenance after a change of the rate, given (before, after) per day.

    If it is drawn again, the key is the `number` of the maintenance and the current time.
    """
    purpose = f"maintenance time from {now_us}"
    return reschedule_at_rate(
        next_us,
        now_us,
        rates,
        lambda rate: to_whole_us(draw_exponential(seed, fabric, purpose, number, 1 / rate), US_PER_DAY),
    )


def maintenance_cube(seed: int, fabric: str, cubes: int, number: int) -> int:
    """The cube of maintenance `number`."""
    return draw_index(seed, fabric, "maintenance of", number, cubes)


def maintenance_us(seed: int, fabric: str, config: CubesConfig, number: int) -> int:
    """Duration of maintenance `number`."""
    hours = draw_lognormal(seed, fabric, "maintenance", number, config.maintenance_h, MAINTENANCE_SIGMA)
    return to_whole_us(hours, US_PER_HOUR)
