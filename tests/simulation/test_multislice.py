"""Multislice jobs in random sites: either all slices of a job have cubes or none has.

No cubes are reserved longer than allowed, and the progress of a job is equal in all its pods, to the
microsecond.
"""

import math
import random
from collections import Counter
from collections.abc import Mapping

import pytest

from ops.invariants.checker import AllCheckers
from ops.sites.configuration import superpod_config
from schemas.config.dcn import DcnConfig
from schemas.envelope import Envelope
from schemas.messages.operator import InjectFault, RequestSlice
from schemas.messages.scheduler import (
    PodHeld,
    PodsJoined,
    PodsParted,
    SliceAdmitted,
    SliceRecovering,
    SliceStarted,
)
from schemas.messages.sequencer import FabricCommissioned, FabricRetired
from schemas.messages.workload import PodAsked, SliceRequested
from schemas.registry import decode
from services.fabric_kinds import services_of
from services.jobs.state import JobsState
from services.scheduler.state import SchedulerState, members_of
from shared.basics.units import US_PER_DAY, US_PER_HOUR, US_PER_MS, US_PER_S
from shared.engine.site_driver import LabRequest
from shared.engine.state import IgnoredDocumentKeys
from shared.engine.state_codec import decode_state, encode_state
from shared.runtimes.lab import Lab
from tests.support.seeds import explored, sliced
from tests.support.several_pods import SITE, Campus, disagreements, draw_campus

SEEDS = 18
BATCH = 9
EXPLORED = 4
"""Random seeds of `make test-all`."""
FAILED_ONCE: tuple[int, ...] = ()
"""Random seeds that failed before, which stay in the gate."""
EMITTED = ("PodAsked", "PodGreeted", "PodWaits", "PodHeld", "PodsJoined", "PodsParted", "PodSignalled")
EMITTED_MIN = 3
QUIET = ["pod.cubes=8", "workload.enabled=false", "failures.enabled=false"]


def run(campus: Campus) -> tuple[list[Envelope], list[str]]:
    """Return the log, and the problems in it or between two root messages."""
    log: list[Envelope] = []
    problems: list[str] = []
    checkers = AllCheckers()

    def judge(lines: bytes) -> None:
        for line in lines.splitlines():
            message = decode(line)
            log.append(message)
            problems.extend(checkers.see(message))

    lab = Lab(SITE, campus.fabrics, services_of, judge)

    def stop() -> bool:
        problems.extend(disagreements(lab.site))
        return bool(problems)

    lab.run(campus.until_us, campus.requests, stop)
    return log, problems[:3]


@pytest.mark.parametrize("seed", [*sliced(SEEDS, always=FAILED_ONCE), *explored(EXPLORED, "jobs")])
def test_no_seed_of_this_commit_separates_the_slices_of_a_job(seed: int) -> None:
    assert run(draw_campus(seed))[1] == []


@pytest.mark.slow("eighteen campuses of several pods, checked after every root message")
@pytest.mark.parametrize("first", range(0, SEEDS, BATCH))
def test_no_seed_separates_the_slices_of_a_job(first: int) -> None:
    counts: Counter[str] = Counter()
    broken = {}
    for seed in range(first, first + BATCH):
        log, problems = run(draw_campus(seed))
        counts.update(message.type for message in log)
        if problems:
            broken[seed] = problems
    assert broken == {}
    assert {name for name in EMITTED if counts[name] < EMITTED_MIN} == set()


