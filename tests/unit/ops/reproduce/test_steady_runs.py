"""Claims of papers on lab runs that are not steady do not hold, and say why."""

from dataclasses import replace

import pytest

from ops.reproduce.claim import PaperClaim, Stated, predicted
from ops.reproduce.lab_runs import FIELD_RUNS, FIELD_WORKLOAD_RUNS, WORKLOAD_RUNS, ClaimRunPlan, unsteady_run
from ops.reproduce.registry import select_claims

OVERLOADED = ("repairs.technicians=1", "failures.host_per_day=0.002")


@pytest.mark.parametrize(
    ("plan", "word"),
    [
        (ClaimRunPlan(60.0, 0, OVERLOADED), "not steady: technicians: load 2.1"),
        (ClaimRunPlan(60.0, 0, OVERLOADED, services=("failures", "cubes")), None),
        (ClaimRunPlan(60.0, 0, ("workload.offered_load=1.5",)), "not steady: scheduler: load 1.5"),
        (ClaimRunPlan(60.0, 0, ("workload.offered_load=1.5",), services=("repairs",)), None),
        (ClaimRunPlan(2.0, 0), "not yet steady: technicians"),
        (WORKLOAD_RUNS[0], None),
        (FIELD_RUNS[0], None),
        (FIELD_WORKLOAD_RUNS[0], "not yet steady: technicians: load 0.502, so 30 days are 4.1 relaxation"),
    ],
)
def test_a_run_is_steady_or_says_why_not(plan: ClaimRunPlan, word: str | None) -> None:
    found = unsteady_run(plan)
    assert (found is None) is (word is None), found
    assert (found or "").startswith(word or "")


@pytest.mark.parametrize("plan", [ClaimRunPlan(60.0, 0, OVERLOADED), WORKLOAD_RUNS[0]])
def test_a_claim_on_a_run_that_is_not_steady_does_not_hold(plan: ClaimRunPlan) -> None:
    claim = PaperClaim("a/b", "c", "s", Stated(1.0, "x"), predicted("y"), "lab run", lambda: 1.0)
    assert claim.row().holds
    row = replace(claim, runs=(plan,)).row()
    assert row.holds is row.steady is (plan == WORKLOAD_RUNS[0])
    assert row.holds or row.note.startswith("not steady: technicians: load")


def test_which_claims_are_not_steady_is_known() -> None:
    names = {claim.name for claim in select_claims(()) if any(map(unsteady_run, claim.runs))}
    assert names == {"field/jobs-met", "field/system-availability"}
