"""How the hazard of a part moves: slowly by chance, for all parts of a kind alike, and with a part's own age.

A constant rate is too smooth for long runs: of a fleet's weekly failures the coefficient of variation is 0.3
to 0.43 where chance alone gives a few hundredths, and one week tells of the next (NSDI 2024, FACTS 12). So
every rate has a multiplier with the mean 1, log-normal, whose logarithm is an Ornstein-Uhlenbeck process in
steps of a day. That is the simplest process with a variation and a memory, and has no other parameters.
"""

import math
from dataclasses import dataclass

DAYS_A_WEEK = 7
WEAR_MOST = 9.0
"""Wear adds so many times the hazard at most: what is older is taken to be as old as that."""


@dataclass(frozen=True, slots=True)
class Variation:
    """A slow multiplier of a hazard: `variation` is its coefficient of variation from day to day (0: it is
    always 1), `memory_days` the time in which the autocorrelation of its logarithm falls by e."""

    variation: float
    memory_days: float

    @property
    def spread(self) -> float:
        """Standard deviation of the multiplier's logarithm."""
        return math.sqrt(math.log1p(self.variation**2))

    @property
    def kept(self) -> float:
        """Autocorrelation of the logarithm from one day to the next."""
        return math.exp(-1.0 / self.memory_days)

    def moved(self, level: float, fresh: float) -> float:
        """The level a day later: both are standard normal, and so is what comes of them."""
        return self.kept * level + math.sqrt(1.0 - self.kept**2) * fresh

    def multiplier(self, level: float) -> float:
        """Times the mean hazard, at a level."""
        return math.exp(self.spread * level - 0.5 * self.spread**2)

    def weekly_covariance(self, weeks: int) -> float:
        """Autocovariance of the means of weeks that lie so many weeks apart; of 0 weeks their variance, which
        is the square of their coefficient of variation, for their mean is 1."""
        days = range(DAYS_A_WEEK)
        apart = [abs(DAYS_A_WEEK * weeks + one - other) for one in days for other in days]
        return sum(math.expm1(self.spread**2 * self.kept**lag) for lag in apart) / DAYS_A_WEEK**2


@dataclass(frozen=True, slots=True)
class Ageing:
    """What the age of a part does to its hazard: it is `infant_factor` times as high where the part is new,
    what is more than 1 of that falls by e in `infant_days`; and wear adds the cube of age over
    `wear_out_days` (None: nothing wears), up to `WEAR_MOST`."""

    infant_factor: float = 1.0
    infant_days: float = 30.0
    wear_out_days: float | None = None

    @property
    def matters(self) -> bool:
        """Whether age makes a difference."""
        return self.infant_factor > 1.0 or self.wear_out_days is not None

    @property
    def most(self) -> float:
        """What no factor is above."""
        return self.infant_factor + (0.0 if self.wear_out_days is None else WEAR_MOST)

    def factor(self, age_days: float) -> float:
        """Times the hazard of a part that is neither new nor worn."""
        young = 1.0 + (self.infant_factor - 1.0) * math.exp(-age_days / self.infant_days)
        if self.wear_out_days is None:
            return young
        return young + min(WEAR_MOST, (age_days / self.wear_out_days) ** 3)
