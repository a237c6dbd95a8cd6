"""Claims on jobs, from 60 days of a pod with the defaults: how many start a day, what becomes of them."""

import math
from collections import Counter
from functools import lru_cache

import numpy as np

from ops.reproduce.claims import NSDI, SIGMAS, Claim, Measured, Stated
from ops.reproduce.labs import workload_run
from schemas.config import WorkloadConfig
from schemas.scheduler import (
    CubeSwapped,
    SliceAdmitted,
    SliceCompleted,
    SliceEvicted,
    SliceStalled,
    SliceStarted,
)
from schemas.workload import SliceRequested
from shared.basics.units import US_PER_DAY
from shared.models.superpod.shapes import is_mesh
from shared.models.superpod.wiring import ENDS_PER_CUBE

STATED_JOBS, STATED_CONNECTS = 139, 24_200
"""A day on one production pod."""
LARGE = 32
"""Cubes, of 64: while a slice of so many stands, few others can start."""
EXTREME_DAYS = 6


def _by_day(said: type[SliceRequested | SliceStarted]) -> list[int]:
    """How often this was said on each whole day."""
    run = workload_run()
    days = Counter(m.at_us // US_PER_DAY for m in run.messages if isinstance(m.body, said))
    return [days[day] for day in range(int(run.days))]


def _mean_jobs() -> Measured:
    """Jobs a day; three deviations of the mean of so many days, as unlike each other as these."""
    started = np.array(_by_day(SliceStarted))
    run = workload_run()
    slices = run.report["slices"]
    asked = slices["requested"]
    return Measured(
        float(started.mean()),
        tolerance=SIGMAS * float(started.std(ddof=1)) / math.sqrt(len(started)),
        note=f"{asked / run.days:.1f} a day are asked for, an input set to the paper's {STATED_JOBS}; "
        f"with the run times assumed that is {100 * WorkloadConfig().offered_load:.0f} % of the pod's "
        f"chips, and {100 * run.report['utilisation']:.0f} % are used. So "
        f"{100 * len(_starts()) / asked:.0f} % of the jobs start; of the others "
        f"{slices['waiting']} wait at the end and {slices['refused']:,} found "
        f"the queue full. Tolerance: three deviations of the mean of {len(started)} such days",
    )


@lru_cache(maxsize=1)
def _starts() -> dict[str, tuple[int, int, int]]:
    """Slice → (cubes, start, end), in µs of the run; the end of the run where it has none."""
    run = workload_run()
    cubes: dict[str, int] = {}
    starts: dict[str, tuple[int, int, int]] = {}
    for message in run.messages:
        body = message.body
        if isinstance(body, SliceAdmitted):
            cubes[body.slice] = len(body.cubes)
        elif isinstance(body, SliceStarted):
            starts[body.slice] = (cubes[body.slice], message.at_us, round(run.days * US_PER_DAY))
        elif isinstance(body, SliceCompleted | SliceEvicted) and body.slice in starts:
            starts[body.slice] = (*starts[body.slice][:2], message.at_us)
    return starts


def _held_by_large() -> list[float]:
    """Cubes that slices of LARGE cubes or more hold, in the mean of each whole day."""
    days = int(workload_run().days)
    held = np.zeros(days)
    for cubes, start, end in _starts().values():
        if cubes >= LARGE:
            for day in range(start // US_PER_DAY, min(days, end // US_PER_DAY + 1)):
                within = min(end, (day + 1) * US_PER_DAY) - max(start, day * US_PER_DAY)
                held[day] += cubes * within / US_PER_DAY
    return held.tolist()


def _extreme(jobs: int, *, least: bool) -> Measured:
    """A day's jobs, with what the pod was full of on the days of most and of fewest."""
    asked = _by_day(SliceRequested)
    order = np.argsort(_by_day(SliceStarted), kind="stable")
    held = np.array(_held_by_large())
    few, many = (float(held[days].mean()) for days in (order[:EXTREME_DAYS], order[-EXTREME_DAYS:]))
    cause = "large slices hold it, others wait" if least else "large slices are gone, the queue empties"
    return Measured(
        jobs,
        note=f"a full pod starts what it has room for: {cause}. Those of {LARGE} cubes or more hold "
        f"{few:.0f} of 64 cubes on the {EXTREME_DAYS} days of fewest starts, {many:.0f} on those of "
        f"most, while {min(asked)} to {max(asked)} jobs a day are asked for",
    )


def _cross_connects() -> Measured:
    """Circuits a day, and which slices make them."""
    run = workload_run()
    made = run.report["cross_connects"]
    tori = [
        len(m.body.cubes)
        for m in run.messages
        if isinstance(m.body, SliceAdmitted) and not is_mesh(m.body.shape)
    ]
    in_large = sum(cubes for cubes in tori if cubes >= LARGE)
    single, large = (ENDS_PER_CUBE * cubes / made for cubes in (tori.count(1), in_large))
    a_job = STATED_CONNECTS / STATED_JOBS
    return Measured(
        made / run.days,
        note=f"every strand counts; {made / run.days / 2:,.0f} a day if the two of a link count once. A "
        f"torus takes {ENDS_PER_CUBE} circuits a cube, and the {len(tori):,} tori have {np.mean(tori):.1f} "
        f"cubes in the mean: those of {LARGE} or more make {100 * large:.0f} % of all circuits, those of one "
        f"{100 * single:.1f} %. The paper's figures come to {a_job:.0f} circuits a job, "
        f"{a_job / ENDS_PER_CUBE:.1f} cubes: its jobs are smaller than the mix of [T4] Table 2, or many of "
        "their circuits stood already; the twin connects every slice anew",
    )


def _jobs_struck() -> Measured:
    """Percent of the jobs started that lost a cube to a failure, or everything."""
    run = workload_run()
    started = _starts()
    struck = {
        m.body.slice
        for m in run.messages
        if isinstance(m.body, SliceStalled | SliceEvicted)
        or (isinstance(m.body, CubeSwapped) and m.body.reason == "failed")
    }
    met = len(struck & set(started))
    return Measured(
        100.0 * met / len(started), note=f"{met} of {len(started):,} jobs started in {run.days:.0f} days"
    )


def _utilisation() -> float:
    return 100.0 * float(workload_run().report["utilisation"])


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "jobs/mean",
        "139 jobs start on a pod on a mean day",
        NSDI,
        Stated(STATED_JOBS, "jobs/day"),
        "lab run",
        _mean_jobs,
    ),
    Claim(
        "jobs/least",
        "No day of 60 has fewer than 58 jobs",
        NSDI,
        Stated(58, "jobs/day", "at least"),
        "lab run",
        lambda: _extreme(min(_by_day(SliceStarted)), least=True),
    ),
    Claim(
        "jobs/most",
        "No day of 60 has more than 248 jobs",
        NSDI,
        Stated(248, "jobs/day", "at most"),
        "lab run",
        lambda: _extreme(max(_by_day(SliceStarted)), least=False),
    ),
    Claim(
        "jobs/struck",
        "About 1 % of jobs meet an outage",
        "NSDI 2024",
        Stated(1, "%", 0.5),
        "lab run",
        _jobs_struck,
    ),
    Claim(
        "jobs/cross-connects",
        "A pod makes 24,200 cross-connects on a mean day",
        NSDI,
        Stated(STATED_CONNECTS, "circuits/day", 2_420),
        "lab run",
        _cross_connects,
    ),
    Claim(
        "jobs/utilisation",
        "The fleet is used to more than 98 %",
        "[LF] 4.2.4",
        Stated(98, "%", "above"),
        "lab run",
        _utilisation,
        "5.7 % of slices want 48 of 64 cubes, and keeping cubes for them idles the pod; the twin has neither "
        "the preemption nor the run-time estimates of a production scheduler",
    ),
)
