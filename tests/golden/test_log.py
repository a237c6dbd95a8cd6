"""One short log, by its digest: a change of what a seed gives must be seen and wanted."""

import os
from pathlib import Path

from ops.common.sites import single_fabric_sites
from ops.lab.run import RunPlan, run_site

KEPT = Path(__file__).parent / "log.txt"


def test_a_seed_still_gives_what_it_gave() -> None:
    pairs = ["pod.cubes=16", "failures.host_per_day=0.02", "failures.ocs_per_day=0.01"]
    result = run_site(RunPlan(single_fabric_sites(1, pairs=pairs, seed=7), days=3), 0, None)
    made = f"messages {result.messages}\nlog {result.log_sha256}\nstate {result.state_sha256}\n"
    if os.environ.get("GOLDEN") == "write":
        KEPT.write_text(made)
    assert made == KEPT.read_text(), "recorded logs no longer fold; if that is wanted, run `make golden`"
