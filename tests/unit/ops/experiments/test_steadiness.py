"""The steady-state guard: what is not steady is never a claim that holds, in table, JSON, page and answer."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from click.testing import CliRunner

from ops.cli.main import root
from ops.experiments import comparison, steadiness
from ops.experiments.comparison import compare_within, read_stored
from ops.experiments.dataset import RunKey, RunRow, open_dataset
from ops.experiments.html_report import html_report
from ops.experiments.library import FOLDER, TEMPLATE, ready
from ops.experiments.loader import (
    PlannedExperiment,
    parse_experiment,
    plan_experiment,
    quick_version,
    read_experiment,
)
from ops.experiments.result_json import results_json
from ops.experiments.result_text import (
    answer_text,
    backlog_rows,
    difference_note,
    estimate_note,
    load_rows,
)
from ops.experiments.results import Results, results_of
from ops.experiments.schema import Experiment
from ops.experiments.steadiness import BacklogGrowth, backlog_growths, load_checks, steadiness_before
from ops.experiments.sweep import run_sweep
from ops.experiments.sweep_result import SweepResult
from ops.experiments.variants import Variant, single_variant
from ops.lab.backlog import SAMPLES, measured_from
from ops.lab.offered_load import LoadCheck
from ops.sites.yaml_reader import read_yaml_lines
from schemas.limits import TRACE_ROWS_MAX

SEEDS = 8
BUSY, CALM = {"repairs.technicians": 1}, {"repairs.technicians": 8}
OVERLOADED = {"failures.host_per_day": 0.002}
FIGURE = 0.75


def planned(days: float = 365.0, values: Any = OVERLOADED, **more: Any) -> PlannedExperiment:
    base = {
        "title": "t",
        "question": "q",
        "fabric": {"days": days, "set": values},
        "vary": {"repairs.technicians": [1, 8]},
        "seeds": SEEDS,
        "measure": ["cube_availability", "goodput"],
        "compare": {"against": CALM},
    }
    return plan_experiment(parse_experiment(base | more), Path())


def results(plan: PlannedExperiment, growing: bool = False, samples: bool = True) -> Results:
    """Runs with known figures; backlogs that grow in the first variant, if requested."""
    rng, rows = np.random.default_rng(1), dict[RunKey, RunRow]()
    for place, variant in enumerate(plan.variants):
        for seed in range(SEEDS):
            more = np.arange(SAMPLES + 1) if growing and place == 0 else np.zeros(SAMPLES + 1)
            backlog = tuple(map(float, 3 + more + rng.normal(size=SAMPLES + 1)))
            figures = dict.fromkeys(plan.experiment.measure, FIGURE + 0.001 * rng.normal())
            halves = dict.fromkeys(figures, (0.7, 0.8))
            backlogs = {"open_repairs": backlog, "queued_slices": backlog[::-1] if not growing else backlog}
            known = (halves, backlogs) if samples else ({}, {})
            row = RunRow(variant.key, seed, figures, 1, "00", None, *known)
            rows[row.key] = row
    return results_of(plan, SweepResult(rows, SEEDS, is_enough=True))


CLAIMS: tuple[dict[str, Any], ...] = (
    {"of": BUSY, "more_than": 0.5},
    {"of": BUSY, "less_than": 0.5},
    {"of": BUSY, "equals": FIGURE, "within": 0.1},
    {"of": BUSY, "over": CALM, "less_than": 1.0},
    {"of": CALM, "over": BUSY, "equals": 0.0, "within": 0.5},
    {"of": CALM, "over": BUSY, "more_than": 0.3},
)


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize("days", [60.0, 365.0, 36_500.0])
def test_a_claim_about_an_overloaded_variant_is_not_judged(claim: dict[str, Any], days: float) -> None:
    plan = planned(days, claim={"measure": "cube_availability", **claim}, store={"series": False})
    found = results(plan)
    assert found.verdict is not None
    assert found.verdict.word == "is not judged"
    assert found.verdict.seeds_needed is None
    for text in (answer_text(found), html_report(found, "c", "1"), json.dumps(results_json(found))):
        assert "claim holds" not in text
        assert '"holds"' not in answer_text(found) + json.dumps(results_json(found))
        assert "load 2.11, so the backlog grows by 1.1 repairs a day" in text
        assert f"this is a figure of its {days:g} days" in text


@pytest.mark.parametrize(
    ("values", "days", "word"),
    [
        ({}, 365.0, "not yet steady"),
        ({"failures.host_per_day": 0.0001}, 365.0, ""),
        ({"failures.host_per_day": 0.0001}, 5.0, "not yet steady"),
        ({"failures.host_per_day": 0.0001, "workload.offered_load": 1.2}, 365.0, "not steady"),
        ({"failures.host_per_day": 0.0001, "workload.slices_per_day": 1_000.0}, 365.0, "not steady"),
        ({"failures.host_per_day": 0.0001, "repairs.off_hours_technicians": 0}, 365.0, "not yet steady"),
        ({"failures.host_per_day": 0.0001, "repairs.host_spares": 1}, 365.0, "not steady"),
        ({"failures.ocs_per_day": 0.02}, 365.0, "not steady"),
        ({"failures.link_per_day": 0.002}, 365.0, "not steady"),
        ({"failures.enabled": False}, 0.5, ""),
    ],
)
def test_steady_is_what_has_little_load_and_many_days(values: Any, days: float, word: str) -> None:
    claim = {"measure": "cube_availability", "of": BUSY, "more_than": 0.5}
    found = results(planned(days, values, claim=claim))
    assert found.verdict is not None
    assert found.verdict.word == ("is not judged" if word else "holds")
    assert (word or "The claim holds") in answer_text(found)
    busy = next(one for one in found.figures if dict(one.variant.values) == BUSY)
    assert estimate_note(busy, found).split(";")[0] == word


def test_a_backlog_that_grows_is_found_whatever_the_load_says() -> None:
    claim = {"measure": "cube_availability", "of": BUSY, "more_than": 0.5}
    plan = planned(365.0, {"failures.host_per_day": 0.0001}, claim=claim)
    steady, grown = results(plan), results(plan, growing=True)
    assert [one.is_steady for one in steady.steadiness] == [True, True]
    assert [one.is_steady for one in grown.steadiness] == [False, True]
    assert grown.verdict is not None
    assert grown.verdict.word == "is not judged"
    assert "not steady: repairs in progress or waiting went from" in answer_text(grown)
    assert "slices that wait, without filler" in "".join(grown.steadiness[0].problems)
    content: Any = results_json(grown)
    backlog = content["steadiness"][0]["backlogs"][0]
    assert (backlog["start"], backlog["end"]) == pytest.approx((3.0, 43.0), abs=1.0)
    assert backlog["growth_per_day"] == pytest.approx(SAMPLES / 365.0, rel=0.05)
    assert backlog["p"] < 0.01


def test_other_variants_do_not_change_the_verdict_but_are_marked() -> None:
    claim = {"measure": "goodput", "of": CALM, "more_than": 0.5}
    found = results(planned(claim=claim))
    assert found.verdict is not None
    assert found.verdict.word == "holds"
    notes = [estimate_note(one, found) for one in found.figures]
    assert notes == ["not steady", "not steady", "", ""]
    assert difference_note(found.compared[0], found).startswith("not steady")
    content: Any = results_json(found)
    assert [row["steady"] for row in content["figures"]] == [False, False, True, True]


def test_without_a_claim_the_answer_says_what_is_not_steady() -> None:
    assert "But repairs.technicians 1 is not steady: technicians: load 2.11" in answer_text(
        results(planned())
    )


def test_a_study_of_overload_is_judged_for_its_days() -> None:
    claim = {"measure": "goodput", "of": BUSY, "more_than": 0.5}
    found = results(planned(60.0, claim=claim, steady=False))
    assert answer_text(found) == (
        f"The claim holds: {found.verdict.sentence}." if found.verdict is not None else ""
    )
    assert "a figure of these 60 days, which need not be steady" in answer_text(found)
    assert "study of overload" in html_report(found, "c", "1")
    content: Any = results_json(found)
    assert (content["steady"], content["steadiness"][0]["steady"]) == (False, False)


@pytest.mark.parametrize("steady", [True, False])
def test_both_halves_are_always_shown(steady: bool) -> None:
    found = results(planned(steady=steady))
    content: Any = results_json(found)
    assert {(row["first_half"], row["second_half"]) for row in content["figures"]} == {(0.7, 0.8)}
    text = html_report(found, "c", "1")
    assert "<th>first half</th><th>second half</th>" in text
    assert ">70 %<" in text


def test_runs_of_other_builds_have_no_halves_and_no_backlogs() -> None:
    found = results(planned(values={"failures.host_per_day": 0.0001}), samples=False)
    content: Any = results_json(found)
    assert content["figures"][0]["first_half"] is None
    assert content["steadiness"][0]["backlogs"] == []
    assert found.steadiness[0].is_steady


def test_a_quick_run_is_not_blamed_for_being_short() -> None:
    found = results(quick_version(planned(365.0)))
    assert not found.unsteady
    assert "steady" not in answer_text(found)


def test_a_quick_run_is_tested_nowhere() -> None:
    found = results(quick_version(planned(365.0)), growing=True)
    content: Any = results_json(found)
    assert {row["steady"] for row in [*content["figures"], *content["steadiness"]]} == {None}
    assert {row["tested"] for one in content["steadiness"] for row in one["backlogs"]} == {False}
    rows = [*backlog_rows(found.steadiness, is_quick=True), *load_rows(found.steadiness, is_quick=True)]
    assert {row[-1] for row in rows} == {"not tested"}


def test_the_word_of_a_backlog_is_its_own() -> None:
    """A variant with too much load may have a backlog that does not grow."""
    assert {row[-1] for row in backlog_rows(results(planned()).steadiness)} == {"yes"}
    assert [row[-1] for row in backlog_rows(results(planned(), growing=True).steadiness)] == [
        *("not steady", "not steady"),
        *("yes", "yes"),
    ]


def backlog(samples: list[npt.NDArray[np.float64]]) -> BacklogGrowth:
    rows = [
        RunRow("v", seed, {}, 1, "00", None, {}, {"queued_slices": tuple(map(float, one))})
        for seed, one in enumerate(samples)
    ]
    (found,) = backlog_growths(planned(20.0).experiment, rows)
    return found


LATE, RAMP = (np.arange(SAMPLES + 1) >= 39).astype(float), np.arange(SAMPLES + 1) / 2.0


@pytest.mark.parametrize(
    ("samples", "word"),
    [
        ([LATE] * 2, "not tested"),  # one job at the end, the same in all seeds: not growth
        ([LATE] * 8, "not tested"),
        ([RAMP] * 2, "not steady"),
        ([RAMP] * 8, "not steady"),
        ([0.0 * RAMP] * 3, "not tested"),
        ([0.0 * RAMP] * 4, "yes"),
        ([RAMP], "not tested"),
        ([RAMP, 1.4 * RAMP], "not tested"),
        ([RAMP, 1.001 * RAMP], "not steady"),
        ([LATE, 0.0 * RAMP, 0.0 * RAMP, 0.0 * RAMP], "yes"),
    ],
)
def test_few_seeds_or_equal_ones_test_nothing(samples: list[npt.NDArray[np.float64]], word: str) -> None:
    assert backlog(samples).word == word


def test_a_claim_about_untested_backlogs_says_so() -> None:
    claim = {"measure": "goodput", "of": CALM, "more_than": 0.5}
    plan = planned(claim=claim, seeds=3)
    rows = {
        (variant.key, seed): RunRow(
            variant.key,
            seed,
            dict.fromkeys(plan.experiment.measure, FIGURE + 0.001 * seed),
            1,
            "00",
            None,
            {},
            {"open_repairs": tuple(3.0 + np.random.default_rng(seed).normal(size=SAMPLES + 1))},
        )
        for variant in plan.variants
        for seed in range(3)
    }
    found = results_of(plan, SweepResult(rows, 3, is_enough=True))
    assert answer_text(found).startswith("The claim holds")
    assert "backlogs is not tested: that needs 4 seeds" in answer_text(found)


def test_a_change_during_the_run_counts() -> None:
    change = {"at": "20d", "set": {"failures.host_per_day": 0.02}}
    fabric = {"days": 365.0, "set": {"failures.host_per_day": 0.0001}}
    before, after = planned(fabric=fabric), planned(fabric=fabric | {"changes": [change]})
    assert [one.is_steady for one in steadiness_before(before)] == [True, True]
    assert [one.is_steady for one in steadiness_before(after)] == [False, False]


@pytest.mark.parametrize(
    ("at", "before", "after", "steady"),
    [
        ("1h", 0.02, 0.0001, True),  # an early overload is soon forgotten
        ("364d23h", 0.0001, 0.02, True),  # and a late one short
        ("200d", 0.0001, 0.02, False),
        ("200d", 0.02, 0.0001, False),
        ("200d", 0.0001, 0.0002, True),
    ],
)
def test_a_change_counts_for_the_time_that_it_acts(
    at: str, before: float, after: float, steady: bool
) -> None:
    change = {"at": at, "set": {"failures.host_per_day": after}}
    fabric = {"days": 365.0, "set": {"failures.host_per_day": before}, "changes": [change]}
    plan = planned(fabric=fabric, vary={"repairs.technicians": [8]}, compare=None)
    assert [one.is_steady for one in steadiness_before(plan)] == [steady]


def test_all_rows_of_a_long_trace_are_the_load(tmp_path: Path) -> None:
    rows = [f"{100 * n},86400,4096" for n in range(TRACE_ROWS_MAX + 500)]
    (tmp_path / "long.csv").write_text("\n".join(["submit_s,duration_s,chips", *rows]))
    document = {
        "title": "t",
        "question": "q",
        "fabric": {"days": 20.0, "set": {"failures.enabled": False}, "trace": "long.csv"},
        "seeds": 2,
        "measure": ["goodput"],
    }
    (found,) = steadiness_before(plan_experiment(parse_experiment(document), tmp_path))
    ends = [min(86_400, 20 * 86_400 - 100 * n) for n in range(len(rows)) if 100 * n <= 20 * 86_400]
    load = next(one.load for one in found.loads if one.load.name == "scheduler")
    assert load.load == pytest.approx(sum(ends) / 86_400 / 20)


@pytest.mark.parametrize(
    ("warm_up_days", "days", "first"), [(0, 100, 4), (10, 90, 0), (5, 95, 2), (100, 10, 0), (0, 1, 4)]
)
def test_growth_is_measured_behind_the_first_tenth(warm_up_days: float, days: float, first: int) -> None:
    assert measured_from(warm_up_days, days) == first


def test_every_ready_experiment_is_steady_or_says_that_it_is_not() -> None:
    for name, _ in ready():
        plan = read_experiment(FOLDER / f"{name}.yaml")
        unsteady = [one for one in steadiness_before(plan) if not one.is_steady]
        assert bool(unsteady) is not plan.experiment.steady, (name, [one.problems for one in unsteady])


def test_the_template_is_steady(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(TEMPLATE)
    assert all(one.is_steady for one in steadiness_before(read_experiment(path)))


H7 = """\
title: H7
question: Are more technicians worth it?
fabric:
  days: 60
  set: {failures.host_per_day: 0.002, failures.optics_per_day: 0, failures.stray_per_day: 0}
