"""Lab runs that claims share. Each runs once in a process, when first needed, or in advance in several
processes."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from joblib import Parallel, delayed

from ops.lab.offered_load import LoadCheck, is_scheduler, loads_of_sites
from ops.lab.site_run import SiteRun
from ops.reproduce.circuit_watch import CircuitWatch
from ops.sites.site_plans import single_fabric_sites
from schemas.envelope import Envelope
from schemas.messages.scheduler import (
    SliceAdmitted,
    SliceCompleted,
    SliceEvicted,
    SliceRequeued,
    SliceStarted,
)
from schemas.messages.workload import SliceRequested
from schemas.names import Tier
from services.totals.availability_time import AvailabilitySpans
from services.totals.fabric_spans import PodSpan
from shared.basics.units import US_PER_DAY
from shared.engine.site_driver import LabRequest
from shared.runtimes.process_pool import worker_death_reported

POD = "pod-0"
SEEDS = (0, 1, 2, 3, 4)
"""Seeds of every configuration. No claim depends on a single draw."""
WORKLOAD_DAYS = 60.0
"""As long as NSDI 2024 observed its production pod."""
HARDWARE_DAYS = 700.0
"""A hundred weeks: as long as NSDI 2024 observed the failures of its fleet."""
DRILL_DAYS = 2.0
NO_TELEMETRY = "transceivers.telemetry_interval_s=0"
"""No claim needs telemetry."""
RECORDED_TYPES = frozenset(
    {
        *("ConnectCircuits", "CubeHealthy", "CubeSwapped", "DisconnectCircuits", "FaultBegan"),
        "LeaveCircuits",
        *("OcsDown", "OcsPartDown", "OcsPartUp", "OcsUp", "PortsDown", "PortsUp"),
        *("SliceAdmitted", "SliceCompleted", "SliceDegraded", "SliceEvicted", "SliceRecovering"),
        *("SliceRequested", "SliceRequeued", "SliceStarted"),
    }
)
"""Types of messages that claims read."""


@dataclass(frozen=True, slots=True)
class ClaimRunPlan:
    """The plan of a run: one superpod for a number of days, with settings over the defaults or over a
    calibration, and with requests. `services` restricts the services that run."""

    days: float
    seed: int
    pairs: tuple[str, ...] = (NO_TELEMETRY,)
    requests: tuple[LabRequest, ...] = ()
    services: tuple[str, ...] = ()
    calibration: str | None = None


@dataclass(frozen=True, slots=True)
class ClaimRun:
    """The result of a run: what the pod did (`span`, None if only some services ran), how long its cubes were
    available, and the messages of RECORDED_TYPES.

    `cut` counts, by slice, circuits that a slice lost without giving them up and without a fault.
    `circuits_made` counts the circuits that slices got (`CircuitWatch`).
    """

    days: float
    span: PodSpan | None
    availability_time: AvailabilitySpans
    messages: tuple[Envelope, ...]
    cut: Mapping[str, int] = field(default_factory=dict)
    circuits_made: int = 0

    @property
    def pod(self) -> PodSpan:
        """Return what the pod did. Raises ValueError if only some services ran."""
        if self.span is None:
            raise ValueError("a run of only some services has no totals")
        return self.span


WORKLOAD_RUNS = tuple(ClaimRunPlan(WORKLOAD_DAYS, seed) for seed in SEEDS)
"""Defaults: the production mix, faults and repairs."""
HARDWARE_RUNS = tuple(
    ClaimRunPlan(HARDWARE_DAYS, seed, (NO_TELEMETRY, "workload.enabled=false")) for seed in SEEDS
)
"""Faults and repairs only."""
SLOW_REPAIR_RUNS = tuple(
    ClaimRunPlan(
        HARDWARE_DAYS,
        seed,
        (
            *(NO_TELEMETRY, "workload.enabled=false", "repairs.technicians=1000"),
            *("repairs.host_repair_h=72", "repairs.link_repair_h=72"),
        ),
    )
    for seed in SEEDS
)
"""The same with 3 days for every repair, and enough technicians to start at once."""
FIELD_DAYS, FIELD_SEEDS = 400.0, range(20)
FIELD_RUNS = tuple(
    ClaimRunPlan(
        FIELD_DAYS,
        seed,
        (NO_TELEMETRY, "transceivers.inspection_interval_s=0"),
        services=("cubes", "diagnosis", "failures", "ocs", "repairs", "transceivers"),
        calibration="field",
    )
    for seed in FIELD_SEEDS
)
"""Faults, repairs and planned work with the calibration `field`, without jobs."""
FIELD_WORKLOAD_DAYS = 30.0
FIELD_WORKLOAD_RUNS = tuple(
    ClaimRunPlan(
        FIELD_WORKLOAD_DAYS, seed, (NO_TELEMETRY, "transceivers.inspection_interval_s=0"), calibration="field"
    )
    for seed in SEEDS
)
"""The same with the production mix."""

OCS_DAYS = 182_500.0
OCS_PART_RUNS = tuple(
    ClaimRunPlan(
        OCS_DAYS,
        seed,
        (
            *("repairs.technicians=1000", "failures.host_per_day=0"),
            *("failures.link_per_day=0", "failures.optics_per_day=0"),
        ),
        services=("failures", "repairs", "ocs"),
    )
    for seed in SEEDS
)
"""Only the parts of OCSes fail, for 500 years: 120,000 OCS-years in total. Services that would only emit
hourly messages about an idle pod do not run."""

_finished_runs: dict[ClaimRunPlan, ClaimRun] = {}


def drill(requests: tuple[LabRequest, ...], offered_load: float, seed: int) -> ClaimRunPlan:
    """Return the plan of a pod without filler and without faults, except for injected ones."""
    load = (f"workload.offered_load={offered_load}", "workload.filler=false")
    pairs = (NO_TELEMETRY, "failures.enabled=false", *load)
    return ClaimRunPlan(DRILL_DAYS, seed, pairs, requests)


def lab_run(plan: ClaimRunPlan) -> ClaimRun:
    """Return the run of this plan. Each plan runs once."""
    if plan not in _finished_runs:
        _finished_runs[plan] = _run(plan)
    return _finished_runs[plan]


@cache
def unsteady_run(plan: ClaimRunPlan) -> str | None:
    """Why a run of this plan is not steady, as far as its loads tell; None if it is. The loads of services
    that do not run do not count."""
    sites = single_fabric_sites(1, pairs=plan.pairs, seed=plan.seed, calibration=plan.calibration)
    for load in loads_of_sites(sites, plan.days):
        service = "scheduler" if is_scheduler(load) else "repairs"
        if not plan.services or service in plan.services:
            problem = LoadCheck(load, plan.days).problem
            if problem is not None:
                return problem
    return None


def lab_runs(plans: Iterable[ClaimRunPlan]) -> list[ClaimRun]:
    return [lab_run(plan) for plan in plans]


def run_ahead(plans: Iterable[ClaimRunPlan], jobs: int) -> None:
    """Run the missing plans in `jobs` processes, longest first. Results do not depend on `jobs`."""
    missing = sorted({*plans} - _finished_runs.keys(), key=lambda plan: -plan.days)
    if jobs > 1 and len(missing) > 1:
        with worker_death_reported(), warnings.catch_warnings():
            # joblib replaces workers that use much memory.
            warnings.filterwarnings("ignore", "A worker stopped", UserWarning)
            runs: list[ClaimRun] = Parallel(n_jobs=min(jobs, len(missing)))(
                delayed(_run)(plan) for plan in missing
            )
        _finished_runs.update(zip(missing, runs, strict=True))


def _run(plan: ClaimRunPlan) -> ClaimRun:
    (site,) = single_fabric_sites(1, pairs=plan.pairs, seed=plan.seed, calibration=plan.calibration)
    until_us = round(plan.days * US_PER_DAY)
    recorded, watch = _MessageRecorder(), CircuitWatch(POD)
    run = SiteRun(site, observers=(recorded, watch), services=plan.services)
    watch.attach(run.lab.site)
    run.run_windows((0, until_us), plan.requests)
    span = run.whole_spans().get(POD)
    availability = run.recorder.availability(POD, until_us)
    if availability is None:
        raise TypeError(f"{POD} has no cubes")
    return ClaimRun(
        plan.days,
        span if isinstance(span, PodSpan) else None,
        availability,
        tuple(recorded.kept),
        watch.cut,
        watch.made,
    )


class _MessageRecorder:
    """Keeps the messages of RECORDED_TYPES; most of the others are Ticks."""

    def __init__(self) -> None:
        self.kept: list[Envelope] = []

    def see(self, cascade: Sequence[Envelope]) -> None:
        """Record the messages of a cascade."""
        self.kept += [message for message in cascade if message.type in RECORDED_TYPES]


# When slices ran in a lab run, according to its log.


@dataclass(frozen=True, slots=True)
class SliceInterval:
    """A slice from one of its starts until it leaves its cubes, or until the end of the run, in µs."""

    slice: str
    tier: Tier
    twisted: bool
    cubes: int
    begin_us: int
    end_us: int


def slice_intervals(run: ClaimRun) -> list[SliceInterval]:
    """Return every stay of every slice, in order of their ends. Stays that last beyond the run come last."""
    tiers: dict[str, Tier] = {}
    placed: dict[str, SliceAdmitted] = {}
    since_us: dict[str, int] = {}
    found: list[SliceInterval] = []

    def end_interval(name: str, at_us: int) -> None:
        begin_us, body = since_us.pop(name), placed[name]
        found.append(SliceInterval(name, tiers[name], body.twisted, len(body.cubes), begin_us, at_us))

    for message in run.messages:
        match message.body:
            case SliceRequested(slice=name, tier=tier):
                tiers[name] = tier
            case SliceAdmitted(slice=name) as body:
                placed[name] = body
            case SliceStarted(slice=name):
                since_us[name] = message.at_us
            case SliceCompleted(slice=name) | SliceEvicted(slice=name) | SliceRequeued(slice=name):
                if name in since_us:
                    end_interval(name, message.at_us)
    for name in tuple(since_us):
        end_interval(name, round(run.days * US_PER_DAY))
    return found
