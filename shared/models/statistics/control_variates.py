"""Control variates: the known mean of a correlated variable narrows the interval (Law, 11.4)."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shared.basics.checks import check_count
from shared.basics.errors import InvalidInput
from shared.models.statistics.means import Interval, mean_interval

RUNS_MIN = 10
"""With fewer runs the weight is too uncertain."""


@dataclass(frozen=True, slots=True)
class Controlled:
    """A mean with its interval.

    `saved` is the factor by which more runs would be needed without the control. `weight` is the share of the
    control's deviation from its mean that is subtracted.
    """

    interval: Interval
    weight: float
    saved: float


def controlled_mean(
    values: npt.ArrayLike, controls: npt.ArrayLike, exact: float, confidence: float = 0.95
) -> Controlled:
    """The mean of independent runs, shape (n,), with a control whose mean is known.

    The control's weighted deviation from its mean is subtracted from each run. The weight comes from the
    other runs (jackknife), so no run affects its own weight and the mean is unbiased. InvalidInput for fewer
    than 10 runs, or for different shapes.
    """
    runs, known = np.asarray(values, dtype=np.float64), np.asarray(controls, dtype=np.float64)
    n = check_count("runs", len(runs), RUNS_MIN)
    if runs.shape != known.shape:
        raise InvalidInput(f"controls: {len(known)} given for {n} runs; must be one for each run")
    off, apart = runs - runs.mean(), known - known.mean()
    # Without run i the sums of squares and products are smaller by its own, times n / (n - 1).
    grown = n / (n - 1.0)
    squares = (apart**2).sum() - grown * apart**2
    products = (off * apart).sum() - grown * off * apart
    varies = squares > 0.0
    weights = np.where(varies, products / np.where(varies, squares, 1.0), 0.0)
    adjusted = runs - weights * (known - exact)
    found = mean_interval(adjusted, confidence)
    before = mean_interval(runs, confidence).half_width
    saved = (before / found.half_width) ** 2 if found.half_width > 0.0 else math.nan
    return Controlled(found, float(weights.mean()), saved)
