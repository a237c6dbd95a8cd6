"""Results of runs with known figures."""

import math
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ops.experiments.dataset import RunKey, RunRow
from ops.experiments.html_report import html_report
from ops.experiments.interval_text import interval_text
from ops.experiments.loader import PlannedExperiment, plan_experiment
from ops.experiments.result_json import results_json
from ops.experiments.result_text import answer_text
from ops.experiments.results import Results, judge_claim, results_of
from ops.experiments.schema import Experiment, ExperimentClaim
from ops.experiments.seed_stopping_rule import is_enough, seed_of, seed_rounds
from ops.experiments.sweep_result import SweepResult, partial_result
from shared.models.statistics.batch_means import batch_means
from shared.models.statistics.bootstrap import bca_interval
from shared.models.statistics.means import Interval, mean_interval
from shared.models.statistics.paired_runs import paired_difference

FEW, MANY = {"repairs.technicians": 1}, {"repairs.technicians": 4}


def as_json(results: Results) -> Any:
    return results_json(results)


def planned(**changed: object) -> PlannedExperiment:
    base: dict[str, object] = {
        "title": "Technicians",
        "question": "Do more <b>help</b>?",
        "fabric": {"days": 1.0},
        "measure": ("goodput", "queue_h_p95"),
        "vary": {"grid": {"repairs.technicians": [1, 4]}},
        "seeds": {"count": 30},
        "compare": {"against": FEW},
        "steady": False,
    }
    return plan_experiment(Experiment.model_validate(base | changed), Path())


def rows_of(
    plan: PlannedExperiment, apart: float = 0.05, scatter: float = 0.1, seeds: int = 30
) -> dict[RunKey, RunRow]:
    """Return runs whose goodput has most of its scatter in common."""
    drawn = np.random.default_rng(1)
    common, own = scatter * drawn.normal(size=seeds), 0.1 * scatter * drawn.normal(size=(2, seeds))
    rows = {}
    for place, variant in enumerate(plan.variants):
        for n in range(seeds):
            figures = {
                "goodput": 0.6 + common[n] + own[place, n] + apart * place,
                "queue_h_p95": 2.0 + own[place, n],
            }
            row = RunRow(variant.key, seed_of(plan, variant, n), figures, 10, "00", None)
            rows[row.key] = row
    return rows


def test_every_figure_has_the_interval_of_its_runs() -> None:
    plan = planned()
    rows = rows_of(plan)
    results = results_of(plan, SweepResult(rows, 30, is_enough=True))
    assert len(results.figures) == 4
    first = results.figures[0]
    expected = mean_interval([rows[plan.variants[0].key, n].figures["goodput"] or 0.0 for n in range(30)])
    assert (first.measure, first.interval) == ("goodput", expected)


def test_variants_are_compared_seed_by_seed() -> None:
    plan = planned()
    rows = rows_of(plan)
    difference = results_of(plan, SweepResult(rows, 30, is_enough=True)).compared[0]
    values = [[rows[v.key, n].figures["goodput"] or 0.0 for n in range(30)] for v in plan.variants]
    expected = paired_difference(values[1], values[0])
    assert difference.interval == expected.interval
    assert difference.paired is not None
    assert difference.paired.saved > 20
    assert 0.03 < difference.interval.low < 0.05 < difference.interval.high < 0.07
    assert difference.chance is not None
    assert difference.chance >= expected.chance, "it is corrected for several comparisons"


def test_without_common_seeds_they_are_two_samples() -> None:
    plan = planned(seeds={"count": 30, "common": False})
    seeds = {seed_of(plan, variant, n) for variant in plan.variants for n in range(30)}
    assert len(seeds) == 60
    difference = results_of(plan, SweepResult(rows_of(plan), 30, is_enough=True)).compared[0]
    assert difference.paired is None
    assert difference.interval.half_width > 0.04
    assert difference.seeds_needed is not None or difference.interval.low > 0


