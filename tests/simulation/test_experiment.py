"""Experiments from the command line. Results do not depend on the number of workers, on kills or on failed
runs."""

import json
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from joblib.externals.loky.process_executor import TerminatedWorkerError

from ops.experiments import sweep
from ops.experiments.dataset import RUNS, SERIES, digest_of, open_dataset
from ops.experiments.loader import PlannedExperiment, read_experiment
from ops.experiments.service_run import RunResult, run_services
from ops.experiments.sweep import RUNNERS, SweepRun, plan_of, run_sweep
from ops.experiments.sweep_result import SweepResult
from ops.experiments.variant_sites import sites_of
from ops.lab.run import RunPlan, run_site
from ops.local.software_version import software_version
from ops.sites.configuration import superpod_config
from ops.sites.site_plans import single_fabric_sites
from shared.basics.errors import OperationFailed
from shared.runtimes.poll import poll_until
from tests.support.child_processes import children, has_ended, kill, kill_group
from tests.support.processes import words_of

DOCUMENT = """\
title: Technicians
question: Do two help?
fabric:
  days: 0.5
  warm_up_days: 0.25
  set: {pod.cubes: 4, failures.host_per_day: 0.4, workload.duration_mean_h: 1}
vary: {repairs.technicians: [1, 2]}
seeds: 4
measure: [goodput, utilisation, cube_availability, slices_completed_a_day, queue_h_p95, faults_a_day]
steady: false  # runs of hours, so `run` does not warn that one technician has too much work
"""
BUILD = software_version()


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "question.yaml"
    path.write_text(DOCUMENT)
    return path


def swept(document: Path, folder: str, *, workers: int = 1, resume: bool = False) -> tuple[SweepResult, str]:
    planned = read_experiment(document)
    place = document.parent / folder
    with open_dataset(place, planned, BUILD, resume=resume) as dataset:
        result = run_sweep(planned, dataset, workers=workers)
    return result, digest_of(place)


def command(document: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "ops.cli", "experiment", "run", str(document), *words]


def test_the_dataset_does_not_depend_on_the_number_of_workers(document: Path) -> None:
    single, digest = swept(document, "one")
    double, same = swept(document, "two", workers=2)
    assert digest == same
    assert single.rows == double.rows
    assert len(single.rows) == 8
    assert pq.read_table(document.parent / "one" / SERIES, partitioning=None).num_rows == 8 * 12
    assert len({row.digest for row in single.rows.values()}) == 8, "every run is different"


def test_a_run_has_the_figures_of_the_lab(document: Path) -> None:
    planned = read_experiment(document)
    trial = run_services(plan_of(planned, SweepRun(planned.variants[1], 2)))
    sites = single_fabric_sites(
        1,
        pairs=[
            *(
                "pod.cubes=4",
                "failures.host_per_day=0.4",
                "workload.duration_mean_h=1",
                "repairs.technicians=2",
            )
        ],
        seed=2,
    )
    (span,) = (result := run_site(RunPlan(sites, 0.5, 0.25), 0, None)).reports
    report: dict[str, Any] = span.json()
    assert trial.digest == result.log_sha256
    assert trial.figures["utilisation"] == pytest.approx(report["utilisation"])
    assert trial.figures["cube_availability"] == pytest.approx(report["cube_availability"])
    goodput = report["goodput"]
    assert trial.figures["goodput"] == goodput["chip_us"]["productive"] / goodput["total_chip_us"]
    assert trial.figures["slices_completed_a_day"] == report["slices"]["completed"] / 0.5
    assert trial.figures["faults_a_day"] == sum(report["faults"].values()) / 0.5
    waits = [row["p95_us"] for row in report["waits"]]
    assert min(waits) / 3.6e9 <= (trial.figures["queue_h_p95"] or 0.0) <= max(waits) / 3.6e9
    # The healthy cube-time of all windows adds up to that of the whole run.
    hours = [window.figures["cube_availability"] or 0.0 for window in trial.windows]
    assert np.mean(hours) == pytest.approx(trial.figures["cube_availability"])


