"""The numbers in the notes of claims on jobs, for short runs; `test_reproduce` checks them for all runs."""

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


def test_the_mean_reports_the_requested_jobs() -> None:
    claim_row = row("jobs/mean")
    requested = claim_row.figures["requested_per_day"]
    assert requested == pytest.approx(count(SliceRequested) / (len(PLANS) * DAYS))
    assert f"{requested:.1f} a day are requested, filler included" in claim_row.note


@pytest.mark.parametrize("name", ["jobs/least", "jobs/most"])
def test_the_extremes_report_the_cubes_of_large_slices(name: str) -> None:
    claim_row = row(name)
    quiet, busy = (claim_row.figures[f"cubes_of_large_on_{days}_days"] for days in ("quiet", "busy"))
    assert quiet == busy  # of one day each
    assert 0.0 <= quiet <= 64.0
    assert f"have {quiet:.0f} of 64 cubes" in claim_row.note


def test_links_report_the_cross_connects_made() -> None:
    claim_row = row("jobs/cross-connects")
    made = claim_row.figures["cross_connects_made_per_day"]
    assert 0 < made < 2 * claim_row.measured
    assert f"{made:,.0f} cross-connects a day did not exist before" in claim_row.note


def test_utilisation_counts_slices_with_long_startup(monkeypatch: pytest.MonkeyPatch) -> None:
    """With start-ups of two hours little is productive, but the pod is as full: the claim would hold."""
    plain = row("jobs/utilisation")
    slow = (lab_runs.NO_TELEMETRY, "workload.startup_s=7200")
    monkeypatch.setattr(
        jobs, "WORKLOAD_RUNS", tuple(lab_runs.ClaimRunPlan(DAYS, plan.seed, slow) for plan in PLANS)
    )
    useless = row("jobs/utilisation")
    assert useless.measured == pytest.approx(plain.measured, abs=1.5)
    assert plain.figures["productive_percent"] > 80 > 50 > useless.figures["productive_percent"]
    for claim_row in (plain, useless):
        assert f"here {claim_row.figures['productive_percent']:.1f} % are productive" in claim_row.note
