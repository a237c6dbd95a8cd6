"""Experiments on a Dask cluster: the results are byte-identical to those of local workers, whichever process
dies. Errors are one sentence."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ops.experiments import dask_cluster as cluster
from ops.experiments.dask_cluster import cluster_at
from ops.experiments.dataset import RUNS, digest_of, open_dataset
from ops.experiments.loader import read_experiment
from ops.experiments.sweep import run_sweep
from ops.local.software_version import software_version
from shared.basics.errors import InvalidInput, OperationFailed
from tests.support.dask_cluster import dask_cluster

DOCUMENT = """\
title: Technicians
question: Do two help?
fabric: {days: 2, set: {pod.cubes: 4, failures.host_per_day: 0.4, workload.duration_mean_h: 1}}
vary: {repairs.technicians: [1, 2]}
seeds: 6
measure: [goodput, cube_availability]
steady: false  # runs of two days, so `run` does not warn that one technician has too much work
"""
ENDED_S_MAX = 120.0


@pytest.fixture(scope="module")
def local_results(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return the document, and the digest of its results on two local workers."""
    folder = tmp_path_factory.mktemp("here")
    document = folder / "question.yaml"
    document.write_text(DOCUMENT)
    return document, sweep_locally(document, folder / "r")


def sweep_locally(document: Path, folder: Path) -> str:
    """Run the missing runs on two local workers; return the digest of all results."""
    planned = read_experiment(document)
    with open_dataset(folder, planned, software_version(), resume=True) as dataset:
        run_sweep(planned, dataset, workers=2)
    return digest_of(folder)


