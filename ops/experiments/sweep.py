"""Runs all runs of an experiment on worker processes. Finished runs are kept even if others fail."""

import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace

from joblib import Parallel, delayed

from ops.experiments.dask_cluster import Cluster
from ops.experiments.dataset import Dataset, RunKey, RunRow
from ops.experiments.loader import PlannedExperiment
from ops.experiments.recorded_inputs import requests_of, trace_of
from ops.experiments.reliability_run import run_exact, run_kernel
from ops.experiments.seed_stopping_rule import is_enough, seed_of, seed_rounds
from ops.experiments.service_run import ExperimentRunPlan, RunResult, run_services
from ops.experiments.sweep_result import SweepResult
from ops.experiments.variant_sites import sites_of
from ops.experiments.variants import Variant
from shared.basics.errors import OperationFailed
from shared.basics.units import US_PER_HOUR

WORKER_DEATHS_MAX = 3
"""Consecutive worker deaths without a finished run, after which the sweep fails."""
RUNNERS: dict[str, Callable[[ExperimentRunPlan], RunResult]] = {
    "exact": run_exact,
    "kernel": run_kernel,
    "services": run_services,
}
"""Method → function that does a run."""
OnProgress = Callable[["SweepProgress"], None]
Workers = int | Cluster
"""A number of local processes, or a cluster."""


@dataclass(frozen=True, slots=True)
class SweepRun:
    """One planned run."""

    variant: Variant
    seed: int


@dataclass(frozen=True, slots=True)
class SweepProgress:
    """The progress of a sweep: finished, planned and failed runs. `left_s` estimates the remaining seconds;
    None until a run has finished."""

    done: int
    wanted: int
    failed: int
    left_s: float | None


def run_sweep(
    planned: PlannedExperiment,
    dataset: Dataset,
    *,
    workers: Workers = 1,
    on_progress: OnProgress | None = None,
) -> SweepResult:
    """Run all missing runs, round after round, until the precision is reached."""
    rows = dataset.done()
    for seeds in seed_rounds(planned):
        wanted = [SweepRun(v, seed_of(planned, v, n)) for n in range(seeds) for v in planned.variants]
        _run_missing(planned, dataset, rows, wanted, workers, on_progress)
        if is_enough(planned, rows, seeds):
            return SweepResult(rows, seeds, is_enough=True)
    return SweepResult(rows, seeds, is_enough=not planned.experiment.stop_when)


def _run_missing(
    planned: PlannedExperiment,
    dataset: Dataset,
    rows: dict[RunKey, RunRow],
    wanted: Sequence[SweepRun],
    workers: Workers,
    on_progress: OnProgress | None,
) -> None:
    """Run the missing runs among `wanted`. Workers that die are replaced, and their unfinished runs are
    repeated."""
    began_s, before, deaths = time.monotonic(), len(rows), 0

    def report_progress() -> None:
        if on_progress is not None:
            done = sum((job.variant.key, job.seed) in rows for job in wanted)
            fresh = len(rows) - before
            pace_s = (time.monotonic() - began_s) / fresh if fresh else None
            failed = sum(row.error is not None for row in rows.values())
            left_s = None if pace_s is None else pace_s * (len(wanted) - done)
            on_progress(SweepProgress(done, len(wanted), failed, left_s))

    report_progress()
    while missing := [job for job in wanted if (job.variant.key, job.seed) not in rows]:
        try:
            for job, outcome in _outcomes(planned, missing, workers):
                if isinstance(outcome, RunResult):
                    row = dataset.keep(job.variant, job.seed, outcome)
                else:
                    row = dataset.keep_failure(job.variant, job.seed, outcome)
                rows[row.key] = row
                deaths = 0
                report_progress()
        except BrokenProcessPool:
            deaths += 1
            if deaths >= WORKER_DEATHS_MAX:
                raise OperationFailed(
                    f"worker processes were killed {deaths} times in a row, as the system does when "
                    "memory runs out; finished runs are kept; continue with --resume and fewer --workers"
                ) from None


