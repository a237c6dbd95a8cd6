"""Runs several drills in the lab, in several processes: over seeds, or all of a suite."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from joblib import Parallel, delayed

from ops.drills.lab_run import LabDrill, run_lab_drill
from ops.drills.score.chip_hours import RunWithout
from ops.drills.score.figures import CATEGORIES, Category, DrillScore
from shared.models.statistics.means import Interval, mean_interval, wilson_share
from shared.runtimes.process_pool import worker_death_reported

LEAST_FOR_INTERVAL = 2


@dataclass(frozen=True, slots=True)
class LabScore:
    """The score of one run, the digest of its log, and the number of its messages. `without`
    compares it with the run without the drill; None if there was none."""

    score: DrillScore
    seed: int
    messages: int
    log_sha256: str
    without: RunWithout | None = None


def run_lab_drills(
    plans: Sequence[LabDrill], jobs: int, progress: Callable[[int], None] | None = None
) -> list[LabScore]:
    """Run drills in up to `jobs` processes; the results are in order of `plans`, and do not depend on `jobs`.

    `progress` receives the number of finished runs after each one.
    """
    found: list[LabScore] = []
    with worker_death_reported():
        for score in _scores(plans, jobs):
            found.append(score)
            if progress is not None:
                progress(len(found))
    return found


def _scores(plans: Sequence[LabDrill], jobs: int) -> Iterable[LabScore]:
    if jobs == 1 or len(plans) == 1:
        return map(_run, plans)
    running: Iterable[LabScore] = Parallel(n_jobs=min(jobs, len(plans)), return_as="generator", batch_size=1)(
        delayed(_run)(plan) for plan in plans
    )
    return running


def _run(plan: LabDrill) -> LabScore:
    found = run_lab_drill(plan)
    return LabScore(found.score, plan.seed, found.messages, found.log_sha256, found.without)


def intervals(scores: Sequence[DrillScore]) -> dict[Category, Interval | None]:
    """The mean score of each category over several seeds with its 95 % interval, by Student's t; None with
    fewer than two measured ones. A bound can be outside 0 to 100, which scores never are."""
    found: dict[Category, Interval | None] = {}
    for category in CATEGORIES:
        values = [one.score for score in scores if (one := score.of(category)) and one.score is not None]
        found[category] = mean_interval(values) if len(values) >= LEAST_FOR_INTERVAL else None
    return found


def shares(scores: Sequence[DrillScore]) -> dict[str, Interval]:
    """The shares of runs that completed and, among those with a score, that deviated, with their 95 %
    intervals (Wilson's score). A drill that did not run says nothing about the system."""
    found = {"completed": wilson_share(sum(one.status == "completed" for one in scores), len(scores))}
    ran = [one for one in scores if one.no_score is None]
    if ran:
        found["deviated"] = wilson_share(sum(one.deviated for one in ran), len(ran))
    return found
