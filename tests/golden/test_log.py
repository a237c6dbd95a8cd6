"""Digests of short logs. A change of the log of a seed must be deliberate, and is a change of the rules.

`make golden` writes them again, with the current number of the rules. It fails if the logs changed and the
number did not rise, because twins with earlier rules must notice the difference.
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
    """Whether logs or states differ from the stored ones although the number of the rules is not higher."""
    before, now = (int(lines[0].removeprefix("rules ")) for lines in (kept, made))
    return kept[1:] != made[1:] and now <= before


def test_the_log_of_a_seed_is_unchanged() -> None:
    made, kept = _made(), KEPT.read_text().splitlines()
    assert not rules_must_rise(kept, made), (
        "recorded logs no longer fold; if that is intended, raise "
        "RULES in shared/engine/code_version.py and run "
        f"`make golden`: {made}"
    )
    if os.environ.get("GOLDEN") == "write":
        KEPT.write_text("\n".join(made) + "\n")
    assert made == KEPT.read_text().splitlines(), "the rules differ from the stored ones: run `make golden`"


def test_changed_logs_need_a_higher_number() -> None:
    assert rules_must_rise(["rules 3", "log a"], ["rules 3", "log b"])
    assert rules_must_rise(["rules 3", "log a"], ["rules 2", "log b"])
    assert not rules_must_rise(["rules 3", "log a"], ["rules 4", "log b"])
    assert not rules_must_rise(["rules 3", "log a"], ["rules 3", "log a"])
