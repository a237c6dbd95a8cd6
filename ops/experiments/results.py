"""Results of an experiment: estimates with intervals, differences between variants, and the verdict on the
claim."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import scipy  # which loads scipy.special when it is first used

from ops.experiments.dataset import RunKey, RunRow
from ops.experiments.interval_text import display_unit, interval_text
from ops.experiments.loader import PlannedExperiment
from ops.experiments.schema import ExperimentClaim
from ops.experiments.seed_stopping_rule import exact_interval, interval_of, seed_of, values_of
from ops.experiments.steadiness import (
    TESTED_SEEDS_MIN,
    VariantSteadiness,
    steadiness_after,
    steadiness_before,
)
from ops.experiments.sweep_result import SweepResult
from ops.experiments.variants import Variant, single_variant
from shared.models.statistics.batch_means import BATCHES_MIN, Batches, batch_means
from shared.models.statistics.bootstrap import bca_interval
from shared.models.statistics.control_variates import RUNS_MIN, Controlled, controlled_mean
from shared.models.statistics.means import Interval, Precision, mean_interval, quantile_of_t, runs_needed
from shared.models.statistics.paired_runs import (
    MeanDifference,
    batched_difference,
    holm,
    paired_difference,
    welch_difference,
)

CONTROL_CONFIDENCE = 0.9999
"""The given mean of a control is rejected if it is outside the interval of this confidence."""
CONVERGENCE_POINTS_MAX = 40
"""Maximum number of points of a convergence curve."""
WindowSeries = Mapping[str, Sequence[float]]
"""Series of a run: measure → one value per window."""
SeriesReader = Callable[[str, int], WindowSeries]
"""(variant key, seed) → series of that run."""
SKEWED = 0.15
"""The bootstrap interval is reported as well if a bound differs from that of as many normal runs by more
than this share of the half-width."""


@dataclass(frozen=True, slots=True)
class MeasureEstimate:
    """An estimate of a measure in a variant.

    `batches` is the source of the interval if there is only one run. `bootstrap` has other bounds if runs are
    far from normal. `seeds_needed` is the number of seeds for the requested precision; None if no precision
    was requested or if it is reached. `controlled` is the estimate with a control variate. `halves` are the
    means in the first and in the second half of the runs; None if they are not known."""

    variant: Variant
    measure: str
    interval: Interval
    bootstrap: tuple[float, float] | None
    seeds_needed: int | None
    batches: Batches | None = None
    controlled: Controlled | None = None
    halves: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class VariantDifference:
    """The difference of a measure between two variants: `variant` minus `against`.

    `chance` is the p-value, adjusted for the number of comparisons (Holm). `seeds_needed` is the number of
    seeds that would make the difference significant; None if it is already. `paired` is None if the variants
    have different seeds, which are compared as two samples without a correlation."""

    variant: Variant
    against: Variant
    measure: str
    interval: Interval
    paired: MeanDifference | None
    chance: float
    seeds_needed: int | None


@dataclass(frozen=True, slots=True)
class Convergence:
    """Convergence of a measure in a variant: half-widths of its interval after each number of `seeds`."""

    variant: Variant
    measure: str
    seeds: tuple[int, ...]
    half_widths: tuple[float, ...]


UNTESTED = f"the growth of its backlogs is not tested: that needs {TESTED_SEEDS_MIN} seeds that differ"


@dataclass(frozen=True, slots=True)
class ClaimVerdict:
    """The verdict on the claim: "holds", "does not hold", "is undecided" or "is not judged".

    For an undecided claim, `seeds_needed` estimates the number of seeds that decide it. A claim about a
    variant that is not steady is not judged, unless the document is a study of overload (`steady: false`)."""

    word: str
    interval: Interval
    sentence: str
    seeds_needed: int | None


@dataclass(frozen=True, slots=True)
class Results:
    """All results. `failed` runs are not counted. `steadiness` has an entry for each variant."""

    planned: PlannedExperiment
    seeds: int
    is_enough: bool
    figures: tuple[MeasureEstimate, ...]
    compared: tuple[VariantDifference, ...]
    verdict: ClaimVerdict | None
    failed: tuple[RunRow, ...]
    convergence: tuple[Convergence, ...] = ()
    steadiness: tuple[VariantSteadiness, ...] = ()

    @property
    def unsteady(self) -> Mapping[Variant, VariantSteadiness]:
        """The variants that are not steady; empty for a quick run, which is too short to be."""
        if self.planned.is_quick:
            return {}
        return {one.variant: one for one in self.steadiness if not one.is_steady}


def no_series(_variant: str, _seed: int) -> WindowSeries:
    """No series: the runs stored none."""
    return {}


def results_of(
    planned: PlannedExperiment,
    swept: SweepResult,
    series: SeriesReader = no_series,
    before: Sequence[VariantSteadiness] | None = None,
) -> Results:
    """The results of a sweep; `series` reads the series of a run, which gives a single run an interval.

    `before` are the loads that `steadiness_before` found. If None, they are computed, which takes long for
    thousands of variants.
    """
    rows, seeds = swept.rows, swept.seeds
    keys = {(v.key, seed_of(planned, v, n)) for v in planned.variants for n in range(seeds)}
    steadiness = steadiness_after(
        planned.experiment,
        steadiness_before(planned) if before is None else before,
        {v.key: _finished_rows(planned, rows, v, seeds) for v in planned.variants},
    )
    figures = tuple(
        found
        for variant in planned.variants
        for name in planned.experiment.measure
        if (found := _estimate(planned, rows, variant, name, seeds, series)) is not None
    )
    return Results(
        planned,
        seeds,
        swept.is_enough,
        figures,
        _differences(planned, rows, seeds, series),
        None if planned.is_quick else _verdict(planned, rows, seeds, series, steadiness),
        tuple(row for key, row in sorted(rows.items()) if key in keys and row.error is not None),
        _convergence(planned, rows, seeds),
        steadiness,
    )


def _finished_rows(
    planned: PlannedExperiment, rows: Mapping[RunKey, RunRow], variant: Variant, seeds: int
) -> list[RunRow]:
    """The runs of a variant that did not fail, in order of their seeds."""
    keys = [(variant.key, seed_of(planned, variant, n)) for n in range(seeds)]
    return [rows[key] for key in keys if key in rows and rows[key].error is None]


def _halves(rows: Sequence[RunRow], name: str) -> tuple[float, float] | None:
    """The means of a measure in both halves of the runs that have it in both."""
    both = [
        (first, second)
        for row in rows
        if name in row.halves
        for first, second in [row.halves[name]]
        if first is not None and second is not None
    ]
    return (fmean([one for one, _ in both]), fmean([two for _, two in both])) if both else None


def _convergence(
    planned: PlannedExperiment, rows: Mapping[RunKey, RunRow], seeds: int
) -> tuple[Convergence, ...]:
    """The convergence of the measures with a required precision, or of the first measure if there are none,
    from three seeds on."""
    names = list(planned.experiment.stop_when) or [planned.experiment.measure[0]]
    counts = sorted({*range(3, seeds + 1, max(1, -(-seeds // CONVERGENCE_POINTS_MAX))), seeds} - {0, 1, 2})
    found = []
    for name in names:
        for variant in planned.variants:
            intervals = [(n, interval_of(planned, rows, variant, name, n)) for n in counts]
            points = [(n, one.half_width) for n, one in intervals if one is not None and one.runs > 1]
            if points:
                ns, halves = zip(*points, strict=True)
                found.append(Convergence(variant, name, ns, halves))
    return tuple(found)


def _estimate(
    planned: PlannedExperiment,
    rows: Mapping[RunKey, RunRow],
    variant: Variant,
    name: str,
    seeds: int,
    series: SeriesReader,
) -> MeasureEstimate | None:
    interval = interval_of(planned, rows, variant, name, seeds)
    if interval is None:
        return None
    halves = _halves(_finished_rows(planned, rows, variant, seeds), name)
    if interval.runs == 1 and (batches := _batches(planned, rows, variant, name, seeds, series)) is not None:
        half = batches.interval.half_width
        interval = replace(interval, low=interval.value - half, high=interval.value + half)
        return MeasureEstimate(variant, name, interval, None, None, batches, halves=halves)
    values = values_of(planned, rows, variant, name, seeds)
    other = bca_interval(values, planned.experiment.confidence)
    if other == (interval.low, interval.high):
        other = None
    if other is not None:
        # With few normal runs, the bootstrap is narrower than Student's t, because it ignores their number.
        half = interval.half_width * bootstrap_narrowing(interval)
        off = max(abs(other[0] - interval.value + half), abs(other[1] - interval.value - half))
        other = other if off > SKEWED * interval.half_width else None
    needed = None
    wanted = planned.experiment.stop_when.get(name)
    if wanted is not None:
        half = Precision(wanted.half_width, wanted.relative_half_width).wanted(interval.value)
        if interval.half_width > half > 0.0 and interval.runs > 1:
            needed = runs_needed(interval.deviation, half, interval.confidence)
    controlled = _controlled(planned, rows, variant, name, seeds)
    return MeasureEstimate(variant, name, interval, other, needed, controlled=controlled, halves=halves)


def _controlled(
    planned: PlannedExperiment, rows: Mapping[RunKey, RunRow], variant: Variant, name: str, seeds: int
) -> Controlled | None:
    """Estimate with a measure's control variate.

    None if there is no control, if there are too few runs, or if the given mean of the control contradicts
    the runs, because a wrong mean would bias the estimate.
    """
    control = planned.experiment.controls.get(name)
    if control is None:
        return None
    keys = [(variant.key, seed_of(planned, variant, n)) for n in range(seeds)]
    figures = [rows[key].figures for key in keys if key in rows]
    both = [
        (value, known)
        for row in figures
        if (value := row.get(name)) is not None and (known := row.get(control.by)) is not None
    ]
    if len(both) < RUNS_MIN:
        return None
    values, controls = zip(*both, strict=True)
    observed = mean_interval(controls, CONTROL_CONFIDENCE)
    if not observed.low <= control.mean <= observed.high:
        return None
    return controlled_mean(values, controls, control.mean, planned.experiment.confidence)


def bootstrap_narrowing(interval: Interval) -> float:
    """The half-width of the bootstrap as a share of Student's, for normal runs: it uses the normal quantile
    and the uncorrected deviation."""
    n = interval.runs
    normal = float(scipy.special.ndtri((1.0 + interval.confidence) / 2.0))
    return math.sqrt((n - 1.0) / n) * normal / quantile_of_t(n - 1, interval.confidence)


def _batches(
    planned: PlannedExperiment,
    rows: Mapping[RunKey, RunRow],
    variant: Variant,
    name: str,
    seeds: int,
    series: SeriesReader,
) -> Batches | None:
    """Batch means of a variant's only run; None if its series is too short or was not stored."""
    values = _window_values(planned, rows, variant, name, seeds, series)
    return batch_means(values, planned.experiment.confidence) if len(values) >= BATCHES_MIN else None


