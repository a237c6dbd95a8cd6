"""Sites of several pods with jobs that span them, drawn from a seed, and checks that all pods agree on a job.

All pods of a job must agree whenever the site is quiet.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ops.sites.configuration import config_from_pairs, superpod_config
from schemas.body import Body
from schemas.config.pods import AnyPodConfig, FabricConfig, StaticPodConfig
from schemas.messages.operator import DrainCube, InjectFault, ReleaseSlice, UndrainCube
from schemas.names import Shape
from services.jobs.state import JobsState
from services.scheduler.state import SchedulerState, members_of
from shared.basics.units import US_PER_DAY, US_PER_HOUR
from shared.engine.site import Site
from shared.engine.site_driver import LabRequest
from shared.models.jobs.job_progress import progress_at
from tests.support.policies import drawn_policies, drawn_slice

SITE = "campus"
SHAPES: list[Shape] = [(2, 4, 4), (4, 4, 4), (4, 4, 8), (4, 4, 12), (4, 8, 8)]


@dataclass(frozen=True)
class Campus:
    """Fabrics, among them pods, and the operators' requests up to `until_us`."""

    fabrics: Mapping[str, FabricConfig]
    requests: Sequence[LabRequest]
    until_us: int


def draw_campus(seed: int, days: float = 1.5) -> Campus:
    draw = random.Random(seed)
    pods = [f"pod-{number}" for number in range(draw.choice([2, 2, 3]))]
    cubes, rate = draw.choice([4, 8, 12]), draw.choice([1, 20, 100])
    fabrics: dict[str, AnyPodConfig] = {}
    for number, pod in enumerate(pods):
        pairs = {
            "workload.offered_load": draw.choice([0.3, 0.9, 1.5]),
            "workload.duration_mean_h": draw.choice([0.5, 2]),
            "workload.multipod_share": draw.choice([0, 0.5]),
            **drawn_policies(draw),
            "scheduler.pods_hold_s": draw.choice([60, 600, 3600]),
            "scheduler.pods_backoff_s": draw.choice([1, 300]),
            "transceivers.telemetry_interval_s": 0,
            "repairs.host_repair_h": 0.5,
            "repairs.link_repair_h": 0.5,
            "failures.host_per_day": 0.0008 * rate,
            "failures.link_per_day": 0.00005 * rate,
        }
        if draw.random() < 0.15:
            text = [f"{name}={value}" for name, value in pairs.items()]
            static = config_from_pairs("static-pod", text, seed=10 * seed + number)
            assert isinstance(static, StaticPodConfig)
            fabrics[pod] = static
            continue
        pairs |= {"pod.cubes": cubes if draw.random() < 0.7 else draw.choice([4, 8])}
        pairs |= {"repairs.ocs_repair_h": 1, "failures.ocs_per_day": 0.0004 * rate}
        fabrics[pod] = superpod_config(
            [f"{name}={value}" for name, value in pairs.items()], seed=10 * seed + number
        )
    until_us = round(days * US_PER_DAY)
    times = sorted(draw.randrange(1, until_us) for _ in range(60))
    requests = []
    for number, at_us in enumerate(times, start=1):
        pod = draw.choice(pods)
        requests.append(LabRequest(at_us, pod, _act(draw, pod, pods), number))
    return Campus(fabrics, requests, until_us)


def _wrong_views(site: Site, scheduler: SchedulerState) -> Iterator[str]:
    """Yield where a scheduler's view of a running multi-pod job differs from the job's progress.

    A hung job is left out, because the scheduler cannot know that it hangs.
    """
    jobs = site.instance(scheduler.fabric, "jobs").state
    assert isinstance(jobs, JobsState)
    for row, member in members_of(scheduler):
        number = row.number
        if not member.is_joined or number not in jobs.jobs:
            continue
        seen, progress = (
            scheduler.slices[number].progress,
            progress_at(jobs.jobs[number].progress, site.now_us),
        )
        if seen is None or progress.phase == "hung":
            continue
        seen = progress_at(seen, site.now_us)
        if replace(seen, usage=progress.usage) != progress:
            yield f"{scheduler.fabric}: {member.job} at {site.now_us} is {progress}, taken to be {seen}"


def _act(draw: random.Random, pod: str, pods: list[str]) -> Body:
    cube = f"{pod}/cube-{draw.randrange(4)}"
    if draw.random() < 0.5:
        others = [name for name in pods if name != pod]
        draw.shuffle(others)
        over = (pod, *others[: draw.randrange(1, len(others) + 1)])
        return drawn_slice(draw, SHAPES, twisted=0.1).model_copy(update={"pods": over})
    choices: list[Body] = [
        ReleaseSlice(slice=f"{pod}/slice-{draw.randrange(60)}"),
        DrainCube(cube=cube),
        UndrainCube(cube=cube),
        InjectFault(kind="host", target=f"{cube}/host-{draw.randrange(16)}", duration_us=US_PER_HOUR // 2),
    ]
    return draw.choice(choices)


def disagreements(site: Site) -> Iterator[str]:
    """Yield where the pods of a job disagree about it or about its progress, at a quiet time."""
    seen: dict[str, set[object]] = {}
    progress_of: dict[str, set[object]] = {}
    for instance in site.instances:
        state = instance.state
        if isinstance(state, SchedulerState):
            yield from _wrong_views(site, state)
            for row, member in members_of(state):
                seen.setdefault(member.job, set()).add((member.slices, member.status, member.is_joined))
                if member.is_joined != bool(row.cubes):
                    yield f"{state.fabric}: {member} has cubes {row.cubes}"
        elif isinstance(state, JobsState):
            for number, team in state.multislice_jobs.items():
                progress = progress_at(state.jobs[number].progress, site.now_us)
                progress_of.setdefault(team.job, set()).add(replace(progress, since_us=0))
    for table in (seen, progress_of):
        for name, values in table.items():
            if len(values) > 1:
                yield f"job {name} at {site.now_us}: {values}"
