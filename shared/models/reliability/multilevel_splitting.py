"""Probability that many machines are down together within a busy period, by fixed-effort splitting and in
closed form.

A busy period starts with the first failure and ends when all machines work again. The way to k machines down
passes every lower number. From each, `effort` trials continue until they reach the next number or the period
ends. The product of the success shares is an unbiased estimate of the probability. Independent repetitions
give its interval.
"""

from dataclasses import dataclass

import numpy as np

from shared.basics.checks import check_count, check_range
from shared.basics.errors import InvalidInput
from shared.basics.keyed_random import draw_uniform_array
from shared.models.reliability.draws import FloatArray, counts
from shared.models.statistics.means import Interval, mean_interval

REPETITIONS_MIN = 20
TRIALS_MAX = 10_000_000
"""Trials of all repetitions from one level: they are in memory together."""
RATE_MIN, RATE_MAX = 1e-12, 1e12


@dataclass(frozen=True, slots=True)
class Rare:
    """The probability with its interval over repetitions.

    `by_level[i]` is the probability of i + 2 machines down before none, from i + 1. `empty` repetitions never
    reached the target; a large number makes the result unreliable.
    """

    interval: Interval
    by_level: FloatArray
    empty: int


def split(
    machines: int,
    crews: int,
    failure_rate: float,
    repair_rate: float,
    down: int,
    *,
    seed: int,
    effort: int = 1_000,
    repetitions: int = REPETITIONS_MIN,
    confidence: float = 0.95,
) -> Rare:
    """P(at least `down` machines are down together within a busy period).

    InvalidInput if a value is out of range.
    """
    up = _up(machines, crews, failure_rate, repair_rate, down)
    check_count("effort", effort, 10, 1_000_000)
    check_count("repetitions", repetitions, REPETITIONS_MIN, 10_000)
    if repetitions * effort > TRIALS_MAX:
        raise InvalidInput(
            f"effort: {effort} is not allowed with {repetitions:,} repetitions; all together must have at "
            f"most {TRIALS_MAX:,} trials; the nearest is {TRIALS_MAX // repetitions}"
        )
    shares = np.ones((down - 1, repetitions))
    for level in range(1, down):
        climbed = _climbed(up, level, f"rare {seed}", seed, repetitions * effort)
        shares[level - 1] = climbed.reshape(repetitions, effort).mean(axis=1)
    products = shares.prod(axis=0)
    return Rare(mean_interval(products, confidence), shares.mean(axis=1), int((products == 0.0).sum()))


def exceeds(machines: int, crews: int, failure_rate: float, repair_rate: float, down: int) -> float:
    """The same in closed form: the gambler's ruin, with only positive terms."""
    up = _up(machines, crews, failure_rate, repair_rate, down)
    ratios = (1.0 - up[1:down]) / up[1:down]
    with np.errstate(over="ignore"):  # beyond all floats: a probability of 0 to them
        return 1.0 / (1.0 + float(np.cumprod(ratios).sum()))


def _up(machines: int, crews: int, failure_rate: float, repair_rate: float, down: int) -> FloatArray:
    """Share of failures among events, by number down, up to `down`."""
    check_count("machines", machines, 1)
    check_count("crews", crews, 1)
    check_count("down", down, 1, machines)
    numbers = np.arange(down + 1, dtype=np.float64)
    ups = (machines - numbers) * check_range("failure-rate", failure_rate, RATE_MIN, RATE_MAX, "")
    downs = np.minimum(numbers, crews) * check_range("repair-rate", repair_rate, RATE_MIN, RATE_MAX, "")
    return np.asarray(ups / (ups + downs), dtype=np.float64)


def _climbed(up: FloatArray, level: int, entity: str, seed: int, trials: int) -> FloatArray:
    """Which of the trials from a level reach the next before none is down: 1.0 or 0.0, shape (trials,)."""
    state = np.full(trials, level, dtype=np.int64)
    step, still = 0, np.arange(trials)
    while still.size:
        # A draw is keyed by step and trial, however many trials continue.
        draws = draw_uniform_array(seed, entity, f"level {level}", counts(step * trials, trials))[still]
        state[still] += np.where(draws < up[state[still]], 1, -1)
        still = still[(state[still] > 0) & (state[still] <= level)]
        step += 1
    return np.asarray(state > level, dtype=np.float64)
