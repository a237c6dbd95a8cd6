"""Random short runs. The invariants are satisfied for every seed; after the last failure, the pod becomes
healthy."""

from collections import Counter
from collections.abc import Mapping

import pytest

from ops.invariants.checker import AllCheckers, PodCheckers
from ops.sites.configuration import superpod_config
from schemas.documents.pods import CubesSummary, FailuresSummary, LinksSummary, OcsSummary
from schemas.documents.repairs import RepairsSummary
from schemas.messages.operator import InjectFault, RemoveCrossConnects, TestLink
from schemas.messages.transceivers import LinkTested
from schemas.names import FaultKind
from schemas.registry import TYPES, decode
from services.failures.state import FailuresState
from services.ocs.state import OcsState
from services.service_names import SERVICE_NAMES
from services.transceivers.state import TransceiversState
from shared.basics.units import US_PER_DAY, US_PER_S
from shared.engine.site import Site
from shared.engine.site_driver import LabRequest
from shared.models.fabric_plants import plant_of
from shared.models.faults.link_faults import LINK_FAULTS
from shared.models.ocs.port_keys import cross_connect_key
from shared.models.plant.plant_format import NO_END
from tests.support.pod_reports import pod_report
from tests.support.pods import KIND, POD, pod_lab
from tests.support.seeds import explored, sliced
from tests.support.spare_ports import dead_spare_ports
from tests.support.swarm import draw_scenario

SEEDS = 100
BATCH = 50
EXPLORED = 20
"""Random seeds of `make test-all`."""
FAILED_ONCE: tuple[int, ...] = (1372724746, 60)
"""Seeds that failed before, which stay in the gate."""
LONG_ONCE = (230822707,)
"""Random seeds that failed before and take minutes; `make test-all` repeats them.

One technician has 90 repairs left when the pod becomes quiet. A patience of 20 days was too short for that.
"""
SETTLING_STEP_US = US_PER_DAY // 4
EMITTED_MIN = 10
"""The least number of messages of each type in every batch."""
NEVER_EMITTED = {
    "CircuitsRefused",
    "ExtendTrace",
    "FabricRetired",
    "MessageSkipped",
    "RekeyDraws",
    "Upgraded",
}
"""Message types that never occur. The scheduler commands only what the OCSes can do, so a refusal would be a
bug.

Only an operator retires a pod or skips a message. Draws are rekeyed in forecasts
(`tests/unit/services/forecasts`), and only long traces are extended.
"""
OF_NETWORKS = {
    name for name, body in TYPES.items() if body.writer not in (*SERVICE_NAMES[KIND], "operator", "sequencer")
} | {
    *("PlanTopology", "ApproveRewiring", "AbortRewiring", "RewiringRefused", "CircuitsRewired"),
    *("ControlLost", "ControlRegained", "OcsesDown", "OcsesUp"),
}
OF_SEVERAL_PODS = {name for name in TYPES if name.startswith("Pod")}
"""Emitted only in sites of several pods (`tests/simulation/test_multislice.py`)."""


def summaries(site: Site) -> dict[str, object]:
    return {
        instance.service.name: instance.service.document(
            instance.state, ("summaries", f"{POD}/{instance.service.name}")
        )
        for instance in site.instances
    }


def hidden(site: Site, tested: Mapping[int, str]) -> int:
    """Return the number of undetectable faults: those at unused link ends whose last test (end → verdict) was
    clean.

    A less sensitive receiver makes no errors if there is enough light.
    """
    failures, links = site.instance(POD, "failures").state, site.instance(POD, "transceivers").state
    assert isinstance(failures, FailuresState)
    assert isinstance(links, TransceiversState)
    plant = plant_of(links.kind, links.pod)
    ends = [
        plant.parse(fault.target).number for fault in failures.active.values() if fault.kind in LINK_FAULTS
    ]
    return sum(links.peer[end] == NO_END and tested.get(end) == "clean" for end in ends)


def unsettled(site: Site, tested: Mapping[int, str] | None = None) -> list[str]:
    """Return the remaining detectable problems."""
    problems = []
    summary = summaries(site)
    cubes, failures, links = summary["cubes"], summary["failures"], summary["transceivers"]
    ocs, repairs = summary["ocs"], summary["repairs"]
    assert isinstance(cubes, CubesSummary)
    assert isinstance(failures, FailuresSummary)
    assert isinstance(links, LinksSummary)
    assert isinstance(ocs, OcsSummary)
    assert isinstance(repairs, RepairsSummary)
    if cubes.healthy != cubes.cubes or cubes.hosts_down or cubes.drained:
        problems.append(f"cubes: {cubes}")
    if failures.active > dead_spare_ports(site, POD) + hidden(site, tested or {}):
        problems.append(f"faults: {failures}")
    if links.down or links.degraded:
        problems.append(f"links: {links}")
    if ocs.ocs_down or ocs.ocs_held or ocs.ocs_parts_down:
        problems.append(f"ocs: {ocs}")
    if repairs.queued or repairs.begun:
        problems.append(f"repairs: {repairs}")
    scheduler = site.instance(POD, "scheduler")
    assert scheduler.state is not None
    for key in scheduler.service.document_keys(scheduler.state):
        document = scheduler.service.document(scheduler.state, key)
        if key[0] == "slices" and getattr(document, "state", "") in ("degraded", "recovering"):
            problems.append(f"{document}")
    return problems


