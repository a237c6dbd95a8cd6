"""Ten thousand random slices on a small pod, with faults, drains, preemptions, repairs and releases in any
order.

When all have ended, no state contains a trace of them or has grown.
"""

import random
from collections import Counter

import numpy as np
import pytest

from ops.invariants.checker import AllCheckers
from ops.sites.configuration import superpod_config
from schemas.body import Body
from schemas.config.workload import TraceRow
from schemas.messages.operator import ClearFault, DrainCube, InjectFault, ReleaseSlice, UndrainCube
from schemas.names import Tier
from schemas.registry import decode
from services.jobs.state import JobsState
from services.ocs.state import NO_OWNER, OcsState
from services.scheduler.queue.order import chips_by_owner
from services.scheduler.state import SchedulerState, occupancy_of
from services.transceivers.state import TransceiversState
from services.workload.state import WorkloadState
from shared.basics.units import US_PER_DAY, US_PER_S
from shared.engine.ended_rows import ENDED_MAX
from shared.engine.site import Site
from shared.engine.site_driver import LabRequest
from shared.engine.state_codec import encode_state
from shared.models.network.wiring import NO_PORT
from shared.models.superpod.wiring import FACES, join_ports
from tests.simulation.test_swarm import unsettled
from tests.support.pods import POD, pod_lab
from tests.support.swarm import SHAPES

CUBES = 4
US_PER_MINUTE = 60 * US_PER_S
LIFETIMES = 10_000
A_DAY = 1_000
"""Slices per day, which offer about 1.1 times the pod's capacity."""
ACTS_A_DAY = 120
TIERS: tuple[Tier, ...] = ("production", "research", "research", "filler")
OWNERS = 5
HAPPENED = {
    "SliceCompleted",
    "SliceEvicted",
    "SliceRefused",
    "SliceRequeued",
    "SliceNoticed",
    "CubeSwapped",
    "SliceRecovering",
    "SliceOverran",
    "JobFailed",
    "RepairCompleted",
}


def drawn_trace(draw: random.Random, lifetimes: int) -> tuple[TraceRow, ...]:
    days = lifetimes / A_DAY
    return tuple(
        TraceRow(
            submit_us=draw.randrange(round(days * US_PER_DAY)),
            duration_us=draw.randrange(1, 8 * US_PER_MINUTE),
            shape=draw.choice([shape for shape in SHAPES if np.prod(shape) <= 64 * CUBES]),
            twisted=False,
            priority=draw.randrange(-1, 2),
            owner=f"team-{draw.randrange(OWNERS)}",
            tier=draw.choice(TIERS),
            estimate_us=draw.choice([None, US_PER_MINUTE, 10 * US_PER_MINUTE]),
        )
        for _ in range(lifetimes)
    )


