"""Control variates: what is known exactly of one thing tells another one more closely (Law, 11.4)."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shared.basics.checks import check_count
from shared.basics.errors import InvalidInput
from shared.models.statistics.means import Interval, mean_interval

RUNS_MIN = 10
"""Of fewer the weight is too uncertain."""


@dataclass(frozen=True, slots=True)
class Controlled:
    """A mean with its interval. `saved` is how many times as many runs it would have taken without; `weight`
    how much of the control's distance from its mean is taken off."""

    interval: Interval
    weight: float
    saved: float


def controlled_mean(
    values: npt.ArrayLike, controls: npt.ArrayLike, exact: float, confidence: float = 0.95
) -> Controlled:
    """The mean of independent runs, shape (n,), from those of a control whose mean is known.

    From each run that part of its control's distance from the mean is taken off which the other runs tell
    (jackknife), so that no run has a say in its own weight and the mean is not bent. InvalidInput of fewer
    than 10 runs, or of two shapes.
    """
    runs, known = np.asarray(values, dtype=np.float64), np.asarray(controls, dtype=np.float64)
    n = check_count("runs", len(runs), RUNS_MIN)
    if runs.shape != known.shape:
        raise InvalidInput(f"controls: {len(known)} given for {n} runs; must be one for each run")
    off, apart = runs - runs.mean(), known - known.mean()
    # Without run i the sums of squares and products are less by its own, n / (n - 1) times.
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