def test_runs_that_failed_count_nowhere_and_are_reported() -> None:
    plan = planned()
    rows = rows_of(plan)
    key = plan.variants[0].key, 3
    rows[key] = RunRow(*key, {"goodput": None, "queue_h_p95": None}, 0, "", "ValueError: odd")
    results = results_of(plan, SweepResult(rows, 30, is_enough=True))
    assert [row.error for row in results.failed] == ["ValueError: odd"]
    assert results.figures[0].interval.runs == 29
    assert results.compared[0].interval.runs == 29
    assert "ValueError: odd" in html_report(results, "lightwave experiment run x.yaml", "1+abc")


def test_seeds_are_enough_when_every_variant_is_precise() -> None:
    plan = planned(seeds={"least": 20, "most": 60}, stop_when={"goodput": {"half_width": 0.03}})
    assert seed_rounds(plan) == (20, 30, 45, 60)
    rows = rows_of(plan, scatter=0.2, seeds=60)
    assert not is_enough(plan, rows, 20)
    assert is_enough(plan, rows_of(plan, scatter=0.01), 20)
    results = results_of(plan, SweepResult(rows, 20, is_enough=False))
    needed = results.figures[0].seeds_needed
    assert needed is not None
    assert needed == pytest.approx((1.96 * results.figures[0].interval.deviation / 0.03) ** 2, rel=0.1)


def test_a_partial_result_counts_whole_rounds_of_seeds() -> None:
    plan = planned()
    rows = rows_of(plan)
    del rows[plan.variants[1].key, 12]
    assert partial_result(plan, rows).seeds == 12


def interval(low: float, high: float, deviation: float = 0.1) -> Interval:
    return Interval((low + high) / 2, low, high, 0.95, 20, deviation)


@pytest.mark.parametrize(
    ("claim", "low", "high", "word"),
    [
        ({"more_than": 0.5}, 0.51, 0.6, "holds"),
        ({"more_than": 0.5}, 0.4, 0.49, "does not hold"),
        ({"more_than": 0.5}, 0.4, 0.7, "is undecided"),
        ({"less_than": 0.5}, 0.4, 0.49, "holds"),
        ({"less_than": 0.5}, 0.51, 0.6, "does not hold"),
        ({"equals": 0.5, "within": 0.1}, 0.45, 0.55, "holds"),
        ({"equals": 0.5, "within": 0.1}, 0.45, 0.65, "is undecided"),
        ({"equals": 0.5, "within": 0.1}, 0.61, 0.65, "does not hold"),
    ],
)
def test_a_claim_holds_where_all_of_the_interval_is(
    claim: dict[str, float], low: float, high: float, word: str
) -> None:
    verdict = judge_claim(
        ExperimentClaim.model_validate({"measure": "goodput", **claim}), interval(low, high)
    )
    assert verdict.word == word
    assert (verdict.seeds_needed is not None) == (word == "is undecided")


def test_the_answer_is_one_sentence_and_the_page_needs_no_network() -> None:
    plan = planned(claim={"measure": "goodput", "of": MANY, "over": FEW, "more_than": 0.01})
    results = results_of(plan, SweepResult(rows_of(plan), 30, is_enough=True))
    assert answer_text(results) == (
        "The claim holds: the difference of goodput is 4.94 ± 0.53 points; the claim is more than 1 points; "
        "a figure of this day, which need not be steady."
    )
    equal = [replace(figure, interval=results.figures[0].interval) for figure in results.figures]
    calm = replace(results, verdict=None, figures=tuple(equal), steadiness=())
    assert answer_text(calm).startswith("goodput is the same with each variant, ")
    text = html_report(results, "lightwave experiment run x.yaml", "1+abc")
    assert "Do more &lt;b&gt;help&lt;/b&gt;?" in text
    assert "lightwave experiment run x.yaml" in text
    assert "1+abc" in text
    content = as_json(results)
    assert content["claim"]["verdict"] == "holds"
    assert [row["measure"] for row in content["figures"]] == ["goodput", "queue_h_p95"] * 2