@pytest.mark.slow("starts a sweep four times, and kills it three times")
def test_a_killed_sweep_resumes_without_losing_or_repeating_runs(document: Path) -> None:
    _, expected = swept(document, "whole")
    folder = document.parent / "killed"
    kept: list[set[str]] = []
    for _ in range(3):
        process = subprocess.Popen(
            command(document, "--workers", "2", "--resume", "--out", str(folder)),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        before = len(list((folder / RUNS).glob("*.parquet"))) if folder.exists() else 0
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and process.poll() is None:
            if len(list((folder / RUNS).glob("*.parquet"))) > before:
                break
            time.sleep(0.02)
        kill_group(process)
        kept.append({path.name for path in (folder / RUNS).glob("*.parquet")})
    assert all(first <= second for first, second in pairwise(kept))
    done = subprocess.run(
        command(document, "--resume", "--out", str(folder), "-o", "json"), capture_output=True, check=True
    )
    assert json.loads(done.stdout)["seeds"] == 4
    assert digest_of(folder) == expected


def test_a_run_that_fails_is_recorded_and_the_others_continue(
    document: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def odd(plan: Any) -> RunResult:
        if plan.sites[0].fabrics["pod-0"].seed == 2:
            raise ValueError("odd seed")
        return run_services(plan)

    monkeypatch.setitem(RUNNERS, "services", odd)
    result, _ = swept(document, "odd")
    failed = [row for row in result.rows.values() if row.error is not None]
    assert {(row.seed, (row.error or "").split(" (")[0]) for row in failed} == {(2, "ValueError: odd seed")}
    assert len(failed) == 2
    assert len(result.rows) == 8
    (again, _) = swept(document, "odd", resume=True)
    assert again.rows == result.rows, "a failed run is not repeated without a request"


def test_workers_that_die_are_replaced_up_to_a_limit(document: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = sweep._outcomes
    deaths = 2

    def dying(planned: PlannedExperiment, jobs: Any, workers: Any) -> Any:
        nonlocal deaths
        for n, outcome in enumerate(outcomes(planned, jobs, workers)):
            yield outcome
            if n == 1 and deaths:
                deaths -= 1
                raise TerminatedWorkerError("killed")

    monkeypatch.setattr(sweep, "_outcomes", dying)
    result, digest = swept(document, "dying")
    assert len(result.rows) == 8
    monkeypatch.setattr(sweep, "_outcomes", outcomes)
    assert swept(document, "sound")[1] == digest

    def dead(*_: object) -> Any:
        raise TerminatedWorkerError("killed")

    monkeypatch.setattr(sweep, "_outcomes", dead)
    with pytest.raises(OperationFailed, match="killed 3 times in a row"):
        swept(document, "dead")


@pytest.mark.slow("runs a sweep twice, and kills its workers")
def test_real_workers_that_are_killed_are_replaced(document: Path) -> None:
    document.write_text(DOCUMENT.replace("days: 0.5", "days: 2"))
    _, expected = swept(document, "whole")
    folder = document.parent / "killed"
    process = subprocess.Popen(
        command(document, "--workers", "2", "--out", str(folder)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert poll_until(lambda: len([*(folder / RUNS).glob("*.parquet")]) >= 2, 120.0)
    for child in children(process.pid):
        if "loky.backend.popen" in words_of(child):
            kill(child)
    _, stderr = process.communicate(timeout=120)
    assert (process.returncode, stderr) == (0, b"")
    assert digest_of(folder) == expected


def test_a_sweep_stops_when_all_measures_are_precise_enough(document: Path) -> None:
    document.write_text(
        DOCUMENT.replace("seeds: 4", "seeds: {least: 4, most: 40}")
        + "stop_when: {goodput: {half_width: 0.9}}\n"
    )
    result, _ = swept(document, "soon")
    assert (result.seeds, result.is_enough, len(result.rows)) == (4, True, 8)


def test_only_the_varied_parameters_differ(document: Path) -> None:
    planned = read_experiment(document)
    values = planned.experiment.fabric.set
    (site,) = sites_of(planned.experiment, values, document.parent, seed=0)
    pairs = [f"{name}={value}" for name, value in values.items()]
    assert site.fabrics["pod-0"] == superpod_config(pairs, seed=0)


@pytest.mark.slow("starts a sweep on two workers")
def test_sigterm_stops_the_workers_and_keeps_finished_runs(document: Path) -> None:
    document.write_text(DOCUMENT.replace("seeds: 4", "seeds: 400"))
    folder = document.parent / "ended"
    process = subprocess.Popen(
        command(document, "--workers", "2", "--out", str(folder)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert poll_until(lambda: any((folder / RUNS).glob("*.parquet")), 60.0)
    workers = children(process.pid)
    assert workers
    process.terminate()
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 143
    assert "runs are kept in" in stderr
    assert all(has_ended(pid) for pid in workers)


def test_a_report_of_too_few_runs_shows_a_warning(document: Path) -> None:
    planned = read_experiment(document)
    folder = document.parent / "few"
    with open_dataset(folder, planned, BUILD, resume=False) as dataset:
        dataset.keep_failure(planned.variants[0], 0, "ZeroDivisionError: here")
    words = [sys.executable, "-m", "ops.cli", "experiment", "report", str(document), "--out", str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert done.stderr.endswith("no seed has all variants yet; 1 of 8 runs exist\n")
