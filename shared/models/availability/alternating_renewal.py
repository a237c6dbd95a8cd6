"""One thing that works, fails, is repaired and works again: availability in closed form.

Steady state for any distributions: A = m_up / (m_up + m_down). With exponential times, λ = 1/m_up, μ =
1/m_down and θ = λ + μ, starting up: A(t) = A + (1 − A)·e^(−θt), and the mean over (0, t) follows by
integration. In steady state the indicator has the autocovariance A·(1 − A)·e^(−θτ), which gives the
variance of the mean over a span. For any distributions the variance of the time up grows as
t·(m_down²·σ_up² + m_up²·σ_down²) / (m_up + m_down)³ (Takács 1957).
"""

import math
from dataclasses import dataclass

from shared.basics.checks import check_not_negative, check_positive


@dataclass(frozen=True, slots=True)
class AlternatingRenewal:
    """Mean times up and down, in any one unit of time; InvalidInput unless both are above 0."""

    mean_up: float
    mean_down: float

    def __post_init__(self) -> None:
        check_positive("mean-up", self.mean_up)
        check_positive("mean-down", self.mean_down)

    @property
    def availability(self) -> float:
        """Share of the time up in the long run, for any distributions."""
        return self.mean_up / (self.mean_up + self.mean_down)

    @property
    def relaxation(self) -> float:
        """θ = 1/m_up + 1/m_down: the rate at which the exponential process forgets how it started."""
        return 1.0 / self.mean_up + 1.0 / self.mean_down

    def point_availability(self, time: float) -> float:
        """P(up at `time`), exponential times, up at time 0."""
        return self.availability + (1.0 - self.availability) * math.exp(
            -self.relaxation * check_not_negative("time", time)
        )

    def interval_availability(self, time: float) -> float:
        """Mean share of (0, time) that it is up, exponential times, up at time 0."""
        span = self.relaxation * check_positive("time", time)
        # A span too short for a float above 0 has ended before anything fails: the limit is 1.
        kept = -math.expm1(-span) / span if span > 0.0 else 1.0
        return self.availability + (1.0 - self.availability) * kept

    def failures(self, time: float) -> float:
        """Mean number of failures in (0, time), exponential times, up at time 0: λ times the mean time up."""
        if check_not_negative("time", time) == 0.0:
            return 0.0
        return self.interval_availability(time) * time / self.mean_up

    def interval_variance(self, time: float) -> float:
        """Variance of the share of a span of this length that it is up, exponential times, in steady state:
        2·A·(1 − A)·(θt − 1 + e^(−θt)) / (θt)²."""
        span = self.relaxation * check_positive("time", time)
        if span < 1e-3:  # the difference would lose its digits; the series does not
            shape = 1.0 - span / 3.0 + span * span / 12.0
        else:
            shape = 2.0 * (1.0 + math.expm1(-span) / span) / span
        return self.availability * (1.0 - self.availability) * shape

    def long_run_variance(self, time: float, deviation_up: float, deviation_down: float) -> float:
        """Variance of the share of a long span that it is up, for any distributions with these standard
        deviations of the times up and down."""
        up, down = (
            check_not_negative("deviation-up", deviation_up),
            check_not_negative("deviation-down", deviation_down),
        )
        up_share = self.availability
        spread = ((1.0 - up_share) * up) ** 2 + (up_share * down) ** 2
        return spread / (self.mean_up + self.mean_down) / check_positive("time", time)
