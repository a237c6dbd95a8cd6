"""Seed stopping rule: an experiment has enough seeds when every measure has its requested precision.

The precision is checked after each round of seeds, in every variant, by the interval of the mean (Student's
t, or the bootstrap for quantiles). The last round has the most seeds that the experiment allows.
"""

from collections.abc import Mapping
from dataclasses import replace

from ops.experiments.dataset import RunKey, RunRow
from ops.experiments.loader import PlannedExperiment
from ops.experiments.variants import Variant
from services.totals.measures import MEASURES
from shared.models.statistics.bootstrap import bca_interval
from shared.models.statistics.means import Interval, Precision, check_points, mean_interval

BOOTSTRAP_MIN = 20
"""Of fewer runs the bootstrap holds less than it says, and less than Student's t."""


def seed_of(planned: PlannedExperiment, variant: Variant, number: int) -> int:
    """Of run `number` of a variant: the same for all of them, or else none twice."""
    seeds = planned.experiment.seeds
    if seeds.common:
        return seeds.first + number
    most = seeds.count or seeds.most or 0
    return seeds.first + planned.variants.index(variant) * most + number


def seed_rounds(planned: PlannedExperiment) -> tuple[int, ...]:
    """After how many seeds it is asked whether they are enough; the last is the most."""
    seeds = planned.experiment.seeds
    if planned.method.name == "exact":
        return (1,)
    return (
        (seeds.count,) if seeds.most is None and seeds.count else check_points(seeds.least, seeds.most or 0)
    )


def is_enough(planned: PlannedExperiment, rows: Mapping[RunKey, RunRow], seeds: int) -> bool:
    """Whether every measure that has to be told closely is, in every variant."""
    experiment = planned.experiment
    if not experiment.stop_when:
        return False
    return all(
        (found := interval_of(planned, rows, variant, name, seeds)) is not None
        and Precision(wanted.half_width, wanted.relative_half_width).is_met(found)
        for name, wanted in experiment.stop_when.items()
        for variant in planned.variants
    )


def interval_of(
    planned: PlannedExperiment, rows: Mapping[RunKey, RunRow], variant: Variant, name: str, seeds: int
) -> Interval | None:
    """Of a measure's mean over the first so many seeds of a variant, by Student's t; of quantiles by the
    bootstrap, where there are runs enough. None where no run told it."""
    values = values_of(planned, rows, variant, name, seeds)
    if not values:
        return None
    confidence = planned.experiment.confidence
    if planned.method.name == "exact":
        return exact_interval(values[0], confidence)
    found = mean_interval(values, confidence)
    if not MEASURES[name].is_quantile or len(values) < BOOTSTRAP_MIN:
        return found
    bounds = bca_interval(values, confidence)
    return found if bounds is None else replace(found, low=bounds[0], high=bounds[1])


def exact_interval(value: float, confidence: float) -> Interval:
    """A figure of a closed form, which is told by no run."""
    return Interval(value, value, value, confidence, 1, 0.0)


def values_of(
    planned: PlannedExperiment, rows: Mapping[RunKey, RunRow], variant: Variant, name: str, seeds: int
) -> list[float]:
    """What the first so many runs of a variant came to, in order of their seeds, but for those that failed or
    had nothing to tell."""
    keys = [(variant.key, seed_of(planned, variant, n)) for n in range(seeds)]
    found = [rows[key].figures.get(name) for key in keys if key in rows]
    return [value for value in found if value is not None]