def link_tests(site: Site, at_us: int, first: int) -> list[LabRequest]:
    """Return operators' requests to test unused link ends with faults, because no light reveals them.
    Diagnosis finds those on links that carry light."""
    failures, links = site.instance(POD, "failures").state, site.instance(POD, "transceivers").state
    assert isinstance(failures, FailuresState)
    assert isinstance(links, TransceiversState)
    plant = plant_of(links.kind, links.pod)
    ends = [fault.target for fault in failures.active.values() if fault.kind in LINK_FAULTS]
    dark = [end for end in ends if links.peer[plant.parse(end).number] == NO_END]
    bodies = [*(removed_by_hand(site) if dark else []), *(TestLink(end=end) for end in dark)]
    return [LabRequest(at_us, POD, body, first + place) for place, body in enumerate(bodies)]


def removed_by_hand(site: Site) -> list[RemoveCrossConnects]:
    """Return requests that remove the manual cross-connects that operators left: their ports cannot be
    tested."""
    ocs = site.instance(POD, "ocs").state
    assert isinstance(ocs, OcsState)
    places = [
        (divmod(place, ocs.radix), int(ocs.wanted.flat[place])) for place in sorted(ocs.manual_circuits)
    ]
    return [
        RemoveCrossConnects(ocs=f"{POD}/ocs-{number}", cross_connects=(cross_connect_key(north, south),))
        for (number, north), south in places
    ]


def run_seed(seed: int, emitted: Counter[str]) -> list[str]:
    """Run a seed until the pod has settled; return the problems. Adds the message types to `emitted`."""
    scenario = draw_scenario(seed)
    checkers = AllCheckers()
    problems: list[str] = []
    tested: dict[int, str] = {}

    def judge(lines: bytes) -> None:
        for line in lines.splitlines():
            message = decode(line)
            emitted[message.type] += 1
            if isinstance(message.body, LinkTested):
                tested[message.body.end] = message.body.verdict
            problems.extend(checkers.see(message))

    lab = pod_lab(scenario.config, sink=judge)
    lab.run(scenario.quiet_us, scenario.requests)
    end_us = scenario.quiet_us
    next_request = 1_000
    while unsettled(lab.site, tested) and end_us < scenario.quiet_us + scenario.patience_us:
        end_us += SETTLING_STEP_US
        tests = link_tests(lab.site, end_us - SETTLING_STEP_US, next_request)
        next_request += len(tests)
        lab.run(end_us, tests)
    report = pod_report(lab.site, POD, end_us)["slices"]
    own = checkers.fabrics[POD]
    assert isinstance(own, PodCheckers)
    counts = own.slices.counts()
    # The log's checker counts a slice with cubes as running, whether it is degraded or not.
    for state in ("completed", "evicted", "refused", "running", "queued"):
        column = "active" if state == "running" else state
        if report[column] != counts[state]:
            problems.append(f"{state}: the report has {report[column]}, the log {counts[state]}")
    if report["requested"] != len(own.slices.states):
        problems.append(f"requested: the report has {report['requested']}, the log {counts.total()}")
    return problems[:5] + unsettled(lab.site, tested)


@pytest.mark.slow("runs a pod until one technician has completed all repairs")
@pytest.mark.parametrize("seed", LONG_ONCE)
def test_a_seed_that_took_long_recovers(seed: int) -> None:
    assert run_seed(seed, Counter()) == []


@pytest.mark.parametrize("seed", [*sliced(SEEDS, always=FAILED_ONCE), *explored(EXPLORED, "pods")])
def test_a_seed_of_this_commit_breaks_no_invariant_and_its_pod_recovers(seed: int) -> None:
    assert run_seed(seed, Counter()) == []


@pytest.mark.slow("a hundred pods of a day or two, three CPU seconds each")
@pytest.mark.timeout(2700)
@pytest.mark.parametrize("first", range(0, SEEDS, BATCH))
def test_no_seed_breaks_an_invariant_and_every_pod_recovers(first: int) -> None:
    emitted: Counter[str] = Counter()
    broken = {seed: problems for seed in range(first, first + BATCH) if (problems := run_seed(seed, emitted))}
    assert broken == {}
    # A swarm in which something never happens proves nothing about it.
    assert {type_ for type_ in TYPES if emitted[type_] < EMITTED_MIN} == (
        NEVER_EMITTED | OF_NETWORKS | OF_SEVERAL_PODS
    )


@pytest.mark.parametrize(
    ("technology", "cubes"), [("robotic", 16), ("wavelength", 16), ("mems", 16), ("piezo", 8)]
)
def test_failing_ocses_of_other_technologies_break_no_invariant(technology: str, cubes: int) -> None:
    """Also with technologies over which some links have too little light, so that the pod never settles."""
    pairs = [f"pod.cubes={cubes}", f"ocs.technology={technology}", "workload.duration_mean_h=0.5"]
    struck: list[tuple[int, FaultKind, str, int]] = [
        (9_000, "ocs", "ocs-9", 10_800),
        (11_000, "cpu", "ocs-9/cpu", 10_800),
    ]
    struck += [(9_500 + 400 * n, "supply", f"ocs-11/supply-{n}", 7_200) for n in range(2)]
    struck += [(9_500, "driver", "ocs-10/driver-1", 7_200), (12_000, "port", "ocs-9/S3", 7_200)]
    requests = [
        LabRequest(
            at_s * US_PER_S,
            POD,
            InjectFault(kind=kind, target=f"{POD}/{part}", duration_us=for_s * US_PER_S),
            number,
        )
        for number, (at_s, kind, part, for_s) in enumerate(sorted(struck), start=1)
    ]
    checkers, problems = AllCheckers(), list[str]()
    emitted = Counter[str]()

    def judge(lines: bytes) -> None:
        for line in lines.splitlines():
            message = decode(line)
            emitted[message.type] += 1
            problems.extend(checkers.see(message))

    pod_lab(superpod_config(pairs, seed=12), sink=judge).run(US_PER_DAY // 2, requests)
    assert problems == []
    assert emitted["OcsPartDown"] >= 4
    assert emitted["CircuitsConnected"] > 20
