"""The result of a run in several processes when one of them is killed."""

import os
import signal
from pathlib import Path
from typing import NoReturn

import pytest
from joblib.externals.loky.process_executor import TerminatedWorkerError

from ops.lab import run as lab
from ops.reproduce import lab_runs
from ops.sites.site_plans import NewTwinOptions
from shared.basics.errors import OperationFailed

pytestmark = pytest.mark.integration


def killed_at_work(_plan: object, n: int = 0, log: Path | None = None, _board: object = None) -> NoReturn:
    """A worker that is killed after it has started its part of the log."""
    if log is not None:
        log.write_text(f"messages of site {n}\n")
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("still alive")


def test_a_run_whose_worker_is_killed_reports_it_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lab, "run_site", killed_at_work)
    plan = lab.RunPlan(NewTwinOptions(pods=3).sites(), days=1)
    with pytest.raises(OperationFailed, match=r"--jobs: a worker process was killed, .*; fewer --jobs"):
        lab.run_lab(plan, jobs=2, log=tmp_path / "month.jsonl.zst", repeat=[])
    assert list(tmp_path.iterdir()) == []


def test_lab_runs_ahead_report_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**_options: object) -> NoReturn:
        raise TerminatedWorkerError("a worker process was ended")

    monkeypatch.setattr(lab_runs, "Parallel", broken)
    with pytest.raises(OperationFailed, match="--jobs: a worker process was killed"):
        lab_runs.run_ahead(
            [lab_runs.ClaimRunPlan(1.0, seed=10_001), lab_runs.ClaimRunPlan(1.0, seed=10_002)], jobs=2
        )
