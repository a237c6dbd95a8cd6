"""A drill over seeds in the lab: intervals against independent formulas, order, and independence of jobs."""

import math
import statistics
from dataclasses import replace

import pytest

from ops.drills.document import Drill
from ops.drills.lab_run import LabDrill
from ops.drills.lab_runs import LabScore, intervals, run_lab_drills, shares
from ops.drills.score.figures import CATEGORIES, CategoryScore, DrillScore, Figure
from ops.drills.score_text import runs_json, runs_text
from ops.sites.site_plans import single_fabric_sites
from shared.basics.units import US_PER_HOUR
from tests.support.drill_plans import ocs_drill

T_975 = {1: 12.706204736, 2: 4.302652730, 4: 2.776445105}
"""Degrees of freedom → the 97.5 % quantile of Student's t, from a printed table."""
Z_975 = 1.959963985


def score(points: float | None, *, status: str = "completed", deviated: bool = False) -> DrillScore:
    """A score with these points in recovery, and no others."""
    recovery = CategoryScore("recovery", 1.0, (Figure("time", points, "measured"),))
    return DrillScore(
        drill="pod-0/drill-0",
        title="test",
        document_sha256="0" * 64,
        seed=0,
        tags=(),
        status=status,
        deviated=deviated,
        no_score=None,
        categories=(recovery,),
    )


@pytest.mark.parametrize("points", [[80.0, 90.0], [70.0, 100.0, 85.0], [50.0, 60.0, 80.0, 90.0, 100.0]])
def test_the_interval_of_a_mean_is_students(points: list[float]) -> None:
    found = intervals([score(one) for one in points])["recovery"]
    assert found is not None
    half = T_975[len(points) - 1] * statistics.stdev(points) / math.sqrt(len(points))
    mean = statistics.fmean(points)
    assert (found.low, found.value, found.high) == pytest.approx((mean - half, mean, mean + half))


def test_runs_without_a_measured_score_do_not_count() -> None:
    found = intervals([score(80.0), score(None), score(90.0)])
    assert found["recovery"] is not None
    assert (found["recovery"].runs, found["recovery"].value) == (2, 85.0)
    assert found["detection"] is None
    assert intervals([score(80.0), score(None)])["recovery"] is None


@pytest.mark.parametrize(("bad", "runs"), [(0, 5), (2, 5), (7, 50), (50, 50)])
def test_the_interval_of_a_share_is_wilsons(bad: int, runs: int) -> None:
    """Its bounds are the shares p whose distance from the observed one is z standard errors of p."""
    scores = [score(1.0, deviated=n < bad) for n in range(runs)]
    found = shares(scores)["deviated"]
    seen = bad / runs
    assert found.value == seen
    for bound, is_end in ((found.low, bad == 0), (found.high, bad == runs)):
        if not is_end:
            error = math.sqrt(bound * (1 - bound) / runs)
            assert abs(bound - seen) == pytest.approx(Z_975 * error)
    assert (found.low == 0.0) == (bad == 0)
    assert (found.high == 1.0) == (bad == runs)
    assert shares(scores)["completed"].value == 1.0


def test_runs_that_did_not_run_have_not_deviated() -> None:
    closed = replace(score(None, status="cancelled", deviated=True), no_score="cancelled: gate")
    found = shares([closed, score(80.0), score(90.0, deviated=True)])
    assert (found["deviated"].value, found["deviated"].runs) == (0.5, 2)
    assert found["completed"].runs == 3
    assert list(shares([closed])) == ["completed"]


def plans(seeds: range) -> list[LabDrill]:
    """A short drill on a pod of four cubes."""
    drill = Drill(ocs_drill("pod-0").plan, "pod-0", "two OCSes")
    found = []
    for seed in seeds:
        (site,) = single_fabric_sites(1, pairs=["pod.cubes=4", "workload.enabled=false"], seed=seed)
        found.append(LabDrill(drill, site, seed, US_PER_HOUR))
    return found


def test_runs_over_seeds_report_progress_and_intervals() -> None:
    done: list[int] = []
    runs = run_lab_drills(plans(range(3, 5)), 1, done.append)
    assert done == [1, 2]
    assert [run.seed for run in runs] == [3, 4]
    assert runs[0].log_sha256 != runs[1].log_sha256
    content = runs_json(runs)
    assert set(content) == {"runs", "intervals", "shares"}
    assert "completed: 100% (34% to 100%) of 2 runs" in runs_text(runs)


@pytest.mark.slow("half a minute: eight seeds, in this process and in two others")
def test_the_number_of_jobs_changes_nothing() -> None:
    here, elsewhere = run_lab_drills(plans(range(8)), 1), run_lab_drills(plans(range(8)), 2)
    assert [_of(run) for run in here] == [_of(run) for run in elsewhere]
    assert all(intervals([run.score for run in here])[one] is not None for one in CATEGORIES[1:4])


def _of(run: LabScore) -> tuple[object, ...]:
    return run.seed, run.log_sha256, run.messages, run.score
