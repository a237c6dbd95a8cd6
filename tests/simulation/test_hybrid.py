"""Superpods joined by a datacenter network: the bandwidth of a multislice job, and the effect of a failed
network part on the job."""

import pytest

from ops.invariants.checker import AllCheckers
from ops.sites.configuration import config_from_sections, superpod_config
from schemas.envelope import Envelope
from schemas.messages.demands import DemandMoved
from schemas.messages.operator import InjectFault, ReleaseSlice, RequestSlice
from schemas.messages.scheduler import FULL_SPEED, PodsRunning, PodWaits
from schemas.messages.sequencer import FabricCommissioned, FabricRetired
from schemas.messages.traffic import JobBandwidthSet, PodsCutOff
from schemas.names import FaultKind
from schemas.registry import decode
from services.fabric_kinds import services_of
from services.jobs.state import JobsState
from services.scheduler.multislice.gang_hold import unreachable_pods
from services.scheduler.multislice.slice_status import pods_wait_reason
from services.scheduler.state import SchedulerState
from services.scheduler.structures.slice_record import member_of
from services.traffic.state import TrafficState
from shared.basics.units import US_PER_HOUR
from shared.engine.site_driver import LabRequest
from shared.models.jobs.multislice_jobs import joint_speed_ppm
from shared.runtimes.lab import Lab
from tests.support.several_pods import disagreements

PODS = ("pod-0", "pod-1")
QUIET = ["pod.cubes=8", "workload.enabled=false", "failures.enabled=false"]
NETWORK = {
    "network": {
        "racks": 4,
        "racks_full": 4,
        "blocks": [
            *({"generation": 100, "uplinks": 256, "pod": pod} for pod in PODS),
            {"count": 6, "generation": 100, "uplinks": 256},
        ],
    },
    "failures": {"enabled": False},
    "demand": {"load": 0.1, "hot_pairs": 0},
    "topology": {"every_h": 1.0},
}
STEP_US, GRADIENT = 17_600_000, 10**12
REQUESTED_US, BROKEN_US, REPAIRED_US, END_US = (hours * US_PER_HOUR + 1 for hours in (1, 5, 9, 12))


def run(kind: FaultKind, target: str, until_us: int = END_US) -> tuple[Lab, list[Envelope]]:
    """Run a job over both pods while a part of the network is broken for four hours."""
    log: list[Envelope] = []
    problems: list[str] = []
    checkers = AllCheckers()

    def judge(lines: bytes) -> None:
        for line in lines.splitlines():
            message = decode(line)
            log.append(message)
            if message.fabric in PODS:
                problems.extend(checkers.see(message))

    fabrics = {pod: superpod_config(QUIET) for pod in PODS} | {
        "dcn-0": config_from_sections("dcn", NETWORK, "dcn-0")
    }
    lab = Lab("campus", fabrics, services_of, judge)
    fault = InjectFault(kind=kind, target=target, duration_us=REPAIRED_US - BROKEN_US)
    requests = [
        LabRequest(REQUESTED_US, "pod-0", RequestSlice(shape=(4, 8, 16), pods=PODS), 1),
        LabRequest(BROKEN_US, "dcn-0", fault, 2),
    ]
    lab.run(until_us, requests)
    assert problems == []
    return lab, log


def reported_mbps(log: list[Envelope]) -> list[tuple[int, int]]:
    """Return (time, Mb/s) of every bandwidth that was reported to the job."""
    return [(m.at_us, m.body.mbps) for m in log if isinstance(m.body, JobBandwidthSet)]


def links(lab: Lab) -> int:
    """Return the number of links between the blocks of the two pods."""
    state = lab.site.instance("dcn-0", "traffic").state
    assert isinstance(state, TrafficState)
    return int(state.links[0, 1])


def speeds(lab: Lab) -> list[int]:
    """Return the speed of the job in each of its pods."""
    values = []
    for pod in PODS:
        state = lab.site.instance(pod, "jobs").state
        assert isinstance(state, JobsState)
        values += [job.progress.speed_ppm for job in state.jobs.values()]
    return values


def cubes(lab: Lab) -> list[int]:
    """Return the number of cubes that the job has in each of its pods."""
    counts = []
    for pod in PODS:
        state = lab.site.instance(pod, "scheduler").state
        assert isinstance(state, SchedulerState)
        counts += [len(row.cubes) for row in state.slices.values()]
    return counts


