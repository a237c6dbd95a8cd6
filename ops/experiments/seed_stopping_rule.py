"""Seed stopping rule: an experiment has enough seeds when every measure has its required precision.

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
"""With fewer runs, bootstrap intervals cover the mean less often than stated, and less than Student's t."""


def seed_of(planned: PlannedExperiment, variant: Variant, number: int) -> int:
    """The seed of run `number` of a variant: the same in every variant, or, without common seeds, unique."""
    seeds = planned.experiment.seeds
    if seeds.common:
        return seeds.first + number
    most = seeds.count or seeds.most or 0
    return seeds.first + planned.variants.index(variant) * most + number


def seed_rounds(planned: PlannedExperiment) -> tuple[int, ...]:
    """Numbers of seeds after which the precision is checked; the last is the maximum."""
    seeds = planned.experiment.seeds
    if planned.method.name == "exact":
        return (1,)
    return (
        (seeds.count,) if seeds.most is None and seeds.count else check_points(seeds.least, seeds.most or 0)
    )


def is_enough(planned: PlannedExperiment, rows: Mapping[RunKey, RunRow], seeds: int) -> bool:
    """Whether every measure in `stop_when` has its required precision in every variant."""
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
    """Return the interval of a measure's mean over the first `seeds` seeds of a variant; None if no run has
    the measure.

    The interval uses Student's t, or for quantiles the bootstrap if there are enough runs.
    """
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
    """The interval of width 0 of a figure that is computed in closed form, without runs."""
    return Interval(value, value, value, confidence, 1, 0.0)


def values_of(
    planned: PlannedExperiment, rows: Mapping[RunKey, RunRow], variant: Variant, name: str, seeds: int
) -> list[float]:
    """The values of a measure in the first `seeds` runs of a variant, in order of their seeds, without runs
    that failed or do not have the measure."""
    keys = [(variant.key, seed_of(planned, variant, n)) for n in range(seeds)]
    found = [rows[key].figures.get(name) for key in keys if key in rows]
    return [value for value in found if value is not None]
