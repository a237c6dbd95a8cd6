"""Short logs, by their digests: a change of what a seed gives must be seen and wanted, and is one of the
rules.

`make golden` writes them anew, with the number of the rules that gave them. It does not where the logs
changed and that number did not: twins of the rules before must be able to tell.
"""

import os
from pathlib import Path

from ops.lab.run import RunPlan, run_site
from ops.sites.site_plans import single_fabric_sites
from shared.engine.code_version import RULES

KEPT = Path(__file__).parent / "log.txt"
RUNS = {
    "superpod": (3, ["pod.cubes=16", "failures.host_per_day=0.02", "failures.ocs_per_day=0.01"]),
    "static-pod": (1, ["failures.host_per_day=0.02"]),
    "dcn": (2, []),
}
"""Kind of fabric → days, parameters."""


def _made() -> list[str]:
    lines = [f"rules {RULES}"]
    for kind, (days, pairs) in RUNS.items():
        result = run_site(RunPlan(single_fabric_sites(1, kind=kind, pairs=pairs, seed=7), days=days), 0, None)
        lines += [
            f"{kind} messages {result.messages}",
            f"{kind} log {result.log_sha256}",
            f"{kind} state {result.state_sha256}",
        ]
    return lines


def rules_must_rise(kept: list[str], made: list[str]) -> bool:
    """Whether logs or states are others than were kept, though the number of the rules is not higher."""
    before, now = (int(lines[0].removeprefix("rules ")) for lines in (kept, made))
    return kept[1:] != made[1:] and now <= before


def test_a_seed_still_gives_what_it_gave() -> None:
    made, kept = _made(), KEPT.read_text().splitlines()
    assert not rules_must_rise(kept, made), (
        "recorded logs no longer fold; if that is wanted, raise "
        "RULES in shared/engine/code_version.py and run "
        f"`make golden`: {made}"
    )
    if os.environ.get("GOLDEN") == "write":
        KEPT.write_text("\n".join(made) + "\n")
    assert made == KEPT.read_text().splitlines(), "the rules are others than the kept ones: run `make golden`"


def test_other_logs_want_another_number() -> None:
    assert rules_must_rise(["rules 3", "log a"], ["rules 3", "log b"])
    assert rules_must_rise(["rules 3", "log a"], ["rules 2", "log b"])
    assert not rules_must_rise(["rules 3", "log a"], ["rules 4", "log b"])
    assert not rules_must_rise(["rules 3", "log a"], ["rules 3", "log a"])
