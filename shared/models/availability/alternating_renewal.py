"""Availability of one unit that alternates between working and repair, in closed form.

Steady state for any distributions: A = m_up / (m_up + m_down). With exponential times, λ = 1/m_up, μ =
1/m_down and θ = λ + μ, starting up: A(t) = A + (1 − A)·e^(−θt). The mean over (0, t) follows by integration.
"""

import math
from dataclasses import dataclass

from shared.basics.checks import check_not_negative, check_positive


@dataclass(frozen=True, slots=True)
class AlternatingRenewal:
    """Mean times up and down, in the same unit of time; InvalidInput unless both are above 0."""

    mean_up: float
    mean_down: float

    def __post_init__(self) -> None:
        check_positive("mean-up", self.mean_up)
        check_positive("mean-down", self.mean_down)

    @property
    def availability(self) -> float:
        """Long-run share of time up, for any distributions."""
        return self.mean_up / (self.mean_up + self.mean_down)

    @property
    def relaxation(self) -> float:
        """θ = 1/m_up + 1/m_down: the rate at which the exponential process forgets its initial state."""
        return 1.0 / self.mean_up + 1.0 / self.mean_down

    def interval_availability(self, time: float) -> float:
        """Mean share of (0, time) that the unit is up, for exponential times, up at time 0."""
        span = self.relaxation * check_positive("time", time)
        # A span too short for a float above 0 ends before anything fails: the limit is 1.
        kept = -math.expm1(-span) / span if span > 0.0 else 1.0
        return self.availability + (1.0 - self.availability) * kept

    def failures(self, time: float) -> float:
        """Mean number of failures in (0, time), for exponential times, up at time 0: λ times the mean time
        up."""
        if check_not_negative("time", time) == 0.0:
            return 0.0
        return self.interval_availability(time) * time / self.mean_up