@pytest.mark.parametrize(
    ("value", "half", "measure", "sentence"),
    [
        (0.7512345, 0.00432, "goodput", "75.12 ± 0.43 %"),
        (12.345, 3.21, "queue_h_p95", "12.3 ± 3.2"),
        (12_345.0, 321.0, "queue_h_p95", "12345 ± 321"),
        (0.0, 0.0, "slices_evicted_a_day", "0.0000 ± 0.0000"),
    ],
)
def test_figures_have_the_digits_of_their_intervals(
    value: float, half: float, measure: str, sentence: str
) -> None:
    assert interval_text(Interval(value, value - half, value + half, 0.95, 9, 1.0), measure) == sentence


def single_seed_plan(seed_count: int = 1) -> tuple[PlannedExperiment, dict[RunKey, RunRow]]:
    plan = planned(seeds={"count": seed_count})
    return plan, rows_of(plan, seeds=seed_count)


def course(variant: str, _seed: int) -> dict[str, list[float]]:
    """Return the courses of two runs with common variation."""
    drawn = np.random.default_rng(7).normal(size=(2, 400))
    more = 0.05 if variant == planned().variants[1].key else 0.0
    own = np.random.default_rng(8).normal(size=400) * more
    return {"goodput": list(map(float, 0.6 + 0.1 * drawn[0] + more + 0.1 * own))}


def test_a_figure_of_one_run_has_the_interval_of_its_course() -> None:
    plan, rows = single_seed_plan()
    results = results_of(plan, SweepResult(rows, 1, is_enough=True), course)
    first, queue = results.figures[:2]
    expected = batch_means(course(plan.variants[0].key, 0)["goodput"])
    assert first.interval.value == rows[plan.variants[0].key, 0].figures["goodput"]
    assert first.interval.half_width == pytest.approx(expected.interval.half_width)
    assert first.batches == expected
    assert (as_json(results)["figures"][0]["method"], as_json(results)["figures"][1]["method"]) == (
        "batch means",
        "none",
    )
    assert not math.isfinite(queue.interval.half_width)
    assert "no interval" in interval_text(queue.interval, queue.measure)
    assert f"{expected.count} batches of {expected.length} windows" in html_report(results, "x", "1+abc")


def test_two_single_runs_are_compared_by_their_courses() -> None:
    plan, rows = single_seed_plan()
    difference = results_of(plan, SweepResult(rows, 1, is_enough=True), course).compared[0]
    half = results_of(plan, SweepResult(rows, 1, is_enough=True), course).figures[0].interval.half_width
    assert 0.0 < difference.interval.half_width < 0.2 * half, "their common variation cancels"
    assert difference.chance < 0.01
    without = results_of(plan, SweepResult(rows, 1, is_enough=True)).compared[0]
    assert not math.isfinite(without.interval.half_width)
    assert without.chance == 1.0


def test_a_short_course_has_no_interval() -> None:
    plan, rows = single_seed_plan()
    results = results_of(plan, SweepResult(rows, 1, is_enough=True), lambda *_: {"goodput": [0.5] * 19})
    assert not math.isfinite(results.figures[0].interval.half_width)


def test_quantiles_have_the_bounds_of_the_bootstrap_from_20_runs_on() -> None:
    waits = [float(x) for x in np.random.default_rng(2).lognormal(0.0, 1.5, size=30)]
    for seeds, method in ((30, "bootstrap"), (19, "student")):
        plan = planned(seeds={"count": seeds}, measure=("queue_h_p95",))
        rows = {
            (variant.key, n): RunRow(variant.key, n, {"queue_h_p95": waits[n]}, 1, "", None)
            for variant in plan.variants
            for n in range(seeds)
        }
        results = results_of(plan, SweepResult(rows, seeds, is_enough=True))
        figure = results.figures[0]
        assert as_json(results)["figures"][0]["method"] == method
        bounds = bca_interval(waits[:seeds])
        assert ((figure.interval.low, figure.interval.high) == bounds) == (method == "bootstrap")
        assert ("(" in interval_text(figure.interval, "queue_h_p95")) == (method == "bootstrap")
        assert (figure.bootstrap is None) == (method == "bootstrap")


