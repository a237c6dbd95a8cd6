"""Claims about jobs, from 60 days of pods with the defaults: how many start per day, and how they end.

The mean over seeds is compared with what NSDI 2024 states for one pod in 60 days, within a tenth.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from statistics import fmean

import numpy as np
import numpy.typing as npt

from ops.reproduce.claim import (
    NSDI_SOURCE,
    Measured,
    PaperClaim,
    Stated,
    calibrated,
    on_machines,
    over_seeds,
    second_hand,
)
from ops.reproduce.lab_runs import WORKLOAD_RUNS, ClaimRun, lab_runs, slice_intervals
from schemas.config.workload import WorkloadConfig
from schemas.messages.scheduler import ConnectCircuits, CubeSwapped, SliceRecovering, SliceStarted
from schemas.messages.workload import SliceRequested
from shared.basics.units import US_PER_DAY
from shared.models.jobs.goodput_accounting import TIERS, UNUSABLE
from shared.models.superpod.wiring import FACE_LINKS

STATED_JOBS, STATED_CONNECTS = 139, 24_200
"""Jobs and connects per day on one production pod."""
POD_LINKS = 64 * 3 * FACE_LINKS
"""Links of a pod if every cube is in a slice of cubes."""
LARGE = 32
"""Cubes, of 64. While a slice of this size runs, few others can start."""
EXTREME_DAYS = 6
FROM_DEMAND = second_hand(
    "fitted: run times and their growth to this figure and to the links a day, sizes of filler and "
    "campaigns to its spread"
)
MOST_LINKS = (
    f"; 70,400 are {70_400 / POD_LINKS:.0f} full pods rewired in a day, for example by a large job that "
    "fails and restarts in a loop, which is not modelled"
)


def _by_day(run: ClaimRun, kind: type[SliceRequested | SliceStarted]) -> list[int]:
    """Count these messages on each whole day."""
    days = Counter(m.at_us // US_PER_DAY for m in run.messages if isinstance(m.body, kind))
    return [days[day] for day in range(int(run.days))]


def _mean_jobs() -> Measured:
    """Return the jobs that start per day. The note states how many requests did not start."""
    runs = lab_runs(WORKLOAD_RUNS)
    total: Counter[str] = Counter()
    for run in runs:
        total.update(run.pod.slices)
    used = 100.0 * fmean(float(run.pod.utilisation) for run in runs)
    days = sum(run.days for run in runs)
    started = [fmean(_by_day(run, SliceStarted)) for run in runs]
    requested = total["requested"] / days
    found = over_seeds(
        started,
        f"starts, restarts included; {requested:.1f} a day are requested, filler included, "
        f"at a load of {100 * WorkloadConfig().offered_load:.0f} % without it, and {used:.0f} % of the "
        f"healthy chips are used; {total['balked']:,} requests were not made because the queue was too long, "
        f"and {total['queued']:,} wait at the end",
    )
    return replace(found, figures={"requested_per_day": requested})


def _chip_time_of_large(run: ClaimRun) -> npt.NDArray[np.float64]:
    """Return the mean number of cubes of slices with at least LARGE cubes, for each whole day."""
    days = int(run.days)
    held = np.zeros(days)
    for interval in slice_intervals(run):
        if interval.cubes >= LARGE:
            for day in range(interval.begin_us // US_PER_DAY, min(days, interval.end_us // US_PER_DAY + 1)):
                within = min(interval.end_us, (day + 1) * US_PER_DAY) - max(
                    interval.begin_us, day * US_PER_DAY
                )
                held[day] += interval.cubes * within / US_PER_DAY
    return held


def _extreme(of: Callable[[list[int]], int]) -> Measured:
    """Return the number of jobs on the quietest or the busiest day. The note states what occupied the pods on
    such days."""
    jobs, few, many = [], [], []
    for run in lab_runs(WORKLOAD_RUNS):
        started = _by_day(run, SliceStarted)
        order, held = np.argsort(started, kind="stable"), _chip_time_of_large(run)
        few.append(float(held[order[:EXTREME_DAYS]].mean()))
        many.append(float(held[order[-EXTREME_DAYS:]].mean()))
        jobs.append(of(started))
    quiet, busy = fmean(few), fmean(many)
    found = over_seeds(
        jobs,
        "campaigns coincide, and filler starts in the holes that they leave; slices of "
        f"{LARGE} cubes or more have {quiet:.0f} of 64 cubes on the {EXTREME_DAYS} days with the fewest "
        f"starts, {busy:.0f} on those with the most",
    )
    return replace(
        found, figures={"cubes_of_large_on_quiet_days": quiet, "cubes_of_large_on_busy_days": busy}
    )


def _links_by_day(run: ClaimRun) -> list[int]:
    """Return the number of links that slices were connected by on each whole day, including circuits that
    were already made."""
    days: Counter[int] = Counter()
    for message in run.messages:
        if isinstance(message.body, ConnectCircuits):
            days[message.at_us // US_PER_DAY] += FACE_LINKS * len(message.body.joins)
    return [days[day] for day in range(int(run.days))]


def _links(of: Callable[[list[int]], float], note: str) -> Measured:
    """Return the links commanded per day. The note has the cross-connects that were made for them."""
    runs = lab_runs(WORKLOAD_RUNS)
    made = fmean([(run.pod.cross_connects or 0) / run.days for run in runs])
    found = over_seeds(
        [float(of(_links_by_day(run))) for run in runs],
        "links commanded, 48 per cube, including circuits that were already made; a link has two strands, so "
        f"it is two cross-connects of one North and one South port each; {made:,.0f} cross-connects a day "
        f"did not exist before and are made{note}",
    )
    return replace(found, figures={"cross_connects_made_per_day": made})


def _jobs_disrupted() -> Measured:
    """Return the percentage of started jobs that a failure of their cubes, or of these cubes' links,
    interrupted."""
    shares, met, by_ocs, all_started = [], 0, 0, 0
    for run in lab_runs(WORKLOAD_RUNS):
        started = {interval.slice for interval in slice_intervals(run)}
        struck = {
            m.body.slice
            for m in run.messages
            if (isinstance(m.body, SliceRecovering) and "/cube-" in m.body.part)
            or (isinstance(m.body, CubeSwapped) and m.body.reason == "failed")
        } & started
        met_ocs = {
            m.body.slice
            for m in run.messages
            if isinstance(m.body, SliceRecovering) and "/ocs-" in m.body.part
        } & started
        shares.append(100.0 * len(struck) / len(started))
        met += len(struck)
        by_ocs += len(met_ocs - struck)
        all_started += len(started)
    return over_seeds(
        shares,
        f"{met} of {all_started:,} started jobs, by failures in their own cubes and at their link ends. "
        f"{by_ocs:,} others had an OCS failure, which 95 % route around, and do not count: with them it is "
        f"{100.0 * (met + by_ocs) / all_started:.1f} %",
    )


def _of_all_chips(run: ClaimRun) -> float:
    """Return the share of all chip-time that slices had, including chips that are down."""
    pod = run.pod
    unusable = sum(pod.chip_us[category] for category in UNUSABLE)
    return float(pod.utilisation * (1.0 - unusable / pod.total_chip_us))


def _utilisation() -> Measured:
    runs = lab_runs(WORKLOAD_RUNS)
    by_tier = {
        tier: 100.0 * fmean(float(run.pod.utilisation_by_tier[tier]) for run in runs) for tier in TIERS
    }
    productive = fmean(100.0 * run.pod.chip_us["productive"] / run.pod.usable_chip_us for run in runs)
    found = over_seeds(
        [100.0 * float(run.pod.utilisation) for run in runs],
        "of the chips that were healthy and not drained, all in slices, including start-up, checkpoints and "
        f"recovery: it is as high if slices do little work; here {productive:.1f} % are productive; "
        + ", ".join([f"{tier} {share:.1f} %" for tier, share in by_tier.items()])
        + f"; of all chips {100.0 * fmean(map(_of_all_chips, runs)):.1f} %",
    )
    return replace(found, figures={"productive_percent": productive})


CLAIMS: tuple[PaperClaim, ...] = (
    PaperClaim(
        "jobs/mean",
        "139 jobs start on a pod on an average day",
        NSDI_SOURCE,
        on_machines(STATED_JOBS, "jobs/day"),
        FROM_DEMAND,
        "lab run",
        _mean_jobs,
        runs=WORKLOAD_RUNS,
    ),
    PaperClaim(
        "jobs/least",
        "On the quietest of 60 days, 58 jobs start",
        NSDI_SOURCE,
        on_machines(58, "jobs/day"),
        FROM_DEMAND,
        "lab run",
        lambda: _extreme(min),
        runs=WORKLOAD_RUNS,
    ),
    PaperClaim(
        "jobs/most",
        "On the busiest of 60 days, 248 jobs start",
        NSDI_SOURCE,
        on_machines(248, "jobs/day"),
        FROM_DEMAND,
        "lab run",
        lambda: _extreme(max),
        runs=WORKLOAD_RUNS,
    ),
    PaperClaim(
        "jobs/struck",
        "An outage hits about 1 % of jobs",
        "NSDI 2024",
        Stated(1, "%", 0.5),
        second_hand("computed"),
        "lab run",
        _jobs_disrupted,
        runs=WORKLOAD_RUNS,
    ),
    PaperClaim(
        "jobs/cross-connects",
        "A pod makes 24,200 cross-connects on an average day",
        NSDI_SOURCE,
        on_machines(STATED_CONNECTS, "links/day"),
        FROM_DEMAND,
        "lab run",
        lambda: _links(fmean, ""),
        runs=WORKLOAD_RUNS,
    ),
    PaperClaim(
        "jobs/cross-connects-least",
        "On the quietest of 60 days, it makes 9,400",
        NSDI_SOURCE,
        on_machines(9_400, "links/day"),
        second_hand("computed: the spread of starts is fitted, the spread of links is not"),
        "lab run",
        lambda: _links(min, ""),
        runs=WORKLOAD_RUNS,
    ),
    PaperClaim(
        "jobs/cross-connects-most",
        "On the busiest of 60 days, it makes 70,400",
        NSDI_SOURCE,
        on_machines(70_400, "links/day"),
        second_hand("computed: the spread of starts is fitted, the spread of links is not"),
        "lab run",
        lambda: _links(max, MOST_LINKS),
        runs=WORKLOAD_RUNS,
    ),
    PaperClaim(
        "jobs/utilisation",
        "The fleet's utilisation is more than 98 %",
        "[LF] 4.2.4",
        Stated(98, "%", "above"),
        calibrated(
            "sizes of filler to this figure; the demand is assumed: 0.8 of the pod, and endless filler. "
            "The base is the chips that are healthy and not drained, and chips in slices that do not work "
            "yet count; the paper states neither the base nor what counts"
        ),
        "lab run",
        _utilisation,
        runs=WORKLOAD_RUNS,
    ),
)