def test_the_gradient_exchange_limits_the_speed_of_a_job() -> None:
    lab, log = run("bundle", "dcn-0/block-0/bundle-1", BROKEN_US - 1)
    gbps = reported_mbps(log)[-1][1] / 1_000
    assert gbps > 0
    state = lab.site.instance("pod-0", "jobs").state
    assert isinstance(state, JobsState)
    (team,) = state.multislice_jobs.values()
    expected = joint_speed_ppm(FULL_SPEED, team.step_us, team.gradient_bytes, 2, gbps)
    assert speeds(lab) == [expected, expected]
    assert expected < FULL_SPEED


def test_a_cut_bundle_slows_the_job_until_it_is_spliced() -> None:
    _, log = run("bundle", "dcn-0/block-0/bundle-1")
    reports = reported_mbps(log)
    before = [mbps for at_us, mbps in reports if at_us < BROKEN_US][-1]
    meanwhile = next(mbps for at_us, mbps in reports if BROKEN_US <= at_us < REPAIRED_US)
    after = next(mbps for at_us, mbps in reports if at_us >= REPAIRED_US)
    # A quarter of the block's fibres is gone, so more of the job's traffic takes a transit block.
    assert 0.5 * before < meanwhile < 0.95 * before
    assert after > meanwhile
    # The cause of the slowdown leads back to the fault.
    by_id = {message.id: message for message in log}
    change = next(m for m in log if isinstance(m.body, JobBandwidthSet) and m.at_us >= BROKEN_US)
    chain = [change.type]
    while change.cause in by_id:
        change = by_id[change.cause]
        chain.append(change.type)
    assert chain == ["JobBandwidthSet", "TrunksChanged", "FaultBegan", "InjectFault"]


def test_a_job_whose_pod_is_cut_off_stops_and_keeps_its_cubes() -> None:
    lab, log = run("block", "dcn-0/block-1", REPAIRED_US - 1)
    assert reported_mbps(log)[-1][1] == 0
    assert speeds(lab) == [1, 1]
    assert cubes(lab) == [8, 8]
    lab, log = run("block", "dcn-0/block-1")
    assert reported_mbps(log)[-1][1] > 0
    assert min(speeds(lab)) > 1


@pytest.mark.parametrize(("broken", "given"), [(True, 1), (False, None)])
def test_jobs_of_a_retired_network_run_as_without_a_network(broken: bool, given: int | None) -> None:
    """The last reported bandwidth no longer applies either, even if it was 0."""
    lab, log = run("block", "dcn-0/block-1", BROKEN_US + 1 if broken else BROKEN_US - 1)
    before = joint_speed_ppm(FULL_SPEED, STEP_US, GRADIENT, 2, reported_mbps(log)[-1][1] / 1_000)
    assert speeds(lab) == [given or before, given or before]
    lab.run(END_US, [LabRequest(lab.site.now_us + 1, "dcn-0", FabricRetired(), 3)])
    assert speeds(lab) == [FULL_SPEED, FULL_SPEED]
    assert list(disagreements(lab.site)) == []