vary: {repairs.technicians: [1, 8]}
seeds: 4
measure: [cube_availability]
claim: {measure: cube_availability, of: {repairs.technicians: 1}, more_than: 0.1}
store: {series: false}
"""


@pytest.mark.integration
def test_from_document_to_report(tmp_path: Path) -> None:
    """The commands, with the kernel: validate, run, compare and report say it."""
    path = tmp_path / "h7.yaml"
    path.write_text(H7)
    shown = CliRunner().invoke(root, ["experiment", "validate", str(path)])
    assert "not steady: technicians: load 2.11" in shown.output
    assert "steady: false" in shown.output
    folder = tmp_path / "h7.results"
    ran = CliRunner().invoke(root, ["experiment", "run", str(path), "--out", str(folder)])
    assert ran.exit_code == 0, ran.output
    assert "The claim is not judged" in ran.output
    assert "SECOND-HALF" in ran.output
    assert "repairs in progress or waiting" in ran.output
    stored = read_stored(folder)
    slow = single_variant(stored.variants, {**BUSY}, "of")
    assert not stored.steadiness(slow).is_steady
    (contrast,) = compare_within(stored, ["repairs.technicians=8"]).contrasts
    assert contrast.steadiness == "not steady"
    content, _ = read_yaml_lines(folder / "experiment.yaml")
    assert isinstance(content, dict)
    assert content["steady"] is True
    planned = read_experiment(path)
    with open_dataset(folder, planned, str(stored.identity["software"]), resume=True) as dataset:
        again = results_of(planned, run_sweep(planned, dataset))
    grown = again.steadiness[0].backlogs[0]
    assert grown.end - grown.start > 30
    first, second = again.figures[0].halves or (0.0, 0.0)
    assert first > again.figures[0].interval.value > second


@pytest.mark.integration
@pytest.mark.parametrize("is_overload", [False, True])
def test_a_study_of_overload_shows_what_is_not_steady_but_does_not_warn(
    tmp_path: Path, *, is_overload: bool
) -> None:
    """Both halves, the loads and the growth are in its table, JSON and page, as for any other document."""
    path, folder, page = tmp_path / "h7.yaml", tmp_path / "h7.results", tmp_path / "h7.html"
    path.write_text(H7 + "steady: false\n" * is_overload)
    words = ["experiment", "run", str(path), "--out", str(folder), "--html", str(page)]
    ran = CliRunner().invoke(root, words)
    assert ran.exit_code == 0, ran.output
    problem = "repairs.technicians 1: not steady: technicians: load 2.11"
    assert ("not steady" in ran.stderr, problem in ran.stderr) == (not is_overload, not is_overload)
    for shown in (ran.stdout, page.read_text()):
        assert all(text in shown.upper() for text in ("FIRST", "SECOND", "REPAIRS IN PROGRESS OR WAITING"))
        assert problem in shown
    report = CliRunner().invoke(root, ["experiment", "report", str(path), "--out", str(folder), "-o", "json"])
    assert "not steady" not in report.stderr
    content = json.loads(report.stdout)
    slow = content["figures"][0]
    assert (content["steady"], slow["steady"]) == (not is_overload, False)
    assert slow["first_half"] > slow["second_half"]
    assert content["steadiness"][0]["problems"]
    verdict = content["claim"]["verdict"]
    assert (verdict == "is not judged") is not is_overload


@pytest.mark.integration
def test_each_command_computes_the_loads_of_a_variant_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With thousands of variants, the loads take as long as the runs of the kernel."""
    path, folder = tmp_path / "h7.yaml", tmp_path / "h7.results"
    path.write_text(H7)
    checked: list[Variant] = []

    def counted(experiment: Experiment, variant: Variant, at: Path) -> tuple[LoadCheck, ...]:
        checked.append(variant)
        return load_checks(experiment, variant, at)

    for module in (steadiness, comparison):
        monkeypatch.setattr(module, "load_checks", counted)
    commands = (
        ("run", str(path), "--out", str(folder)),
        ("run", str(path), "--out", str(tmp_path / "quick"), "--quick"),
        ("report", str(path), "--out", str(folder)),
        ("compare", str(folder), "--against", "repairs.technicians=8"),
        ("validate", str(path)),
        ("plan", str(path)),
    )
    expected = Counter(read_experiment(path).variants)
    for command in commands:
        checked.clear()
        ran = CliRunner().invoke(root, ["experiment", *command])
        assert ran.exit_code == 0, ran.output
        assert Counter(checked) == expected, command