class ExternalReferences(HTMLParser):
    """Collects the references of a page to other files."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.scripts = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        self.found += [
            f"{tag} {name}"
            for name, value in attrs
            if name in ("src", "href", "data", "srcset", "action", "poster")
            or (name == "style" and "url(" in (value or ""))
        ]
        self.found += [tag] if tag in ("link", "iframe", "base", "object", "embed", "img") else []


def test_a_page_refers_to_nothing_outside_of_it() -> None:
    plan = planned(claim={"measure": "goodput", "of": MANY, "over": FEW, "more_than": 0.01})
    text = html_report(results_of(plan, SweepResult(rows_of(plan), 30, is_enough=True)), "repeat me", "1+abc")
    outside = ExternalReferences()
    outside.feed(text)
    assert outside.found == []
    assert "@import" not in text.partition("</style>")[0]
    assert outside.scripts == 1 + 2 + 1, "plotly itself, one chart per measure, and the convergence"
    after = text.rpartition("</script>")[2]
    for part in ("repeat me", "warm_up_days: 0.0", "1+abc", "<h2>Parameters</h2>", "Against"):
        assert part in after


def test_the_convergence_of_intervals_is_reported() -> None:
    plan = planned()
    results = results_of(plan, SweepResult(rows_of(plan), 30, is_enough=True))
    (first, _) = results.convergence
    assert first.seeds == tuple(range(3, 31))
    assert first.half_widths[-1] == results.figures[0].interval.half_width
    assert first.half_widths[-1] < first.half_widths[0]


def controlled(mean: float) -> tuple[Results, dict[RunKey, RunRow]]:
    """Return results whose goodput depends on the availability of cubes, whose mean is 0.9."""
    plan = planned(
        measure=("goodput", "cube_availability"),
        controls={"goodput": {"by": "cube_availability", "mean": mean}},
    )
    drawn = np.random.default_rng(3).normal(size=(3, 30))
    rows = {
        (variant.key, n): RunRow(
            variant.key,
            n,
            {
                "goodput": 0.5 + 0.1 * drawn[0, n] + 0.02 * drawn[place + 1, n],
                "cube_availability": 0.9 + 0.05 * drawn[0, n],
            },
            1,
            "",
            None,
        )
        for place, variant in enumerate(plan.variants)
        for n in range(30)
    }
    return results_of(plan, SweepResult(rows, 30, is_enough=True)), rows


def test_a_control_variate_makes_a_measure_more_precise() -> None:
    results, _ = controlled(0.9)
    first = results.figures[0]
    assert first.controlled is not None
    assert first.controlled.saved > 10
    assert first.controlled.interval.low < 0.5 < first.controlled.interval.high
    assert as_json(results)["figures"][0]["controlled"]["variance_saved"] == first.controlled.saved
    assert as_json(results)["figures"][1]["controlled"] is None
    assert "with its control variate, worth" in html_report(results, "x", "1+abc")


def test_a_control_mean_that_contradicts_the_runs_is_ignored() -> None:
    results, _ = controlled(0.8)
    assert results.figures[0].controlled is None


@pytest.mark.parametrize("runs", [10, 20, 60])
def test_the_bootstrap_is_reported_only_for_non_normal_runs(runs: int) -> None:
    def bootstrap_share(draw: str) -> float:
        """Return the share of 60 experiments with a bootstrap interval."""
        drawn = np.random.default_rng(runs)
        values = drawn.normal(size=(60, runs)) if draw == "normal" else drawn.lognormal(0.0, 1.5, (60, runs))
        count = 0
        for row in values:
            plan = planned(seeds={"count": runs}, vary={}, compare=None, measure=("goodput",))
            key = plan.variants[0].key
            rows = {
                (key, n): RunRow(key, n, {"goodput": float(value)}, 1, "", None)
                for n, value in enumerate(row)
            }
            count += (
                results_of(plan, SweepResult(rows, runs, is_enough=True)).figures[0].bootstrap is not None
            )
        return count / 60

    assert bootstrap_share("normal") < 0.35
    assert bootstrap_share("lognormal") > 0.7
