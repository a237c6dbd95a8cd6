"""Every claim of the papers, computed once by the command: which hold, and which are known not to."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow("computes all 135 claims: thirty-odd labs of 60 to 182,500 days")

KNOWN_NOT_TO_HOLD = {
    "mix/twistable-of-tori",
    "mix/sides-4-or-8",
    "topology/wrap-all-reduce-ideal",
    "topology/bisection-over-v3-least",
    "topology/one-ocs-lost",
    "ocs/insertion-loss-all-pairs",
    "ocs/placement-by-parts",
    "light/mitigation-in-the-pod",
    "light/circulators-external",
    "light/eml-critical",
    "fabric/cwdm4-duplex",
    "goodput/lf-1024-99.9-deployed",
    "goodput/one-cube",
    "goodput/times-static",
    "placement/previous-generation-256",
    "placement/previous-generation-512",
    "placement/previous-generation-1024",
    "availability/ocs-field",
    "failures/weekly-variation",
    "failures/weekly-memory",
    "failures/modules-in-the-noise",
    "jobs/cross-connects-most",
    *(f"field/placement-routed-{cubes}" for cubes in (50, 53, 55, 59)),
    *("field/cables-memory-4", "field/ocs-memory-1", "field/ocs-memory-4"),
    "field/jobs-met",
    "field/system-availability",
    *(
        f"dcn/{name}{of}"
        for name in ("flow-time", "throughput")
        for of in ("", "-mixed", "-uneven", "-blind", "-capped")
    ),
    "dcn/mean-path",
    "dcn/needless-transit",
    "dcn/inside-over-across",
    "clusters/over-fixed",
    "clusters/over-mesh",
    "slices/bystanders",
    "cost/spine-free",
    "cost/packets",
    "cost/fabric-share",
    *(f"power/{fabric}" for fabric in ("spine-free", "lightwave", "packets", "fabric-share")),
}


ON_THE_EDGE = {"jobs/least", "jobs/most", "jobs/struck", "jobs/cross-connects-least"}
"""Claims about extremes and rare events of 60 days. Five seeds do not decide whether they are within their
tolerance."""


# This takes minutes on all processors, mostly for some thirty lab runs; longer on a busy machine.
@pytest.mark.timeout(2700)
def test_every_claim_holds_except_the_known_ones() -> None:
    words = [sys.executable, "-m", "ops.cli", "reproduce", "-o", "json"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    rows = {row["name"]: row for row in json.loads(done.stdout)}
    failing = {name for name, row in rows.items() if not row["holds"]}
    assert failing - ON_THE_EDGE == KNOWN_NOT_TO_HOLD
    for name in ON_THE_EDGE:
        row = rows[name]
        off = abs(row["measured"] - row["paper_value"])
        assert abs(off - row["tolerance"]) < row["interval"][1] - row["measured"]
    assert all(row["note"] for row in rows.values() if not row["holds"])
    assert {row["how"] for row in rows.values()} == {"closed form", "model", "lab run"}
    predicted = [row for row in rows.values() if row["kind"] == "predicted"]
    assert (sum(row["holds"] for row in predicted), len(predicted)) == (12, 23)
    assert {row["kind"] for row in rows.values() if row["source"].startswith(("NSDI", "Jupiter"))} == {
        "second-hand",
        "derived by us",
    }
    # Started jobs count, and the notes explain why the figures are not the paper's.
    jobs = {name.removeprefix("jobs/"): row for name, row in rows.items() if name.startswith("jobs/")}
    assert jobs["least"]["measured"] < jobs["mean"]["measured"] < jobs["most"]["measured"]
    assert 60 < jobs["mean"]["figures"]["requested_per_day"] < jobs["mean"]["measured"]
    least, most = jobs["mean"]["interval"]
    assert least < jobs["mean"]["measured"] < most < 139
    figures = jobs["most"]["figures"]
    assert figures["cubes_of_large_on_quiet_days"] > figures["cubes_of_large_on_busy_days"]
    # Links count whether or not they already existed: keeping circuits is not the reason for the match.
    made = jobs["cross-connects"]["figures"]["cross_connects_made_per_day"]
    assert 0 < made < 2 * jobs["cross-connects"]["measured"]