def _window_values(
    planned: PlannedExperiment,
    rows: Mapping[RunKey, RunRow],
    variant: Variant,
    name: str,
    seeds: int,
    series: SeriesReader,
) -> Sequence[float]:
    """The series of the first run that did not fail."""
    keys = [(variant.key, seed_of(planned, variant, n)) for n in range(seeds)]
    key = next((key for key in keys if key in rows and rows[key].error is None), None)
    return [] if key is None else series(*key).get(name, [])


def _differences(
    planned: PlannedExperiment, rows: Mapping[RunKey, RunRow], seeds: int, series: SeriesReader
) -> tuple[VariantDifference, ...]:
    if planned.experiment.compare is None:
        return ()
    against = single_variant(planned.variants, planned.experiment.compare.against, "compare.against")
    found = [
        one
        for variant in planned.variants
        if variant != against
        for name in planned.experiment.measure
        if (one := difference(planned, rows, variant, against, name, seeds, series)) is not None
    ]
    return with_holm_chances(found)


def difference(
    planned: PlannedExperiment,
    rows: Mapping[RunKey, RunRow],
    variant: Variant,
    against: Variant,
    name: str,
    seeds: int,
    series: SeriesReader = no_series,
) -> VariantDifference | None:
    """The difference of a measure; None if there is nothing to compare."""
    confidence = planned.experiment.confidence
    if planned.method.name == "exact":
        return _exact_difference(planned, rows, variant, against, name)
    if not planned.experiment.seeds.common:
        first, second = (values_of(planned, rows, v, name, seeds) for v in (variant, against))
        if not first or not second:
            return None
        return variant_difference(
            variant, against, name, welch_difference(first, second, confidence), paired=False
        )
    both = [
        (one, two)
        for n in range(seeds)
        if (one := _value(planned, rows, variant, name, n)) is not None
        and (two := _value(planned, rows, against, name, n)) is not None
    ]
    if not both:
        return None
    found = paired_difference([one for one, _ in both], [two for _, two in both], confidence)
    if len(both) == 1 and (
        alone := _difference_of_series(planned, rows, (variant, against), name, seeds, series)
    ):
        half = alone.interval.half_width
        value = found.interval.value
        found = replace(alone, interval=replace(found.interval, low=value - half, high=value + half))
    return variant_difference(variant, against, name, found, paired=True)