@pytest.mark.parametrize("seed", range(100, 103))
def test_stored_and_loaded_states_continue_unchanged(seed: int) -> None:
    """As after a crash, caches are rebuilt, also during holds and backoffs."""
    campus = draw_campus(seed, days=1.0)
    undisturbed = Lab(SITE, campus.fabrics, services_of)
    undisturbed.run(campus.until_us, campus.requests)
    restarted, waiting = Lab(SITE, campus.fabrics, services_of), 0
    for until_us in range(US_PER_HOUR // 4, campus.until_us + 1, US_PER_HOUR // 4):
        due = [
            request for request in campus.requests if until_us - US_PER_HOUR // 4 < request.at_us <= until_us
        ]
        restarted.run(until_us, due)
        for instance in restarted.site.instances:
            assert instance.state is not None
            if isinstance(instance.state, SchedulerState):
                members = [member for _, member in members_of(instance.state)]
                waiting += sum(
                    member.until_us is not None or member.again_us is not None for member in members
                )
            instance.state = decode_state(instance.service.state, encode_state(instance.state))
            instance.state.changed_documents = IgnoredDocumentKeys()
    assert restarted.log_sha256 == undisturbed.log_sha256
    assert waiting > 0


def two_pods(*requests: tuple[int, RequestSlice | InjectFault], hold_s: int = 600) -> list[Envelope]:
    """Return the log of two pods where only the first receives these requests."""
    config = superpod_config([*QUIET, f"scheduler.pods_hold_s={hold_s}"], seed=5)
    lab_requests = [
        LabRequest(at_us, "pod-0", body, number) for number, (at_us, body) in enumerate(requests, 1)
    ]
    log, problems = run(Campus({"pod-0": config, "pod-1": config}, lab_requests, US_PER_DAY))
    assert problems == []
    return log


def job_over_both(**fields: object) -> RequestSlice:
    defaults: dict[str, object] = {"shape": (4, 4, 8), "pods": ("pod-0", "pod-1"), "duration_us": US_PER_HOUR}
    return RequestSlice.model_validate(defaults | fields)


def messages_of(log: list[Envelope], kind: type) -> list[Envelope]:
    return [message for message in log if type(message.body) is kind]


def test_a_job_starts_at_once_if_both_pods_have_room() -> None:
    log = two_pods((US_PER_S, job_over_both()))
    (joined,) = messages_of(log, PodsJoined)
    assert isinstance(joined.body, PodsJoined)
    assert joined.at_us == US_PER_S
    assert joined.body.slices == ("pod-0/slice-0", "pod-1/slice-0")
    assert (joined.body.chips, joined.body.gradient_bytes, joined.body.step_us) == (128, 10**12, 17_600_000)
    admitted = messages_of(log, SliceAdmitted)
    assert [(m.fabric, m.cause) for m in admitted] == [("pod-0", joined.id), ("pod-1", joined.id)]
    started = messages_of(log, SliceStarted)
    assert [message.fabric for message in sorted(started, key=lambda message: message.fabric)] == [
        "pod-0",
        "pod-1",
    ]
    # Mirrors of different pods settle milliseconds apart.
    started_us = [message.at_us for message in started]
    assert max(started_us) - min(started_us) < 30 * US_PER_MS
    parted = [m.body for m in messages_of(log, PodsParted)]
    assert [getattr(body, "ends", None) for body in parted] == ["finished", "finished"]


def test_held_cubes_are_released_in_time_for_other_slices() -> None:
    """The other pod is full for hours; a slice of one pod arrives and needs the held cubes."""
    full = RequestSlice(shape=(8, 8, 8), duration_us=6 * US_PER_HOUR)
    log = two_pods(
        (US_PER_S, job_over_both(shape=(8, 8, 8), duration_us=5 * US_PER_HOUR)),
        (2 * US_PER_S, job_over_both(shape=(8, 8, 8), priority=-1)),
        (3 * US_PER_S, full),
    )
    joined = messages_of(log, PodsJoined)
    assert len(joined) == 2
    held = messages_of(log, PodHeld)
    assert len(held) > 4, "cubes were reserved for the second job before, without effect"
    third = next(
        m for m in messages_of(log, SliceAdmitted) if getattr(m.body, "slice", "") == "pod-0/slice-2"
    )
    assert third.at_us < joined[1].at_us, "a slice of one pod does not wait for a job of another"


def test_two_jobs_that_hold_cubes_from_each_other_both_run() -> None:
    """Each job requests all cubes of the pods in its own order, at the same time."""
    log = two_pods(
        (US_PER_S, job_over_both(shape=(8, 8, 8), tier="research")),
        (US_PER_S, job_over_both(shape=(8, 8, 8), tier="research", pods=("pod-1", "pod-0"))),
    )
    assert len(messages_of(log, PodsJoined)) == 2
    assert {getattr(m.body, "ends", None) for m in messages_of(log, PodsParted)} == {"finished"}


@pytest.mark.parametrize("seed", [14, 21, 23])
@pytest.mark.parametrize("hold_s", [600, 3_600])
def test_no_jobs_deadlock_over_cubes(seed: int, hold_s: int) -> None:
    """Four pods, each full until its own time, and two or three jobs over most of them.

    Their holds start at different times, and a job that gives up in one pod had cubes in another.
    """
    draw = random.Random(seed)
    pods = [f"pod-{number}" for number in range(4)]
    pairs = [*QUIET, f"scheduler.pods_hold_s={hold_s}"]
    full = [
        RequestSlice(shape=(8, 8, 8), duration_us=US_PER_HOUR + draw.randrange(90) * 60 * US_PER_S)
        for _ in pods
    ]
    over = [tuple(draw.sample(pods, draw.choice([3, 4, 4]))) for _ in range(draw.choice([2, 2, 3]))]
    pairs_of_requests = [*zip(pods, full, strict=True)]
    pairs_of_requests += [(job[0], job_over_both(shape=(8, 8, 8), pods=job)) for job in over]
    requests = [
        LabRequest(US_PER_S + number, pod, body, number)
        for number, (pod, body) in enumerate(pairs_of_requests)
    ]
    fabrics = {pod: superpod_config(pairs, seed=10 * seed + number) for number, pod in enumerate(pods)}
    log, problems = run(Campus(fabrics, requests, 2 * US_PER_DAY))
    assert problems == []
    joined = [message.at_us for message in messages_of(log, PodsJoined)]
    assert len(joined) == len(over)
    if hold_s == 600:
        assert max(joined) < 12 * US_PER_HOUR


def test_a_fault_in_one_pod_stops_the_job_in_all_pods_and_frees_nothing() -> None:
    config = superpod_config([*QUIET, "scheduler.decision_s=30"], seed=5)
    requests = [
        LabRequest(US_PER_S, "pod-0", job_over_both(duration_us=None), 1),
        LabRequest(US_PER_HOUR, "pod-1", InjectFault(kind="host", target="pod-1/cube-0/host-3"), 2),
    ]
    lab = Lab(SITE, {"pod-0": config, "pod-1": config}, services_of)
    lab.run(US_PER_HOUR + 60 * US_PER_S, requests)
    jobs = {pod: lab.site.instance(pod, "jobs").state for pod in ("pod-0", "pod-1")}
    phases = {pod: state.jobs[0].progress for pod, state in jobs.items() if isinstance(state, JobsState)}
    assert phases["pod-0"] == phases["pod-1"]
    assert phases["pod-0"].phase == "standing"
    scheduler = lab.site.instance("pod-0", "scheduler")
    assert isinstance(scheduler.state, SchedulerState)
    assert len(scheduler.state.slices[0].cubes) == 2
    document = scheduler.service.document(scheduler.state, ("slices", "pod-0/slice-0"))
    assert getattr(document, "reason", None) == ("stopped: pod-1/slice-0 of the same job cannot run")
    lab.run(2 * US_PER_HOUR)
    assert isinstance(jobs["pod-0"], JobsState)
    assert jobs["pod-0"].jobs[0].progress.phase == "stepping"
    assert jobs["pod-0"].jobs[0].progress.usage.recovering > 0


def test_a_job_over_a_missing_pod_is_refused() -> None:
    log = two_pods((US_PER_S, job_over_both(pods=("pod-0", "pod-7"))), hold_s=60)
    (parted,) = messages_of(log, PodsParted)
    assert getattr(parted.body, "reason", "") == "pods: pod-7 is not a pod of this site"
    assert parted.at_us == 61 * US_PER_S


def test_a_share_of_the_large_campaigns_runs_over_several_pods() -> None:
    quiet = ["pod.cubes=8", "failures.enabled=false", "workload.filler=false", "workload.offered_load=0.5"]
    pods = {
        "pod-0": superpod_config([*quiet, "workload.multipod_share=1"], seed=1),
        "pod-1": superpod_config([*quiet, "workload.multipod_share=1"], seed=2),
    }
    log, problems = run(Campus(pods, [], 2 * US_PER_DAY))
    assert problems == []
    bodies = [m.body for m in messages_of(log, SliceRequested) if isinstance(m.body, SliceRequested)]
    large = [body for body in bodies if body.multislice is not None]
    assert {body.shape[0] * body.shape[1] * body.shape[2] >= 256 for body in large} == {True}
    single = [body for body in bodies if body.multislice is None]
    assert all(body.shape[0] * body.shape[1] * body.shape[2] < 256 for body in single)
    assert {m.fabric for m in messages_of(log, PodAsked)} == {"pod-0", "pod-1"}, (
        "the pod that was commissioned later knows the other one, too"
    )
    assert messages_of(log, SliceRecovering) == []


LOADED = [
    *("pod.cubes=8", "failures.enabled=false", "workload.filler=false"),
    *("workload.offered_load=1", "workload.multipod_share=1"),
]


def network_log(
    pods: Mapping[str, list[str]], customers: Mapping[str, str | None], *later: LabRequest
) -> list[Envelope]:
    """Return the log of these pods and a network. The pods in `customers` are attached to its blocks."""
    fabrics = {pod: superpod_config(pairs, seed=n) for n, (pod, pairs) in enumerate(pods.items(), start=1)}
    log: list[Envelope] = []

    def keep(lines: bytes) -> None:
        log.extend(map(decode, lines.splitlines()))

    lab = Lab(SITE, fabrics | {"dcn-0": network(customers)}, services_of, keep)
    lab.run(4 * US_PER_DAY, later)
    return log


def network(customers: Mapping[str, str | None]) -> DcnConfig:
    rows = [
        {"generation": 100, "uplinks": 256, "pod": pod, "customer": customer}
        for pod, customer in customers.items()
    ]
    hardware = {"racks": 4, "racks_full": 4, "blocks": (*rows, {"generation": 100, "uplinks": 256})}
    quiet = {"failures": {"enabled": False}, "demand": {"interval_s": 86_400}}
    return DcnConfig.model_validate({"network": hardware, **quiet})


def partners(log: list[Envelope], day: int, until_day: int = 99) -> set[tuple[str, str]]:
    """Return (pod, its partner in a multislice job) for these days."""
    invitations = [(m.fabric, m.body, m.at_us // US_PER_DAY) for m in messages_of(log, PodAsked)]
    return {
        (pod, body.pod)
        for pod, body, at in invitations
        if isinstance(body, PodAsked) and day <= at < until_day
    }


def test_an_unattached_pod_is_not_a_partner() -> None:
    """The pod is attached to no block or to a block of another customer, also if it joined later."""
    comes = FabricCommissioned(site=SITE, config=superpod_config(QUIET))
    pods = {f"pod-{n}": LOADED for n in range(4)} | {"pod-4": QUIET}
    on_blocks = {"pod-0": None, "pod-1": "them", "pod-3": None}
    log = network_log(pods, on_blocks, LabRequest(US_PER_HOUR, "pod-5", comes, 1))
    assert partners(log, 0) == {("pod-0", "pod-3"), ("pod-3", "pod-0")}
    large = [
        m
        for m in messages_of(log, SliceRequested)
        if m.fabric in ("pod-1", "pod-2")
        and isinstance(m.body, SliceRequested)
        and math.prod(m.body.shape) >= 256
    ]
    assert large, "these pods run their large jobs alone"


def test_a_network_that_joins_or_retires_changes_the_partners() -> None:
    pods, on_blocks = {f"pod-{n}": LOADED for n in range(3)}, {"pod-0": None, "pod-2": None}
    comes = FabricCommissioned(site=SITE, config=network(on_blocks))
    log = network_log(
        pods,
        on_blocks,
        LabRequest(2 * US_PER_DAY, "dcn-0", FabricRetired(), 1),
        LabRequest(3 * US_PER_DAY, "dcn-1", comes, 2),
    )
    joined = {("pod-0", "pod-2"), ("pod-2", "pod-0")}
    assert partners(log, 0, 2) == joined
    assert partners(log, 2, 3) == {("pod-0", "pod-1"), ("pod-1", "pod-2")}, "the next in order"
    assert partners(log, 3) == joined
