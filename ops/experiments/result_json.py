"""Converts results to JSON, in the units of the measures."""

from ops.experiments.results import MeasureEstimate, Results, VariantDifference
from ops.experiments.seed_stopping_rule import BOOTSTRAP_MIN
from ops.experiments.steadiness import VariantSteadiness
from ops.lab.offered_load import is_crew
from ops.report.intervals import ReportFields, finite_or_none, interval_json
from services.totals.measures import MEASURES

TESTED_RUNS_MIN = 2


def results_json(results: Results) -> ReportFields:
    """Return the results as JSON, in the units of the measures."""
    experiment = results.planned.experiment
    not_steady = {one.variant for one in results.steadiness if not one.is_steady}
    is_quick = results.planned.is_quick
    return {
        "title": experiment.title,
        "question": experiment.question,
        "quick": results.planned.is_quick,
        "method": {
            "name": results.planned.method.name,
            "why": results.planned.method.why,
            "others": dict(results.planned.method.rejected),
            "kernel_with": list(results.planned.method.remedy),
        },
        "confidence": experiment.confidence,
        "seeds": results.seeds,
        "precise_enough": results.is_enough,
        "figures": [
            {
                "variant": one.variant.key,
                "parameters": dict(one.variant.values),
                "measure": one.measure,
                "unit": MEASURES[one.measure].unit,
                **interval_json(one.interval),
                "method": method_json(one),
                "batches": None
                if one.batches is None
                else {
                    "count": one.batches.count,
                    "windows": one.batches.length,
                    "correlation": one.batches.correlation,
                    "long_enough": one.batches.is_sound,
                },
                "controlled": None
                if one.controlled is None
                else {
                    **interval_json(one.controlled.interval),
                    "weight": one.controlled.weight,
                    "variance_saved": finite_or_none(one.controlled.saved),
                },
                "bootstrap": None if one.bootstrap is None else list(one.bootstrap),
                "seeds_needed": one.seeds_needed,
                "first_half": None if one.halves is None else one.halves[0],
                "second_half": None if one.halves is None else one.halves[1],
                "steady": None if is_quick else one.variant not in not_steady,
            }
            for one in results.figures
        ],
        "differences": [difference_json(one) for one in results.compared],
        "claim": None
        if results.verdict is None
        else {
            "verdict": results.verdict.word,
            **interval_json(results.verdict.interval),
            "sentence": results.verdict.sentence,
            "seeds_needed": results.verdict.seeds_needed,
        },
        "steady": experiment.steady,
        "steadiness": [steadiness_json(one, is_quick=is_quick) for one in results.steadiness],
        "convergence": [
            {
                "variant": one.variant.key,
                "measure": one.measure,
                "seeds": list(one.seeds),
                "half_widths": list(one.half_widths),
            }
            for one in results.convergence
        ],
        "failed": [{"variant": row.variant, "seed": row.seed, "error": row.error} for row in results.failed],
    }


def steadiness_json(one: VariantSteadiness, *, is_quick: bool = False) -> ReportFields:
    """Whether a variant is steady, its loads and its backlogs. `relaxation_days` is null where there is no
    relaxation time, `p` for a single seed, `steady` for a quick run, which is too short to be."""
    return {
        "variant": one.variant.key,
        "parameters": dict(one.variant.values),
        "steady": None if is_quick else one.is_steady,
        "problems": list(one.problems),
        "loads": [
            {
                "name": check.load.name,
                "load": finite_or_none(check.load.load),
                "servers": check.load.servers,
                "arrivals_per_day": check.load.arrivals_per_day,
                "work_days": check.load.work_days,
                "growth_per_day": check.load.growth_per_day,
                "relaxation_days": finite_or_none(check.load.relaxation_days)
                if is_crew(check.load)
                else None,
                "days": check.days,
                "problem": check.problem,
            }
            for check in one.loads
        ],
        "backlogs": [
            {
                "name": backlog.name,
                "start": backlog.start,
                "end": backlog.end,
                "growth_per_day": backlog.per_day,
                "p": None if backlog.runs < TESTED_RUNS_MIN else backlog.chance,
                "runs": backlog.runs,
                "tested": backlog.is_tested and not is_quick,
                "problem": backlog.problem,
            }
            for backlog in one.backlogs
        ],
    }


def method_json(one: MeasureEstimate) -> str:
    """Return the method that computed a figure's interval."""
    if one.batches is not None:
        return "batch means"
    if one.interval.runs == 1:
        return "exact" if one.interval.half_width == 0.0 else "none"
    is_resampled = MEASURES[one.measure].is_quantile and one.interval.runs >= BOOTSTRAP_MIN
    return "bootstrap" if is_resampled else "student"


def difference_json(one: VariantDifference) -> ReportFields:
    return {
        "variant": one.variant.key,
        "against": one.against.key,
        "measure": one.measure,
        **interval_json(one.interval),
        "paired": one.paired is not None,
        "correlation": None if one.paired is None else finite_or_none(one.paired.correlation),
        "variance_saved": None if one.paired is None else finite_or_none(one.paired.saved),
        "chance": one.chance,
        "seeds_needed": one.seeds_needed,
    }