def drawn_acts(draw: random.Random, lifetimes: int, quiet_us: int) -> list[LabRequest]:
    """Draw requests of operators; at the end every cube is undrained."""
    times = sorted(draw.randrange(1, quiet_us) for _ in range(ACTS_A_DAY * lifetimes // A_DAY))
    acts = [(at_us, drawn_act(draw, lifetimes * at_us // quiet_us)) for at_us in times]
    acts += [(quiet_us, UndrainCube(cube=f"{POD}/cube-{cube}")) for cube in range(CUBES)]
    return [LabRequest(at_us, POD, act, number) for number, (at_us, act) in enumerate(acts, start=1)]


def drawn_act(draw: random.Random, requested: int) -> Body:
    cube = f"{POD}/cube-{draw.randrange(CUBES)}"
    lasts_us = draw.randrange(1, 20 * US_PER_MINUTE)
    end = f"{cube}/{draw.choice(FACES)}/{draw.randrange(16)}"
    return draw.choice(
        [
            ReleaseSlice(slice=f"{POD}/slice-{max(0, requested - draw.randrange(40))}"),
            DrainCube(cube=cube),
            UndrainCube(cube=cube),
            InjectFault(kind="host", target=f"{cube}/host-{draw.randrange(16)}", duration_us=lasts_us),
            InjectFault(kind="link", target=end, duration_us=lasts_us),
            InjectFault(kind="ocs", target=f"{POD}/ocs-{draw.randrange(48)}", duration_us=lasts_us),
            ClearFault(fault=f"{POD}/fault-{draw.randrange(500)}"),
        ]
    )


def run_lifetimes(lifetimes: int, policy: list[str]) -> tuple[Site, Counter[str]]:
    """Return the site after this many slices have ended and all faults are repaired, and the counts of
    emitted messages."""
    draw = random.Random(lifetimes)
    quiet_us = round((lifetimes / A_DAY + 0.5) * US_PER_DAY)
    config = superpod_config(
        [
            f"pod.cubes={CUBES}",
            "scheduler.retries_max=0",
            "scheduler.grace_s=30",
            "scheduler.preflight_s=5",
            "scheduler.production_waits_h=0.05",
            "scheduler.research_waits_h=0.5",
            "scheduler.research_runs_h=0",
            "workload.startup_s=10",
            "workload.checkpoint_every_s=120",
            "workload.checkpoint_write_s=5",
            "repairs.host_repair_h=0.2",
            "repairs.link_repair_h=0.1",
            "repairs.ocs_repair_h=0.1",
            *policy,
        ],
        seed=lifetimes,
        trace=drawn_trace(draw, lifetimes),
    )
    checkers, counts, problems = AllCheckers(), Counter[str](), list[str]()

    def judge(lines: bytes) -> None:
        for line in lines.splitlines():
            message = decode(line)
            counts[message.type] += 1
            problems.extend(checkers.see(message))

    lab = pod_lab(config, sink=judge)
    lab.run(quiet_us, drawn_acts(draw, lifetimes, quiet_us))
    end_us = quiet_us
    while (unsettled(lab.site) or scheduler_of(lab.site).slices) and end_us < quiet_us + 20 * US_PER_DAY:
        end_us += US_PER_DAY // 4
        lab.run(end_us)
    assert problems == []
    assert unsettled(lab.site) == []
    return lab.site, counts


def scheduler_of(site: Site) -> SchedulerState:
    state = site.instance(POD, "scheduler").state
    assert isinstance(state, SchedulerState)
    return state


def left_over(state: object, names: str) -> dict[str, object]:
    """Return the tables of a state, among these, that are not empty."""
    return {name: table for name in names.split() if (table := getattr(state, name))}


def sizes(site: Site) -> dict[str, int]:
    """Return the size in bytes of every stored state, without the requested trace."""
    by_service = {}
    for instance in site.instances:
        state = instance.state
        assert state is not None
        if isinstance(state, WorkloadState):
            state.trace = ()
        by_service[instance.name] = len(encode_state(state))
    return by_service


def check_nothing_is_left(site: Site) -> None:
    states = {instance.name: instance.state for instance in site.instances}
    scheduler, jobs, workload = scheduler_of(site), states["jobs"], states["workload"]
    tables = (
        "slices promises tickets unhealthy suspects "
        "module_failed_cubes ocs_down "
        "drained bad_ends queued chips_allocated next_preemption_us"
    )
    assert left_over(scheduler, tables) == {}
    occupancy = occupancy_of(scheduler)
    assert (occupancy.held, occupancy.meshes, set(occupancy.used)) == ({}, {}, {0})
    assert len(scheduler.warm_cubes) == scheduler.config.hot_spares
    assert occupancy.idle == [cube for cube in range(CUBES) if cube not in scheduler.warm_cubes]
    assert scheduler.queue is None or not scheduler.queue.lines
    assert chips_by_owner(scheduler) == {}
    assert isinstance(jobs, JobsState)
    assert left_over(jobs, "jobs broken") == {}
    assert len(jobs.usage_by_owner) == OWNERS * len(set(TIERS))
    assert isinstance(workload, WorkloadState)
    assert left_over(workload, "wanted campaigns ends") == {}
    assert max(len(scheduler.ended), len(jobs.ended)) <= ENDED_MAX
    check_circuits(scheduler, states["ocs"])
    transceivers = states["transceivers"]
    assert isinstance(transceivers, TransceiversState)
    assert left_over(transceivers, "faults") == {}
    assert left_over(states["repairs"], "queued begun open_targets") == {}
    assert left_over(states["cubes"], "hosts modules repairs_open") == {}
    assert left_over(states["failures"], "active") == {}


def check_circuits(scheduler: SchedulerState, ocs: object) -> None:
    """Check that all remaining circuits are unused, and that the scheduler knows them."""
    assert isinstance(ocs, OcsState)
    assert left_over(ocs, "connects restores") == {}
    assert np.all(ocs.owner == NO_OWNER)
    assert not ocs.turning.any()
    joins = tuple((key % 3, key // 3, south) for key, south in sorted(scheduler.leftover_circuits.items()))
    expected = np.full_like(ocs.wanted, NO_PORT)
    if joins:
        number, north, south = join_ports(joins)
        expected[number, north] = south
    assert np.array_equal(ocs.wanted, expected)
    assert np.array_equal(ocs.made, expected != NO_PORT)


def test_some_hundred_slices_leave_nothing_behind() -> None:
    site, counts = run_lifetimes(LIFETIMES // 20, ["scheduler.backfill=easy", "scheduler.quotas=team-0=25%"])
    check_nothing_is_left(site)
    assert sum(counts.values()) > LIFETIMES // 20


@pytest.mark.slow("ten thousand slices in a pod of 27 cubes")
def test_ten_thousand_slices_leave_nothing_behind() -> None:
    policy = ["scheduler.backfill=easy", "scheduler.quotas=team-0=25%"]
    site, counts = run_lifetimes(LIFETIMES, policy)
    check_nothing_is_left(site)
    assert {type_ for type_ in HAPPENED if counts[type_] < 20} == set()
    before, _ = run_lifetimes(LIFETIMES // 5, policy)
    then, now = sizes(before), sizes(site)
    assert {name: (then[name], now[name]) for name in now if now[name] > 1.1 * then[name] + 500} == {}


@pytest.mark.slow("two thousand slices a policy")
@pytest.mark.parametrize(
    "policy",
    [
        ["scheduler.backfill=conservative", "scheduler.hold_back=fixed", "scheduler.hold_back_cubes=1"],
        ["scheduler.backfill=none", "scheduler.hot_spares=1", "scheduler.route_around_share=0.5"],
    ],
)
def test_no_scheduling_policy_leaves_anything_behind(policy: list[str]) -> None:
    site, _ = run_lifetimes(LIFETIMES // 5, policy)
    check_nothing_is_left(site)
