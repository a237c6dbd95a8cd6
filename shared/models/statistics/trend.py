"""Growth of a series over independent runs: the slope of each run, and a one-sided t test over the runs.

Runs are the independent units. The values within a run are correlated, so no variance is estimated from
them: tests within a run (Geweke's, for one) report growth in most stationary queues.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy  # which loads scipy.special when it is first used

from shared.basics.checks import check_count
from shared.basics.errors import InvalidInput
from shared.models.statistics.means import FloatArray


@dataclass(frozen=True, slots=True)
class Growth:
    """The mean slope of several runs per unit of time.

    `chance` is the probability of a slope this steep or steeper if nothing grows. It is 1 for a single run,
    of which nothing is known. `scatters` is false if all runs have the same slope: nothing then separates
    chance from growth, and `chance` is only the sign of the slope.
    """

    slope: float
    chance: float
    runs: int
    scatters: bool = True


def slopes(times: npt.ArrayLike, values: npt.ArrayLike) -> FloatArray:
    """Least-squares slope of each run: times of shape (n,), values of shape (runs, n), n ≥ 2."""
    at, rows = np.asarray(times, dtype=np.float64), np.asarray(values, dtype=np.float64)
    check_count("values", len(at), 2)
    if rows.ndim != 2 or rows.shape[1] != len(at):
        raise InvalidInput(f"values: shape {rows.shape} is not allowed; must be (runs, {len(at)})")
    apart = at - at.mean()
    whole = float((apart * apart).sum())
    if whole == 0.0:
        raise InvalidInput("times: are all equal; must differ")
    found: FloatArray = rows @ apart / whole
    return found


def growth(times: npt.ArrayLike, values: npt.ArrayLike) -> Growth:
    """Growth of a series over runs: times of shape (n,), values of shape (runs, n), n ≥ 2, runs ≥ 1."""
    found = slopes(times, values)
    runs = check_count("runs", len(found), 1)
    mean = float(found.mean())
    if runs == 1:
        return Growth(mean, 1.0, 1, scatters=False)
    error = math.sqrt(float(((found - mean) ** 2).sum()) / (runs - 1) / runs)
    if error == 0.0:
        return Growth(mean, 0.0 if mean > 0.0 else 1.0, runs, scatters=False)
    return Growth(mean, float(scipy.special.stdtr(runs - 1, -mean / error)), runs)
