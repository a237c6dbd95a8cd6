"""A swarm of short runs: first the invariants hold under whatever the seed draws, then, once nothing breaks
any more, the pod becomes healthy."""

import pytest

from ops.invariants.checker import AllCheckers
from ops.lab import pod_report
from schemas.documents import CubesSummary, FailuresSummary, LinksSummary, OcsSummary, RepairsSummary
from schemas.registry import decode
from services.fleet import SUPERPOD
from shared.fabric import Fabric
from shared.lab import Lab
from tests.simulation.swarm import draw_scenario

SEEDS = 200
BATCH = 10


def summaries(fabric: Fabric) -> dict[str, object]:
    return {
        held.service.name: held.service.document(
            held.state, ("summaries", f"{fabric.name}/{held.service.name}")
        )
        for held in fabric.held
    }


def unsettled(fabric: Fabric) -> list[str]:
    """In words, what is still broken."""
    found = []
    summary = summaries(fabric)
    cubes, failures, links = summary["cubes"], summary["failures"], summary["transceivers"]
    ocs, repairs = summary["ocs"], summary["repairs"]
    assert isinstance(cubes, CubesSummary)
    assert isinstance(failures, FailuresSummary)
    assert isinstance(links, LinksSummary)
    assert isinstance(ocs, OcsSummary)
    assert isinstance(repairs, RepairsSummary)
    if cubes.healthy != cubes.cubes or cubes.hosts_down or cubes.drained:
        found.append(f"cubes: {cubes}")
    if failures.active:
        found.append(f"faults: {failures}")
    if links.down or links.degraded:
        found.append(f"links: {links}")
    if ocs.ocs_down:
        found.append(f"ocs: {ocs}")
    if repairs.queued or repairs.begun:
        found.append(f"repairs: {repairs}")
    scheduler = fabric.holder("scheduler")
    assert scheduler.state is not None
    for key in scheduler.service.document_keys(scheduler.state):
        document = scheduler.service.document(scheduler.state, key)
        if key[0] == "slices" and getattr(document, "state", "") in ("degraded", "stalled"):
            found.append(f"{document}")
    return found


def run_seed(seed: int) -> list[str]:
    scenario = draw_scenario(seed)
    checkers = AllCheckers()
    problems: list[str] = []
    slices = checkers.slices

    def judge(lines: bytes) -> None:
        for line in lines.splitlines():
            problems.extend(checkers.see(decode(line)))

    lab = Lab("pod-0", scenario.config, SUPERPOD, judge)
    lab.run(scenario.end_us, scenario.requests)
    report = pod_report(lab.fabric, scenario.end_us)["slices"]
    counts = slices.counts()
    for state in ("completed", "evicted", "refused", "running", "waiting"):
        if report[state] != counts[state]:
            problems.append(f"{state}: the report has {report[state]}, the log {counts[state]}")
    if report["requested"] != len(slices.states):
        problems.append(f"requested: the report has {report['requested']}, the log {len(slices.states)}")
    return problems[:5] + unsettled(lab.fabric)


@pytest.mark.parametrize("first", range(0, SEEDS, BATCH))
def test_no_seed_breaks_an_invariant_and_every_pod_recovers(first: int) -> None:
    broken = {seed: problems for seed in range(first, first + BATCH) if (problems := run_seed(seed))}
    assert broken == {}
