"""Variation of hazard rates: slow and random for all parts of a kind together, and by a part's own age.

A constant rate is too smooth for long runs. The coefficient of variation of a fleet's weekly failures is 0.3
to 0.43, where chance alone gives a few hundredths, and one week predicts the next (NSDI 2024). So
every rate has a log-normal multiplier of mean 1, whose logarithm is an Ornstein-Uhlenbeck process in steps of
a day. That is the simplest process with a variation and a memory, and it has no other parameters.
"""

import math
from dataclasses import dataclass

WEAR_MOST = 9.0
"""Wear adds at most this multiple of the hazard; older parts count as that old."""


@dataclass(frozen=True, slots=True)
class Variation:
    """A slow multiplier of a hazard.

    `variation` is its day-to-day coefficient of variation (0: it is always 1). `memory_days` is the time in
    which the autocorrelation of its logarithm falls by e.
    """

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
        """The level a day later; levels and the fresh draw are standard normal."""
        return self.kept * level + math.sqrt(1.0 - self.kept**2) * fresh

    def multiplier(self, level: float) -> float:
        """Multiplier of the mean hazard at a level."""
        return math.exp(self.spread * level - 0.5 * self.spread**2)


@dataclass(frozen=True, slots=True)
class Ageing:
    """The effect of a part's age on its hazard.

    The hazard of a new part is `infant_factor` times as high, and the excess falls by e in `infant_days`.
    Wear adds the cube of age over `wear_out_days` (None: no wear), up to `WEAR_MOST`.
    """

    infant_factor: float = 1.0
    infant_days: float = 30.0
    wear_out_days: float | None = None

    @property
    def matters(self) -> bool:
        """Whether age changes the hazard."""
        return self.infant_factor > 1.0 or self.wear_out_days is not None

    @property
    def most(self) -> float:
        """Upper bound of all factors."""
        return self.infant_factor + (0.0 if self.wear_out_days is None else WEAR_MOST)

    def factor(self, age_days: float) -> float:
        """Multiplier of the hazard of a part that is neither new nor worn."""
        young = 1.0 + (self.infant_factor - 1.0) * math.exp(-age_days / self.infant_days)
        if self.wear_out_days is None:
            return young
        return young + min(WEAR_MOST, (age_days / self.wear_out_days) ** 3)