def _exact_difference(
    planned: PlannedExperiment, rows: Mapping[RunKey, RunRow], variant: Variant, against: Variant, name: str
) -> VariantDifference | None:
    """The difference of two closed-form values, which is exact."""
    first, second = (values_of(planned, rows, one, name, 1) for one in (variant, against))
    if not first or not second:
        return None
    apart = exact_interval(first[0] - second[0], planned.experiment.confidence)
    found = MeanDifference(apart, math.nan, math.nan, float(apart.value == 0.0))
    return variant_difference(variant, against, name, found, paired=True)


def _difference_of_series(
    planned: PlannedExperiment,
    rows: Mapping[RunKey, RunRow],
    both: tuple[Variant, Variant],
    name: str,
    seeds: int,
    series: SeriesReader,
) -> MeanDifference | None:
    """The difference between the only runs of two variants; None if a series is too short."""
    one, two = (_window_values(planned, rows, variant, name, seeds, series) for variant in both)
    if len(one) != len(two) or len(one) < BATCHES_MIN:
        return None
    return batched_difference(one, two, planned.experiment.confidence)


def variant_difference(
    variant: Variant, against: Variant, name: str, found: MeanDifference, *, paired: bool
) -> VariantDifference:
    """A difference as it is reported."""
    interval = found.interval
    return VariantDifference(
        variant,
        against,
        name,
        interval,
        found if paired else None,
        found.chance,
        _seeds_to_distinguish(interval),
    )


