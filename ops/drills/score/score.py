"""Scores a drill: five categories, each from the messages of its log."""

from dataclasses import replace

from ops.drills.score.attribution import attribution_figures
from ops.drills.score.chip_hours import RunWithout
from ops.drills.score.containment import containment_figures
from ops.drills.score.detection import detection_figures
from ops.drills.score.figures import CATEGORIES, CategoryScore, DrillScore
from ops.drills.score.recovery import recovery_figures
from ops.drills.score.undo import undo_figures
from services.gateway.explain.drill_record import DrillRecord


def score_drill(record: DrillRecord, without: RunWithout | None = None) -> DrillScore:
    """Score a drill. `without` compares it with the same run of the lab without the drill.

    A drill that was refused, cancelled or failed, or that still runs, has no score.
    """
    end = record.end
    score = DrillScore(
        drill=record.drill,
        title=record.plan.title,
        document_sha256=record.plan.document_sha256,
        seed=record.run.seed,
        tags=record.plan.tags,
        status="refused" if record.refused is not None else "running" if end is None else end.status,
        deviated=end is not None and end.deviated,
        no_score=_why_none(record),
    )
    if score.no_score is not None:
        return score
    figures = {
        "detection": detection_figures(record),
        "containment": containment_figures(record, without),
        "recovery": recovery_figures(record),
        "undo": undo_figures(record),
        "attribution": attribution_figures(record),
    }
    categories = tuple(
        CategoryScore(name, getattr(record.plan.weights, name), tuple(figures[name])) for name in CATEGORIES
    )
    return replace(score, categories=categories)


def _why_none(record: DrillRecord) -> str | None:
    if record.refused is not None:
        return f"refused: {record.refused[1].reason}"
    end = record.end
    if end is None:
        return "still running"
    if end.status in ("failed", "cancelled"):
        return f"{end.status}: {end.reason or 'the method did not run'}"
    if record.phase_us("method") is None:
        return f"no step ran: {end.reason or end.status}"
    return None
