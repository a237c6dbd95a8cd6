"""Scores as tables and as JSON."""

from collections.abc import Sequence

from ops.drills.lab_runs import LabScore, intervals, shares
from ops.drills.score.figures import CATEGORIES, DrillScore
from ops.report.intervals import ReportFields, interval_json
from ops.report.tables import text_table
from shared.basics.json_types import JsonObject


def score_json(score: DrillScore) -> JsonObject:
    """The score of a drill as JSON."""
    return {
        "drill": score.drill,
        "title": score.title,
        "document_sha256": score.document_sha256,
        "seed": score.seed,
        "tags": list(score.tags),
        "status": score.status,
        "deviated": score.deviated,
        "no_score": score.no_score,
        "score": score.score,
        "categories": [
            {
                "category": one.category,
                "weight": one.weight,
                "score": one.score,
                "figures": [
                    {
                        "name": figure.name,
                        "score": figure.score,
                        "measured": figure.measured,
                        "message": figure.message,
                        "helps": figure.helps,
                        "weight": figure.weight,
                    }
                    for figure in one.figures
                ],
            }
            for one in score.categories
        ],
    }


def runs_json(runs: Sequence[LabScore]) -> ReportFields:
    """The scores of a drill over seeds as JSON, with intervals."""
    return {
        "runs": [
            {**score_json(run.score), "messages": run.messages, "log_sha256": run.log_sha256} for run in runs
        ],
        "shares": {name: interval_json(one) for name, one in shares([run.score for run in runs]).items()},
        "intervals": {
            category: None if one is None else interval_json(one)
            for category, one in intervals([run.score for run in runs]).items()
        },
    }


def score_text(score: DrillScore) -> str:
    """The score of a drill: each figure with its score, what was measured, and the deciding message."""
    head = f"{score.drill or 'the drill'} ({score.title}): {score.status}"
    head += ", deviated" if score.deviated else ""
    if score.no_score is not None:
        return f"{head}\nno score: {score.no_score}"
    rows = [
        (one.category, shown(one.score), figure.name, shown(figure.score), figure.measured, figure.message)
        for one in score.categories
        for figure in one.figures
    ]
    headers = ("CATEGORY", "SCORE", "FIGURE", "POINTS", "MEASURED", "MESSAGE")
    table = text_table(headers, rows, ("MESSAGE",), below="MEASURED")
    return f"{head}\n{table}{_help_lines(score)}"


def _help_lines(score: DrillScore) -> str:
    helped = {
        f"{one.category}, {figure.name}: {figure.helps}"
        for one in score.categories
        for figure in one.figures
        if figure.helps is not None
    }
    return "".join(["\nwhat may have helped:", *(f"\n  {line}" for line in sorted(helped))]) if helped else ""


def runs_text(runs: Sequence[LabScore]) -> str:
    """Scores over seeds: a row for each seed, then means and shares with their 95 % intervals."""
    if len(runs) == 1:
        return score_text(runs[0].score)
    rows = [(run.seed, run.score.status, run.score.deviated, *category_cells(run.score)) for run in runs]
    lines = [text_table(("SEED", "STATUS", "DEVIATED", *HEADINGS), rows), ""]
    for category, one in intervals([run.score for run in runs]).items():
        text = "not measured" if one is None else f"{one.value:.1f} ± {one.half_width:.1f}"
        lines.append(
            f"{category}: {text}{'' if one is None or one.runs == len(runs) else f' ({one.runs} runs)'}"
        )
    for name, share in shares([run.score for run in runs]).items():
        lines.append(f"{name}: {share.value:.0%} ({share.low:.0%} to {share.high:.0%}) of {share.runs} runs")
    return "\n".join(lines)


HEADINGS = tuple(category.upper() for category in CATEGORIES)


def category_cells(score: DrillScore) -> list[str]:
    """The score of each category."""
    return [shown(one.score if (one := score.of(category)) else None) for category in CATEGORIES]


def shown(score: float | None) -> str:
    """A score without decimals; a dash if it was not measured."""
    return "-" if score is None else f"{score:.0f}"
