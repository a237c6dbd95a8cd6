"""Random short runs of networks: the invariants hold for every seed; once nothing fails any more, every
circuit carries traffic."""

from collections import Counter

import pytest

from ops.invariants import AllCheckers
from ops.invariants.checker import NetworkCheckers
from schemas.documents.dcn import TrunksSummary
from schemas.documents.pods import FailuresSummary
from schemas.documents.repairs import RepairsSummary
from schemas.registry import TYPES, decode
from services.fabric_kinds import services_of
from services.topology.state import TopologyState
from shared.basics.units import US_PER_DAY
from shared.engine.site import Site
from shared.runtimes.lab import Lab
from tests.support.network_swarm import DCN, draw_network
from tests.support.seeds import explored, sliced

SEEDS = 24
BATCH = 12
EXPLORED = 5
"""Random seeds of `make test-all`."""
FAILED_ONCE: tuple[int, ...] = ()
"""Random seeds that found something: they stay in the gate."""
SETTLING_STEP_US = US_PER_DAY // 12
WRITERS = ("demands", "traffic", "trunks", "topology")
LATE_US = 3 * US_PER_DAY
"""Of a rewiring: it waits for a day at most before it is given up, and takes hours where mirrors are slow."""
SAID_MIN = 2
"""How often every batch has to see each type of message."""
NEVER_SAID = {"JobBandwidthSet", "NetworkGreeted", "PodsCutOff"}
"""There are no pods here that could be greeted, or whose jobs could meet over the network."""
JUDGED_MIN = 3
"""Rewirings of every batch in which nothing broke, so that the capacity floor is about them."""


def unsettled(site: Site) -> list[str]:
    """The remaining faults in words, and the circuits that should carry traffic and do not, unless a rewiring
    is in progress."""
    found = []
    topology = site.instance(DCN, "topology").state
    assert isinstance(topology, TopologyState)
    rewiring = [one for one in topology.current.values() if one.begun_us is not None]
    for name in ("failures", "repairs", "trunks"):
        instance = site.instance(DCN, name)
        summary = instance.service.document(instance.state, ("summaries", f"{DCN}/{name}"))
        match summary:
            case FailuresSummary(active=active) if active:
                found.append(f"faults: {active}")
            case RepairsSummary(queued=queued, begun=begun) if queued or begun:
                found.append(f"repairs: {queued} queued, {begun} begun")
            case TrunksSummary() if summary.carrying != summary.circuits and not rewiring:
                found.append(f"trunks: {summary}")
    late_us = site.now_us - LATE_US
    return found + [f"{one.phase}: {one}" for one in rewiring if one.planned_us < late_us]


def run_seed(seed: int, said: Counter[str]) -> list[str]:
    """Play a seed's scenario until the network has settled; returns what was wrong, adds to the types
    `said`, and to the rewirings judged by the capacity floor."""
    scenario = draw_network(seed)
    checkers = AllCheckers()
    problems: list[str] = []

    def judge(lines: bytes) -> None:
        for line in lines.splitlines():
            message = decode(line)
            said[message.type] += 1
            problems.extend(checkers.see(message))

    lab = Lab(DCN, {DCN: scenario.config}, services_of, judge)
    lab.run(scenario.quiet_us, scenario.requests)
    own = checkers.fabrics[DCN]
    assert isinstance(own, NetworkCheckers)
    end_us = scenario.quiet_us
    while unsettled(lab.site) and end_us < scenario.quiet_us + scenario.patience_us:
        end_us += SETTLING_STEP_US
        lab.run(end_us)
    said["judged"] += own.capacity_floor.judged
    return problems[:5] + unsettled(lab.site)


@pytest.mark.parametrize("seed", [*sliced(SEEDS, always=FAILED_ONCE), *explored(EXPLORED, "networks")])
def test_a_seed_of_this_commit_breaks_no_invariant_and_its_network_recovers(seed: int) -> None:
    assert run_seed(seed, Counter()) == []


@pytest.mark.slow("twenty-four networks of some days")
@pytest.mark.parametrize("first", range(0, SEEDS, BATCH))
def test_no_seed_breaks_an_invariant_and_every_network_recovers(first: int) -> None:
    said: Counter[str] = Counter()
    broken = {seed: problems for seed in range(first, first + BATCH) if (problems := run_seed(seed, said))}
    assert broken == {}
    # A swarm in which something never happens says nothing about it.
    rare = {type_ for type_, kind in TYPES.items() if kind.writer in WRITERS and said[type_] < SAID_MIN}
    assert rare == NEVER_SAID
    assert said["judged"] >= JUDGED_MIN
    assert min(said["OcsesDown"], said["CircuitsRestored"], said["ControlLost"]) >= SAID_MIN
