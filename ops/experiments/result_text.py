"""Results of an experiment as sentences: the answer, and notes on estimates and differences."""

import math

from ops.experiments.interval_text import interval_text
from ops.experiments.results import MeasureEstimate, Results, VariantDifference


def answer_text(results: Results) -> str:
    """Return the answer to the question in a sentence. For a quick run, the sentence states that it answers
    nothing."""
    sentence = _answer(results)
    if results.planned.is_quick:
        return f"A quick run only shows that the experiment works; it answers nothing. {sentence}"
    return sentence


def _answer(results: Results) -> str:
    verdict = results.verdict
    if verdict is not None:
        more = f"; about {verdict.seeds_needed:,} seeds decide it" if verdict.seeds_needed is not None else ""
        return f"The claim {verdict.word}: {verdict.sentence}{more}."
    figures = results.figures
    if not figures:
        return "No run measured anything."
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


def estimate_note(one: MeasureEstimate) -> str:
    """Return notes on an estimate."""
    notes = []
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
        notes.append(f"the requested precision needs about {one.seeds_needed:,} seeds")
    return "; ".join(notes)


def difference_note(one: VariantDifference) -> str:
    """Return notes on a difference: significance, and the gain of common seeds."""
    notes = []
    if one.interval.low == one.interval.value == one.interval.high == 0.0:
        notes.append("the same in every run")
    if one.seeds_needed is not None:
        notes.append(f"not significant yet; needs about {one.seeds_needed:,} seeds")
    if one.paired is not None and math.isfinite(one.paired.saved) and math.isfinite(one.paired.correlation):
        notes.append(
            f"correlation {one.paired.correlation:.2f}; common seeds are worth {one.paired.saved:,.1f} times "
            "the runs"
        )
    return "; ".join(notes)
