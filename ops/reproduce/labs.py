"""Lab runs that claims share: each runs once in a process, whoever asks first, or ahead in several."""

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from joblib import Parallel, delayed

from ops.common.sites import single_fabric_sites
from ops.common.workers import named_worker_death
from ops.lab.report import pod_report
from ops.lab.site_run import SiteRun
from schemas.envelope import Envelope
from schemas.registry import decode
from services.fleet import services_of
from shared.basics.units import US_PER_DAY
from shared.engine.service import AnyService
from shared.runtimes.lab import LabRequest

POD = "pod-0"
SEEDS = (0, 1, 2, 3, 4)
"""Every configuration runs with each: no claim rests on one draw."""
WORKLOAD_DAYS = 60.0
"""As long as the production pod was watched (NSDI 2024)."""
HARDWARE_DAYS = 700.0
"""A hundred weeks, as long as the failures of the fleet were (NSDI 2024)."""
DRILL_DAYS = 2.0
NO_TELEMETRY = "transceivers.telemetry_interval_s=0"
"""Telemetry tells nothing that a claim asks for."""
KEPT = (
    *(
        "ConnectCircuits",
        "CubeSwapped",
        "DisconnectCircuits",
        "FaultBegan",
        "LeaveCircuits",
    ),
    *("OcsDown", "OcsPartDown", "OcsPartUp", "OcsUp", "PortsDown", "PortsUp"),
    *("SliceAdmitted", "SliceCompleted", "SliceDegraded", "SliceEvicted", "SliceRecovering"),
    *("SliceRequested", "SliceRequeued", "SliceStarted"),
)
"""Types of messages that claims look at."""


@dataclass(frozen=True, slots=True)
class RunPlan:
    """One superpod for so many days with these settings over the defaults, or over a calibration, and with
    these requests; of its services only some, if that is said."""

    days: float
    seed: int
    pairs: tuple[str, ...] = (NO_TELEMETRY,)
    requests: tuple[LabRequest, ...] = ()
    services: tuple[str, ...] = ()
    calibration: str | None = None


@dataclass(frozen=True, slots=True)
class LabRun:
    """What came of a run: the report that `lab run` prints for a pod, empty where only some services ran; for
    how long how many cubes were available (`ops.lab.standing`); and the messages of the kinds kept."""

    days: float
    report: dict[str, Any]
    standing: dict[str, Any]
    messages: tuple[Envelope, ...]


WORKLOAD = tuple(RunPlan(WORKLOAD_DAYS, seed) for seed in SEEDS)
"""Defaults: the production mix, faults and repairs."""
HARDWARE = tuple(RunPlan(HARDWARE_DAYS, seed, (NO_TELEMETRY, "workload.enabled=false")) for seed in SEEDS)
"""Faults and repairs only."""
SLOW_REPAIR = tuple(
    RunPlan(
        HARDWARE_DAYS,
        seed,
        (
            *(NO_TELEMETRY, "workload.enabled=false", "repairs.technicians=1000"),
            *("repairs.host_repair_h=72", "repairs.link_repair_h=72"),
        ),
    )
    for seed in SEEDS
)
"""The same with 3 days to repair anything, and people enough to begin at once."""
FIELD_DAYS, FIELD_SEEDS = 400.0, range(20)
IN_THE_FIELD = tuple(
    RunPlan(
        FIELD_DAYS,
        seed,
        (NO_TELEMETRY, "transceivers.look_interval_s=0"),
        services=("cubes", "diagnosis", "failures", "ocs", "repairs", "transceivers"),
        calibration="field",
    )
    for seed in FIELD_SEEDS
)
"""Faults, repairs and plans as in the field, without jobs."""
FIELD_WORK_DAYS = 30.0
AT_WORK_IN_THE_FIELD = tuple(
    RunPlan(FIELD_WORK_DAYS, seed, (NO_TELEMETRY, "transceivers.look_interval_s=0"), calibration="field")
    for seed in SEEDS
)
"""The same with the production mix."""

OCS_DAYS = 182_500.0
OCS_PARTS = tuple(
    RunPlan(
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
"""Nothing but the parts of OCSes fails, for 500 years: 120,000 years of an OCS in all. Without the services
that would say every hour of all those years that nothing runs."""

_done: dict[RunPlan, LabRun] = {}


def drill(requests: tuple[LabRequest, ...], offered_load: float, seed: int) -> RunPlan:
    """A pod without filler, in which nothing breaks but what is asked for."""
    load = (f"workload.offered_load={offered_load}", "workload.filler=false")
    pairs = (NO_TELEMETRY, "failures.enabled=false", *load)
    return RunPlan(DRILL_DAYS, seed, pairs, requests)


def lab_run(plan: RunPlan) -> LabRun:
    """What came of this plan."""
    if plan not in _done:
        _done[plan] = _run(plan)
    return _done[plan]


def lab_runs(plans: Iterable[RunPlan]) -> list[LabRun]:
    return [lab_run(plan) for plan in plans]


def run_ahead(plans: Iterable[RunPlan], jobs: int) -> None:
    """Run what has not been run yet in so many processes, the longest first: what comes of them
    is the same."""
    missing = sorted({*plans} - _done.keys(), key=lambda plan: -plan.days)
    if jobs > 1 and len(missing) > 1:
        with named_worker_death(), warnings.catch_warnings():
            # A worker that has grown is replaced: what it kept of its runs was much.
            warnings.filterwarnings("ignore", "A worker stopped", UserWarning)
            runs: list[LabRun] = Parallel(n_jobs=min(jobs, len(missing)))(
                delayed(_run)(plan) for plan in missing
            )
        _done.update(zip(missing, runs, strict=True))


def _run(plan: RunPlan) -> LabRun:
    kept: list[Envelope] = []
    (site,) = single_fabric_sites(1, pairs=plan.pairs, seed=plan.seed, calibration=plan.calibration)
    until_us = round(plan.days * US_PER_DAY)
    run = SiteRun(site, sink=_keeping(kept), services=_services(plan) if plan.services else services_of)
    run.run(until_us, plan.requests)
    if plan.services:
        return LabRun(plan.days, {}, run.standing[POD].spans(until_us), tuple(kept))
    report = pod_report(run.lab.site, POD, until_us) | {"jobs": run.waits.met(POD)}
    return LabRun(plan.days, report, run.standing[POD].spans(until_us), tuple(kept))


def _services(plan: RunPlan) -> Callable[[str], tuple[AnyService, ...]]:
    """Which services a kind of fabric has in this run."""
    return lambda kind: tuple([one for one in services_of(kind) if one.name in plan.services])


def _keeping(kept: list[Envelope]) -> Callable[[bytes], None]:
    """Takes the lines of the log and decodes those that anybody looks at; most are Ticks."""
    signs = tuple(f'"type":"{name}"'.encode() for name in KEPT)

    def take(lines: bytes) -> None:
        for line in lines.splitlines():
            if any(sign in line for sign in signs):
                kept.append(decode(line))

    return take