def with_holm_chances(found: Sequence[VariantDifference]) -> tuple[VariantDifference, ...]:
    """Adjust the p-values of all differences for multiple comparison (Holm)."""
    chances = holm([one.chance for one in found])
    return tuple(replace(one, chance=chance) for one, chance in zip(found, chances, strict=True))


def _value(
    planned: PlannedExperiment, rows: Mapping[RunKey, RunRow], variant: Variant, name: str, number: int
) -> float | None:
    row = rows.get((variant.key, seed_of(planned, variant, number)))
    return None if row is None else row.figures.get(name)


def _seeds_to_distinguish(interval: Interval) -> int | None:
    """Seeds needed to make a difference of this size significant; None if it is already, or if it is zero."""
    if interval.runs < 2 or interval.low > 0.0 or interval.high < 0.0 or interval.value == 0.0:
        return None
    return runs_needed(interval.deviation, abs(interval.value), interval.confidence)


def _verdict(
    planned: PlannedExperiment,
    rows: Mapping[RunKey, RunRow],
    seeds: int,
    series: SeriesReader,
    steadiness: Sequence[VariantSteadiness],
) -> ClaimVerdict | None:
    claim = planned.experiment.claim
    if claim is None:
        return None
    of = over = single_variant(planned.variants, claim.of, "claim.of")
    if claim.over is None:
        figure = _estimate(planned, rows, of, claim.measure, seeds, series)
        interval = None if figure is None else figure.interval
    else:
        over = single_variant(planned.variants, claim.over, "claim.over")
        found = difference(planned, rows, of, over, claim.measure, seeds, series)
        interval = None if found is None else found.interval
    if interval is None:
        return None
    verdict = judge_claim(claim, interval)
    unsteady = [one for one in steadiness if one.variant in (of, over) and not one.is_steady]
    if not planned.experiment.steady:
        days = planned.experiment.fabric.days
        these = "this day" if days == 1.0 else f"these {days:g} days"
        of_days = f"{verdict.sentence}; a figure of {these}, which need not be steady"
        return replace(verdict, sentence=of_days)
    if unsteady:
        return not_judged(verdict, unsteady)
    if not planned.is_quick and any(one.is_untested for one in steadiness if one.variant in (of, over)):
        return replace(verdict, sentence=f"{verdict.sentence}; {UNTESTED}")
    return verdict