def _outcomes(
    planned: PlannedExperiment, jobs: Sequence[SweepRun], workers: Workers
) -> Iterator[tuple[SweepRun, RunResult | str]]:
    """Yield each run's result, or the error with which it failed, as soon as it arrives, in any order."""
    running: Iterable[tuple[int, RunResult | str]]
    if isinstance(workers, Cluster):
        running = workers.each(run_or_error, (plan_of(planned, job) for job in jobs))
    else:
        running = Parallel(n_jobs=min(workers, len(jobs)), return_as="generator_unordered", batch_size=1)(
            delayed(run_or_error)(n, plan_of(planned, job)) for n, job in enumerate(jobs)
        )
    for n, outcome in running:
        yield jobs[n], outcome


def plan_of(planned: PlannedExperiment, job: SweepRun) -> ExperimentRunPlan:
    """Return the plan of a run."""
    experiment = planned.experiment
    fabric, store = experiment.fabric, experiment.store
    values = {**fabric.set, **dict(job.variant.values)}
    folder, is_quick = planned.folder, planned.is_quick
    sites = sites_of(experiment, values, folder, seed=job.seed, is_quick=is_quick)
    requests, _ = requests_of(experiment, sites, folder, is_quick=is_quick)
    rest = None
    if fabric.trace is not None:
        config = next(iter(sites[0].fabrics.values()))
        rest = trace_of(experiment, config, folder, is_quick=is_quick).rest
    return ExperimentRunPlan(
        sites,
        fabric.days,
        fabric.warm_up_days,
        experiment.measure,
        round(store.window_h * US_PER_HOUR) if store.series else None,
        planned.method.name,
        requests,
        rest,
    )


def run_or_error(number: int, plan: ExperimentRunPlan) -> tuple[int, RunResult | str]:
    """Run one run on a worker. Return its error if it fails, so that the sweep continues."""
    try:
        return number, RUNNERS[plan.method](plan)
    except Exception as error:  # noqa: BLE001 -- any error of a run is recorded with the run
        last = traceback.extract_tb(error.__traceback__)[-1]
        return number, f"{type(error).__name__}: {error} ({last.name}, line {last.lineno})"


# The cost of an experiment, from a pilot: one short run of its first variant.

PILOT_DAYS = 3.0
BYTES_A_CELL = 5
"""Approximate size of a figure in a compressed Parquet file, in bytes."""
BYTES_A_FILE = 3_000
"""Approximate size of a Parquet file without its figures, in bytes."""
S_PER_HOUR = 3_600.0


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """An upper bound of the cost of an experiment; its method, and the reason for it."""

    method: str
    why: str
    variants: int
    seeds_at_most: int
    runs_at_most: int
    simulated_days_a_run: float
    cpu_s_a_run: float
    cpu_hours: float
    disk_mb: float


def estimate_cost(planned: PlannedExperiment) -> CostEstimate:
    """Estimate runs, CPU hours and megabytes from the pilot, scaled by days."""
    experiment = planned.experiment
    first = planned.variants[0]
    whole = plan_of(planned, SweepRun(first, seed_of(planned, first, 0)))
    days = whole.warm_up_days + whole.days
    pilot = replace(whole, days=min(PILOT_DAYS, whole.days), warm_up_days=0.0)
    trial = RUNNERS[pilot.method](pilot)
    seeds = seed_rounds(planned)[-1]
    runs = seeds * len(planned.variants)
    windows = len(whole.window_bounds_us) - 1 if whole.window_us else 0
    cells = (windows + 1) * (len(experiment.measure) + 4)
    return CostEstimate(
        method=planned.method.name,
        why=planned.method.sentence,
        variants=len(planned.variants),
        seeds_at_most=seeds,
        runs_at_most=runs,
        simulated_days_a_run=days,
        cpu_s_a_run=_three_digits(trial.cpu_s * days / pilot.days),
        cpu_hours=_three_digits(trial.cpu_s * days / pilot.days * runs / S_PER_HOUR),
        disk_mb=_three_digits(runs * (cells * BYTES_A_CELL + 2 * BYTES_A_FILE) / 1e6),
    )


def _three_digits(value: float) -> float:
    """An estimate with three significant digits, so that a small one is not zero."""
    return float(f"{value:.3g}")
