"""A failed soak allows no conclusion about the twin; a deviating twin is the finding of a soak."""

import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from shared.basics.errors import OperationFailed
from tests.soak import run as soaks
from tests.soak import soak_report as reports
from tests.soak.__main__ import main
from tests.soak.fabric_joins import JoinedFabric, PlannedJoin
from tests.soak.faults.context import FaultContext, TwinDeviated
from tests.soak.run import STALL_S_MAX, Soak
from tests.soak.soak_report import report_text
from tests.soak.twin_monitor import ResourcePeak, TwinMonitor

SOAK = Soak(minutes=1.0, pods=1)
JOINED = [
    JoinedFabric(PlannedJoin(9.0, None, "pod-1", "pod-0", "static-pod", {}), "key", "sequencer@pod-1/1", 70)
]


class Supervised:
    def __init__(self) -> None:
        self.given_up: str | None = None

    def check(self) -> None:
        if self.given_up is not None:
            raise OperationFailed(self.given_up)

    def exits(self) -> dict[str, list[int]]:
        return {"ocs-a": [-9, 1, -9], "gateway": [2] if self.given_up and "code 2" in self.given_up else []}


class Meter:
    def __init__(self) -> None:
        self.injected: list[Any] = []
        self.standing_s = 1.5
        self.unlived: list[Any] = []

    def waiting(self) -> list[Any]:
        return self.unlived

    def stalled_s(self) -> float:
        return self.standing_s


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The part of a soak that waiting and reporting need."""
    monkeypatch.setattr(reports, "versions", lambda redis: {"redis-server": redis})
    twin: Any = SimpleNamespace(
        supervisor=Supervised(),
        redis=SimpleNamespace(url="redis://127.0.0.1:1/0"),
        folder=tmp_path,
        words=lambda: "ocs-a: its last words",
    )
    meter: Any = Meter()
    operator: Any = SimpleNamespace(unexpected_answer=None)
    commissioner: Any = SimpleNamespace(unexpected_answer=None, joined=JOINED, retired=[])
    context, watch = FaultContext(twin), TwinMonitor(cast(Any, None))
    sites = SOAK.twin.sites
    return soaks._SoakRun(SOAK, twin, sites, meter, watch, context, [operator], commissioner, lambda _: None)


def test_the_longest_standstill_is_recorded_while_waiting(run: Any) -> None:
    run.wait(0.0)
    assert run.longest_stall_s == 1.5


def test_a_standstill_and_a_wrong_answer_are_faults_of_the_twin(run: Any) -> None:
    run.meter.standing_s = STALL_S_MAX + 1
    with pytest.raises(TwinDeviated, match=r"^time has stalled for 241 s: ocs-a: its last words$"):
        run.wait(0.0)
    run.meter.standing_s = 0.0
    run.meter.unlived = [SimpleNamespace(is_over=lambda seconds: seconds <= STALL_S_MAX)]
    with pytest.raises(TwinDeviated, match=r"^the twin has not recovered for 240 s: ocs-a: its last words$"):
        run.wait(0.0)
    run.meter.unlived.clear()
    run.operators[0].unexpected_answer = "/v1/slices {}: 500"
    with pytest.raises(TwinDeviated, match=r"^an operator got an unexpected answer: /v1/slices"):
        run.wait(0.0)


def test_a_fabric_that_could_not_join_is_the_twin_s(run: Any) -> None:
    run.commissioner.unexpected_answer = "/v1/fabrics {}: 422"
    with pytest.raises(TwinDeviated, match=r"^an operator got an unexpected answer: /v1/fabrics"):
        run.wait(0.0)


def test_a_process_that_cannot_be_started_is_the_soak_s_own_failure(run: Any) -> None:
    run.twin.supervisor.given_up = "gateway: python: No such file or directory"
    with pytest.raises(OperationFailed, match=r"^gateway: python: No such file"):
        run.wait(0.0)


def test_a_process_that_ran_and_shows_its_use_is_wrong_is_the_twin_s(run: Any) -> None:
    run.twin.supervisor.given_up = "gateway: exit code 2 after 0.3 s, will not restart it"
    with pytest.raises(TwinDeviated, match=r"^a process was given up: gateway: exit code 2 .* last words$"):
        run.wait(0.0)


def test_every_watcher_s_problems_are_reported(run: Any, tmp_path: Path) -> None:
    run.context.problems.append("a clock change was lost")
    run.context.sent["ocs-a", signal.SIGKILL] = 1
    (tmp_path / "cubes-a.log").write_text("Traceback (most recent call last):\n  here\nKeyError: 1\n")
    run.watch.problems.append("time jumped")
    run.watch.peaks["ocs-a"] = ResourcePeak(9_999.0, 3)
    assert run.problems() == [
        "a clock change was lost",
        "ocs-a ended with SIGKILL 2 times, faults of the soak did so 1 times",
        "cubes-a wrote 1 tracebacks, the last of: KeyError: 1",
        "time jumped",
        "ocs-a took 9999 MB of memory; must be at most 600",
    ]


def test_what_the_historian_found_is_reported(run: Any, tmp_path: Path) -> None:
    (tmp_path / "historian.log").write_text(
        "12:00:01Z historian: error: pod-0: the log differs from what its services emit, at offset 7\n"
    )
    report = soaks.report_of(run, 90.0, [], requests=None, log=None, audit=None)
    assert report["verdict"] == "deviated"
    assert report["problems"] == [
        "the historian reported 1 times that the log differs from what its services emit"
    ]


def test_a_twin_that_cannot_be_compared_has_deviated(run: Any) -> None:
    run.watch.peaks["ocs-a"] = ResourcePeak(98.26, 31)
    run.context.missed.append("Redis had nothing to write")
    report = soaks.report_of(run, 90.0, ["time stands still"], requests=None, log=None, audit=None)
    assert report["verdict"] == "deviated"
    assert report["ends"] == {"ocs-a": {"SIGKILL": 2, "exit code 1": 1}}
    assert report["versions"] == {"redis-server": "does not answer"}
    assert json.loads(json.dumps(report)) == report
    assert report["sites"] == {"pod-0": {"pod-0": "superpod", "pod-1": "static-pod"}}
    assert report["joined"] == [{"fabric": "pod-1", "site": "pod-0", "kind": "static-pod", "at_us": 70}]
    assert report["historian"] == {"state_differences": 0, "log_differences": 0}
    words = report_text(report).splitlines()
    assert words[:3] == [
        "deviated: 0 faults in 1.5 minutes over 2 fabrics of 1 sites; 1 of them joined",
        "upgrades: 0, of 0 sites",
        "not checked against its log: the twin did not become quiet",
    ]
    assert "problem: time stands still" in words
    assert "no effect: Redis had nothing to write" in words
    assert "at most 98 MB of memory and 31 open files in one process" in words
    assert report["resources"] == {"ocs-a": {"memory_mb": 98.3, "files": 31}}


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], tuple[int, Any]]:
    """Run `python -m tests.soak` with a given result or error; returns the exit code and the report file."""
    file = tmp_path / "report.json"
    monkeypatch.setattr(sys, "argv", ["soak", "--minutes", "1", "--pods", "1", "--report", str(file)])
    monkeypatch.setattr(signal, "signal", lambda *_: None)

    def run_it(found: Any) -> tuple[int, Any]:
        def run_soak(*_: Any) -> Any:
            if isinstance(found, Exception):
                raise found
            return found

        monkeypatch.setattr(soaks, "run_soak", run_soak)
        with pytest.raises(SystemExit) as ended:
            main()
        assert isinstance(ended.value.code, int)
        return ended.value.code, json.loads(file.read_text())

    return run_it


def test_a_twin_that_deviated_is_exit_code_5(
    run: Any, command: Callable[[Any], tuple[int, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    deviated = soaks.report_of(run, 60.0, ["it lost a request"], requests=None, log=None, audit=None)
    assert command(deviated) == (5, deviated)
    assert "problem: it lost a request\n" in capsys.readouterr().out


def test_a_clean_soak_is_exit_code_0(run: Any, command: Callable[[Any], tuple[int, Any]]) -> None:
    clean = soaks.report_of(run, 60.0, [], requests=None, log=None, audit=None)
    assert command(clean) == (0, clean)
    assert clean["verdict"] == "clean"


def test_a_soak_that_broke_is_exit_code_1_and_explains_why(
    command: Callable[[Any], tuple[int, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    code, report = command(OperationFailed("Java is not installed"))
    assert code == 1
    assert capsys.readouterr().err == "lightwave: Java is not installed\n"
    assert report == {
        "verdict": "failed",
        "reason": "Java is not installed",
        "repeat": "python -m tests.soak --minutes 1 --pods 1 --joins 2 --faults 3 --seed 0 --speed 3000",
    }
