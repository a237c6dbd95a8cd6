"""The closed form of the correlation between weeks of a varying hazard."""

import math

from shared.models.faults.hazard_variation import Variation


def weekly_covariance(by: Variation, weeks: int) -> float:
    """Return the autocovariance of weekly means that are `weeks` apart.

    For 0 weeks it is their variance, the square of their coefficient of variation, because their mean is 1.
    """
    apart = [abs(7 * weeks + a - b) for a in range(7) for b in range(7)]
    return sum(math.expm1(by.spread**2 * by.kept**lag) for lag in apart) / 7**2