def start_run(document: Path, folder: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "ops.cli", "experiment", "run", str(document), "--out", str(folder), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_with_strike(
    process: subprocess.Popen[str], folder: Path, strike: Callable[[], None]
) -> tuple[int, str, str]:
    """Call `strike` when the first two runs are finished; return (exit code, stdout, stderr)."""
    until = time.monotonic() + ENDED_S_MAX
    while finished_runs(folder) < 2 and time.monotonic() < until and process.poll() is None:
        time.sleep(0.01)
    strike()
    out, stderr = process.communicate(timeout=ENDED_S_MAX)
    return process.returncode, out, stderr


def finished_runs(folder: Path) -> int:
    return len(list((folder / RUNS).glob("*.parquet")))


@pytest.mark.slow("starts a Dask cluster, and kills a worker")
def test_a_killed_worker_does_not_change_the_dataset(local_results: tuple[Path, str], tmp_path: Path) -> None:
    document, expected = local_results
    folder = tmp_path / "r"
    with dask_cluster(tmp_path / "dask", workers=1) as dask:
        victim = dask.worker()
        process = start_run(document, folder, "--dask", dask.address, "-o", "json")
        code, out, stderr = run_with_strike(process, folder, victim.kill)
        assert finished_runs(folder) == 12
    assert (code, stderr) == (0, "")
    assert json.loads(out)["seeds"] == 6
    assert digest_of(folder) == expected


@pytest.mark.slow("starts a Dask cluster, and kills its scheduler")
def test_finished_runs_are_kept_if_the_scheduler_dies(
    local_results: tuple[Path, str], tmp_path: Path
) -> None:
    document, expected = local_results
    folder = tmp_path / "r"
    with dask_cluster(tmp_path / "dask", workers=2) as dask:
        process = start_run(document, folder, "--dask", dask.address)
        code, _, stderr = run_with_strike(process, folder, dask.scheduler.kill)
        address = dask.address
    assert code == 1
    assert stderr == (
        f"lightwave: --dask {address}: its scheduler no longer answers; finished runs are kept; "
        "continue with --resume\n"
    )
    assert 2 <= finished_runs(folder) < 12
    assert sweep_locally(document, folder) == expected


@pytest.mark.slow("starts a Dask cluster, whose workers die")
def test_a_run_that_kills_its_workers_is_reported_after_all_others(
    local_results: tuple[Path, str], tmp_path: Path
) -> None:
    document, expected = local_results
    folder = tmp_path / "r"
    with dask_cluster(
        tmp_path / "dask", workers=1, DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0"
    ) as dask:
        victim = dask.worker()
        code, _, stderr = run_with_strike(
            start_run(document, folder, "--dask", dask.address), folder, victim.kill
        )
    assert code == 1
    assert stderr.count("\n") == 1
    assert "killed their workers" in stderr
    assert "continue with --resume" in stderr
    assert 8 <= finished_runs(folder) < 12
    assert sweep_locally(document, folder) == expected


@pytest.mark.slow("starts a Dask cluster")
def test_ctrl_c_keeps_finished_runs(local_results: tuple[Path, str], tmp_path: Path) -> None:
    document, expected = local_results
    folder = tmp_path / "r"
    with dask_cluster(tmp_path / "dask", workers=2) as dask:
        process = start_run(document, folder, "--dask", dask.address)
        code, _, stderr = run_with_strike(process, folder, lambda: process.send_signal(signal.SIGINT))
    assert code == 130
    assert f"runs are kept in {folder}, continue with --resume" in stderr
    assert stderr.count("\n") == 1
    assert 2 <= finished_runs(folder) < 12
    assert sweep_locally(document, folder) == expected


@pytest.mark.slow("starts a Dask cluster")
@pytest.mark.parametrize(
    ("first", "sentence"),
    [
        ("import ops.local.software_version as v; v.VERSION = '0.0.9'", "has version 0.0.9+"),
        ("import sys; sys.modules['ops'] = None", "cannot run this software"),
    ],
)
def test_workers_with_other_software_are_refused(
    local_results: tuple[Path, str], tmp_path: Path, first: str, sentence: str
) -> None:
    with dask_cluster(tmp_path / "dask", workers=0) as dask:
        dask.worker(first)
        process = start_run(local_results[0], tmp_path / "r", "--dask", dask.address)
        _, error = process.communicate(timeout=ENDED_S_MAX)
    assert process.returncode == 1
    assert error.startswith("lightwave: --dask tcp://127.0.0.1:")
    assert sentence in error
    assert error.endswith("install the same one there, under the same Python\n")
    assert error.count("\n") == 1
    assert not (tmp_path / "r").exists()


@pytest.mark.slow("starts a Dask cluster")
def test_a_cluster_without_workers_is_refused(local_results: tuple[Path, str], tmp_path: Path) -> None:
    with dask_cluster(tmp_path / "dask", workers=0) as dask:
        process = start_run(local_results[0], tmp_path / "r", "--dask", dask.address)
        _, error = process.communicate(timeout=ENDED_S_MAX)
    assert (process.returncode, error) == (
        1,
        f"lightwave: --dask {dask.address}: has no workers; start one with `dask worker {dask.address}`\n",
    )


@pytest.mark.slow("waits for a scheduler that does not answer")
def test_a_missing_scheduler_is_reported(local_results: tuple[Path, str], tmp_path: Path) -> None:
    process = start_run(local_results[0], tmp_path / "r", "--dask", "tcp://127.0.0.1:1")
    _, error = process.communicate(timeout=ENDED_S_MAX)
    assert (process.returncode, error) == (
        1,
        "lightwave: --dask tcp://127.0.0.1:1: no scheduler answers; start one with `dask scheduler`\n",
    )


@pytest.mark.parametrize("address", ["", "nonsense", "http://a:80", "tcp://a", "tcp://a:80/x", "a b:1"])
def test_an_invalid_address_is_refused(address: str) -> None:
    with pytest.raises(InvalidInput, match="not the address of a scheduler"), cluster_at(address):
        pass


def test_an_invalid_port_is_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "CONNECT_S", 0.2)
    with pytest.raises(OperationFailed, match="no scheduler answers"), cluster_at("127.0.0.1:99999"):
        pass


def test_without_dask_it_shows_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(
            OperationFailed, match=r"--dask needs distributed: pip install 'lightwave-twin\[dask\]'"
        ),
        cluster_at("tcp://127.0.0.1:8786"),
    ):
        pass


@pytest.mark.slow("runs twelve labs on two workers")
def test_local_workers_need_no_cluster(local_results: tuple[Path, str], tmp_path: Path) -> None:
    process = start_run(local_results[0], tmp_path / "r", "--dask", "tcp://127.0.0.1:1", "--workers", "2")
    _, error = process.communicate(timeout=ENDED_S_MAX)
    assert process.returncode == 2
    assert error.startswith("lightwave: --workers cannot be combined with --dask")
