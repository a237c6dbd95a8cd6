"""Runs several drills in the lab, in several processes: over seeds, or all of a suite."""

from collections.abc import Sequence
from dataclasses import dataclass

from joblib import Parallel, delayed

from ops.drills.lab_run import LabDrill, run_lab_drill
from ops.drills.score.figures import CATEGORIES, Category, DrillScore
from shared.models.statistics.means import Interval, mean_interval
from shared.runtimes.process_pool import worker_death_reported

LEAST_FOR_INTERVAL = 2


@dataclass(frozen=True, slots=True)
class LabScore:
    """The score of one run, the digest of its log, and the number of its messages."""

    score: DrillScore
    seed: int
    messages: int
    log_sha256: str


def run_lab_drills(plans: Sequence[LabDrill], jobs: int) -> list[LabScore]:
    """Run drills in up to `jobs` processes, in order of `plans`."""
    if jobs == 1 or len(plans) == 1:
        return [_run(plan) for plan in plans]
    with worker_death_reported():
        return list(Parallel(n_jobs=min(jobs, len(plans)))(delayed(_run)(plan) for plan in plans))


def _run(plan: LabDrill) -> LabScore:
    found = run_lab_drill(plan)
    return LabScore(found.score, plan.seed, found.messages, found.log_sha256)


def intervals(scores: Sequence[DrillScore]) -> dict[Category, Interval | None]:
    """The mean score of each category over several seeds with its 95 % interval; None with fewer than two
    measured ones."""
    found: dict[Category, Interval | None] = {}
    for category in CATEGORIES:
        values = [one.score for score in scores if (one := score.of(category)) and one.score is not None]
        found[category] = mean_interval(values) if len(values) >= LEAST_FOR_INTERVAL else None
    return found
