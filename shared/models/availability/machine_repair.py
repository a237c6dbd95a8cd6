"""The machine repair model: N machines that fail and R crews that repair them, as a birth-death chain.

Every working machine fails at the rate λ, every crew repairs at the rate μ. With n machines down the chain
goes up at (N − n)·λ and down at min(n, R)·μ, so that p(n+1) / p(n) = (N − n)·λ / (min(n + 1, R)·μ). With a
crew for every machine the number up is binomial, whatever the distribution of repair times (insensitivity).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shared.basics.checks import check_count, check_positive

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class MachineRepair:
    """The steady state. `down[n]` = P(n machines down), shape (machines + 1,).

    Rates are per unit of time, in the unit of the given rates. `mean_wait` is the time that a failed machine
    waits for a crew.
    """

    down: FloatArray
    availability: float
    mean_down: float
    mean_waiting: float
    mean_busy_crews: float
    failures_per_time: float
    mean_wait: float


def machine_repair(machines: int, crews: int, failure_rate: float, repair_rate: float) -> MachineRepair:
    """The steady state of N machines and R crews; InvalidInput unless all are above 0."""
    check_count("machines", machines, 1)
    check_count("crews", crews, 1)
    check_positive("failure-rate", failure_rate)
    check_positive("repair-rate", repair_rate)
    numbers = np.arange(machines + 1, dtype=np.float64)
    busy = np.minimum(numbers, crews)
    steps = np.log((machines - numbers[:-1]) * failure_rate) - np.log(busy[1:] * repair_rate)
    # In logarithms relative to the greatest term: a thousand machines would overflow otherwise.
    logs = np.concatenate(([0.0], np.cumsum(steps)))
    weights = np.exp(logs - logs.max())
    down = weights / weights.sum()
    mean_down = float(down @ numbers)
    mean_up = float(down @ (machines - numbers))
    rate = mean_up * failure_rate
    waiting = max(0.0, float(down @ np.maximum(numbers - crews, 0.0)))
    return MachineRepair(
        down=down,
        availability=mean_up / machines,
        mean_down=mean_down,
        mean_waiting=waiting,
        mean_busy_crews=float(down @ busy),
        failures_per_time=rate,
        mean_wait=waiting / rate,
    )