@pytest.mark.parametrize("first", [None, "dcn-0"], ids=["no network before", "one retired before"])
def test_a_network_that_joins_later_carries_running_jobs(first: str | None) -> None:
    log: list[Envelope] = []
    pods = {pod: superpod_config(QUIET) for pod in PODS}
    before = {first: config_from_sections("dcn", NETWORK, first)} if first else {}
    lab = Lab("campus", pods | before, services_of, lambda lines: log.extend(map(decode, lines.splitlines())))
    joins = FabricCommissioned(site="campus", config=config_from_sections("dcn", NETWORK, "dcn-1"))
    requests = [
        LabRequest(REQUESTED_US, "pod-1", RequestSlice(shape=(4, 8, 16), pods=("pod-1", "pod-0")), 1),
        *([LabRequest(BROKEN_US, first, FabricRetired(), 2)] if first else []),
        LabRequest(REPAIRED_US, "dcn-1", joins, 3),
    ]
    lab.run(REPAIRED_US - 1, requests)
    assert speeds(lab) == [FULL_SPEED, FULL_SPEED]
    lab.run(REPAIRED_US, requests[-1:])
    assert speeds(lab) == [1, 1], "its first links are still being made and qualified"
    lab.run(END_US)
    mbps = reported_mbps(log)[-1][1]
    given = joint_speed_ppm(FULL_SPEED, STEP_US, GRADIENT, 2, mbps / 1_000)
    assert 1 < given < FULL_SPEED
    assert speeds(lab) == [given, given]
    (running,) = [m for m in log if isinstance(m.body, PodsRunning)]
    assert (running.fabric, running.cause) == ("pod-1", "sequencer@dcn-1/1")
    moved = [m.body for m in log if m.fabric == "dcn-1" and isinstance(m.body, DemandMoved)]
    assert {body.rings for body in moved} == {(("pod-1/slice-0", (1, 0), GRADIENT * 8 // STEP_US),)}
    checkers = AllCheckers()
    assert [problem for message in log for problem in checkers.see(message)] == []
    assert list(disagreements(lab.site)) == []
    lab.run(END_US + 1, [LabRequest(END_US + 1, "pod-1", ReleaseSlice(slice="pod-1/slice-0"), 4)])
    (last,) = [m.body for m in log if m.at_us > END_US and isinstance(m.body, DemandMoved)]
    assert last.rings == ()


def test_a_job_does_not_start_before_the_network_reaches_its_pods() -> None:
    """The block of the pod is down when the job is requested, and up two hours later. Until then cubes are
    reserved without effect."""
    log: list[Envelope] = []
    fabrics = {pod: superpod_config(QUIET) for pod in PODS} | {
        "dcn-0": config_from_sections("dcn", NETWORK, "dcn-0")
    }
    lab = Lab("campus", fabrics, services_of, lambda lines: log.extend(map(decode, lines.splitlines())))
    back_us = REQUESTED_US + 2 * US_PER_HOUR
    fault = InjectFault(kind="block", target="dcn-0/block-1", duration_us=back_us - REQUESTED_US + 1)
    requests = [
        LabRequest(REQUESTED_US - 1, "dcn-0", fault, 1),
        LabRequest(REQUESTED_US, "pod-0", RequestSlice(shape=(4, 8, 16), pods=PODS), 2),
    ]
    lab.run(REQUESTED_US + US_PER_HOUR // 60, requests)
    assert cubes(lab) == [0, 0]
    for pod in PODS:
        state = lab.site.instance(pod, "scheduler").state
        assert isinstance(state, SchedulerState)
        (row,) = state.slices.values()
        why = pods_wait_reason(state, row)
        assert why is not None
        assert why.startswith("holds 8 cubes until ")
        assert why.endswith(" while the network does not reach pod-1")
        assert unreachable_pods(state, member_of(row)) == ["pod-1"]
    lab.run(back_us - 1)
    assert cubes(lab) == [0, 0]
    given_up = [m.body.reason for m in log if isinstance(m.body, PodWaits) and m.body.reason]
    assert set(given_up) == {"the network did not reach pod-1 within 600 s (scheduler.pods_hold_s)"}
    lab.run(back_us + US_PER_HOUR // 60)
    assert cubes(lab) == [8, 8]
    assert reported_mbps(log)[-1][1] > 0
    cut_off = [
        (m.at_us, m.body.pods) for m in log if isinstance(m.body, PodsCutOff) and m.at_us >= REQUESTED_US - 1
    ]
    assert cut_off == [(REQUESTED_US - 1, ("pod-1",)), (back_us, ())]
    checkers = AllCheckers()
    assert [problem for message in log for problem in checkers.see(message)] == []


@pytest.mark.parametrize("gradient_gb", [0, 20_000])
def test_the_network_sizes_trunks_for_the_traffic_of_the_job(gradient_gb: int) -> None:
    """Gradients of 20 TB per step exceed the trunk between the pods in a uniform mesh."""
    pods = {pod: superpod_config([*QUIET, f"workload.multipod_gradient_gb={gradient_gb}"]) for pod in PODS}
    lab = Lab("campus", pods | {"dcn-0": config_from_sections("dcn", NETWORK, "dcn-0")}, services_of)
    lab.run(REQUESTED_US)
    installed = links(lab)
    job = RequestSlice(shape=(4, 8, 16), pods=PODS)
    lab.run(END_US, [LabRequest(REQUESTED_US + 1, "pod-0", job, 1)])
    assert (links(lab) > installed) == (gradient_gb > 0)