def not_judged(verdict: ClaimVerdict, unsteady: Sequence[VariantSteadiness]) -> ClaimVerdict:
    """The verdict on a claim about variants that are not steady: none, with the reason."""
    reasons = "; ".join([f"{one.variant.words} is {one.problems[0]}" for one in unsteady])
    return ClaimVerdict("is not judged", verdict.interval, f"{verdict.sentence}; {reasons}", None)


def judge_claim(claim: ExperimentClaim, interval: Interval) -> ClaimVerdict:
    """A claim holds if the whole interval is within its bounds, and does not hold if none of it is."""
    low, high, words = claim_bounds(claim)
    is_difference = claim.over is not None
    more = "the difference of " if is_difference else ""
    figure = interval_text(interval, claim.measure, difference=is_difference)
    sentence = f"{more}{claim.measure} is {figure}; the claim is {words}"
    if low <= interval.low and interval.high <= high:
        return ClaimVerdict("holds", interval, sentence, None)
    if interval.high < low or interval.low > high:
        return ClaimVerdict("does not hold", interval, sentence, None)
    near = min(abs(interval.value - bound) for bound in (low, high) if math.isfinite(bound))
    needed = None
    if interval.runs > 1 and near > 0.0 and math.isfinite(interval.deviation):
        needed = runs_needed(interval.deviation, near, interval.confidence)
    return ClaimVerdict("is undecided", interval, sentence, needed)


def claim_bounds(claim: ExperimentClaim) -> tuple[float, float, str]:
    """The bounds of a claim, and the bounds in words."""
    factor, unit = display_unit(claim.measure, difference=claim.over is not None)
    if claim.more_than is not None:
        return claim.more_than, math.inf, f"more than {factor * claim.more_than:g}{unit}"
    if claim.less_than is not None:
        return -math.inf, claim.less_than, f"less than {factor * claim.less_than:g}{unit}"
    equals, within = claim.equals or 0.0, claim.within or 0.0
    words = f"{factor * equals:g}{unit} within {factor * within:g}{unit}"
    return equals - within, equals + within, words
