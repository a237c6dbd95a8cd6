"""The numbers in the notes of rows on jobs, on short runs; `test_reproduce` has them of all runs."""

import pytest

from ops.reproduce import lab_runs
from ops.reproduce.claim import ClaimRow
from ops.reproduce.pods import jobs
from ops.reproduce.registry import select_claims
from schemas.messages.workload import SliceRequested

pytestmark = pytest.mark.integration

DAYS = 1.0
PLANS = tuple(lab_runs.ClaimRunPlan(DAYS, seed) for seed in (3, 4))


@pytest.fixture(autouse=True)
def short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "WORKLOAD_RUNS", PLANS)


def row(name: str) -> ClaimRow:
    (claim,) = select_claims((name,))
    return claim.row()


def count(of: type[SliceRequested]) -> int:
    return sum(isinstance(m.body, of) for run in lab_runs.lab_runs(PLANS) for m in run.messages)


def test_the_mean_shows_how_many_jobs_are_requested() -> None:
    found = row("jobs/mean")
    requested = found.figures["requested_per_day"]
    assert requested == pytest.approx(count(SliceRequested) / (len(PLANS) * DAYS))
    assert f"{requested:.1f} a day are requested, filler included" in found.note


@pytest.mark.parametrize("name", ["jobs/least", "jobs/most"])
def test_the_extremes_show_what_large_slices_held(name: str) -> None:
    found = row(name)
    quiet, busy = (found.figures[f"cubes_of_large_on_{days}_days"] for days in ("quiet", "busy"))
    assert quiet == busy  # of one day each
    assert 0.0 <= quiet <= 64.0
    assert f"have {quiet:.0f} of 64 cubes" in found.note


def test_links_show_how_many_cross_connects_are_made() -> None:
    found = row("jobs/cross-connects")
    made = found.figures["cross_connects_made_per_day"]
    assert 0 < made < 2 * found.measured
    assert f"{made:,.0f} cross-connects a day did not exist before" in found.note


def test_utilisation_counts_slices_that_hardly_get_to_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """With start-ups of two hours little is computed, and the pod is as full: the row would hold."""
    plain = row("jobs/utilisation")
    slow = (lab_runs.NO_TELEMETRY, "workload.startup_s=7200")
    monkeypatch.setattr(
        jobs, "WORKLOAD_RUNS", tuple(lab_runs.ClaimRunPlan(DAYS, plan.seed, slow) for plan in PLANS)
    )
    useless = row("jobs/utilisation")
    assert useless.measured == pytest.approx(plain.measured, abs=1.5)
    assert plain.figures["productive_percent"] > 80 > 50 > useless.figures["productive_percent"]
    for found in (plain, useless):
        assert f"here {found.figures['productive_percent']:.1f} % are productive" in found.note
