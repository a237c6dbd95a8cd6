"""Results of an experiment as sentences: the answer, and notes on estimates and differences."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ops.experiments.interval_text import NO_INTERVAL, display_unit, interval_text
from ops.experiments.steadiness import VariantSteadiness
from ops.lab.backlog import BACKLOGS
from ops.lab.offered_load import LoadCheck, is_crew
from ops.report.tables import count_text

if TYPE_CHECKING:
    from ops.experiments.results import MeasureEstimate, Results, VariantDifference

PROBLEMS_MAX = 5
"""Lines of problems that are shown."""
NOT_TESTED = "not tested"
LOAD_HEADERS = ("VARIANT", "OF", "LOAD", "RELAXATION", "STEADY")
BACKLOG_HEADERS = ("VARIANT", "BACKLOG", "START", "END", "A-DAY", "P", "STEADY")


def answer_text(results: "Results") -> str:
    """Return the answer to the question in a sentence. For a quick run, the sentence states that it answers
    nothing."""
    sentence = _answer(results)
    if results.planned.is_quick:
        return f"A quick run only shows that the experiment works; it answers nothing. {sentence}"
    return sentence


def _answer(results: "Results") -> str:
    verdict = results.verdict
    if verdict is not None:
        more = f"; about {verdict.seeds_needed:,} seeds decide it" if verdict.seeds_needed is not None else ""
        return f"The claim {verdict.word}: {verdict.sentence}{more}."
    figures = results.figures
    if not figures:
        return "No run measured anything."
    return _extremes(results) + _not_steady(results)


def _extremes(results: "Results") -> str:
    """The lowest and the highest figure of the first measure."""
    figures = results.figures
    name = results.planned.experiment.measure[0]
    chosen = [one for one in figures if one.measure == name]
    if len(chosen) == 1:
        return f"{name} is {interval_text(chosen[0].interval, name)}."
    least, most = (fold(chosen, key=lambda one: one.interval.value) for fold in (min, max))
    if least.interval.value == most.interval.value:
        return f"{name} is the same with each variant, {interval_text(least.interval, name)}."
    return (
        f"{name} is lowest with {least.variant.words}, {interval_text(least.interval, name)}, "
        f"and highest with {most.variant.words}, {interval_text(most.interval, name)}."
    )


def _not_steady(results: "Results") -> str:
    """A sentence on the variants that are not steady, whose figures answer nothing in general."""
    unsteady = [*results.unsteady.values()]
    if not unsteady:
        return ""
    more = f", and {count_text(len(unsteady) - 1, 'more variant')}" if len(unsteady) > 1 else ""
    return f" But {unsteady[0].variant.words} is {unsteady[0].problems[0]}{more}."


def steadiness_lines(steadiness: Sequence[VariantSteadiness], most: int = PROBLEMS_MAX) -> list[str]:
    """What is not steady, a line a variant; each problem once, with the first variant that has it."""
    lines, known = list[str](), set[str]()
    for one in steadiness:
        fresh = [problem for problem in one.problems if problem not in known]
        known.update(fresh)
        if fresh:
            lines.append(f"{one.variant.words}: {'; '.join(fresh)}")
    left = len(lines) - most
    return [*lines[:most], *([f"and {count_text(left, 'more variant')}"] if left > 0 else [])]


def load_rows(steadiness: Sequence[VariantSteadiness], *, is_quick: bool = False) -> list[list[object]]:
    """A row for each load that differs from those of the variants before: LOAD_HEADERS. A quick run, which is
    too short for a steady state, is not tested."""
    rows: list[list[object]] = []
    known: set[LoadCheck] = set()
    for one in steadiness:
        for check in one.loads:
            if check in known:
                continue
            known.add(check)
            load = check.load
            problem = check.problem
            relaxation = f"{load.relaxation_days:.3g} d" if is_crew(load) and not load.is_overloaded else "-"
            steady = "yes" if problem is None else problem.split(":")[0]
            if is_quick:
                steady = NOT_TESTED
            rows.append([one.variant.words, load.name, f"{load.load:.3f}", relaxation, steady])
    return rows


def backlog_rows(steadiness: Sequence[VariantSteadiness], *, is_quick: bool = False) -> list[list[object]]:
    """A row for each variant and backlog: BACKLOG_HEADERS. A quick run is not tested."""
    return [
        [
            *(one.variant.words, BACKLOGS[backlog.name], f"{backlog.start:.3g}", f"{backlog.end:.3g}"),
            f"{backlog.per_day:+.2g}",
            "-" if backlog.runs < 2 else f"{backlog.chance:.2g}",
            NOT_TESTED if is_quick else backlog.word,
        ]
        for one in steadiness
        for backlog in one.backlogs
    ]


def halves_text(one: "MeasureEstimate") -> tuple[str, str]:
    """The figure in both halves of the runs, `-` if it is not known."""
    if one.halves is None:
        return "-", "-"
    factor, unit = display_unit(one.measure, difference=False)
    first, second = (f"{factor * value:.4g}{unit}" for value in one.halves)
    return first, second


def estimate_note(one: "MeasureEstimate", results: "Results | None" = None) -> str:
    """Notes on an estimate; with the results that it is of, also whether its variant is steady."""
    notes = []
    if results is not None and (unsteady := results.unsteady.get(one.variant)) is not None:
        notes.append(unsteady.word)
    if not math.isfinite(one.interval.half_width):
        notes.append(NO_INTERVAL)
    if one.batches is not None:
        short = "" if one.batches.is_sound else ", which are still correlated because the run is too short"
        windows = f"{one.batches.count} batches of {one.batches.length} windows"
        notes.append(f"from one run, by the means of {windows}{short}")
    if one.bootstrap is not None:
        notes.append(
            f"runs are far from normal: {one.bootstrap[0]:.5g} to {one.bootstrap[1]:.5g} by bootstrap"
        )
    if one.controlled is not None:
        interval = interval_text(one.controlled.interval, one.measure)
        notes.append(f"{interval} with its control variate, worth {one.controlled.saved:,.1f} times the runs")
    if one.seeds_needed is not None:
        notes.append(f"the requested precision needs about {count_text(one.seeds_needed, 'seed')}")
    return "; ".join(notes)


def difference_note(one: "VariantDifference", results: "Results | None" = None) -> str:
    """Notes on a difference: significance, and the gain of common seeds; with the results that it is of, also
    whether both variants are steady."""
    notes = []
    if results is not None:
        unsteady = [results.unsteady[v] for v in (one.variant, one.against) if v in results.unsteady]
        if unsteady:
            notes.append(max([found.word for found in unsteady], key="not steady".__eq__))
    if not math.isfinite(one.interval.half_width):
        notes.append(NO_INTERVAL)
    if one.interval.low == one.interval.value == one.interval.high == 0.0:
        notes.append("the same in every run")
    if one.seeds_needed is not None:
        notes.append(f"not significant yet; needs about {count_text(one.seeds_needed, 'seed')}")
    if one.paired is not None and math.isfinite(one.paired.saved) and math.isfinite(one.paired.correlation):
        notes.append(
            f"correlation {one.paired.correlation:.2f}; common seeds are worth {one.paired.saved:,.1f} times "
            "the runs"
        )
    return "; ".join(notes)
