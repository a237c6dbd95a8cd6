"""Stages as real processes: their order, their output, and the processes that they leave behind."""

import sys
from pathlib import Path

import pytest

from shared.runtimes.poll import poll_until
from tests.support import stage_run
from tests.support.child_processes import runs
from tests.support.stage_run import Stage, run


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


def test_after_a_failure_running_stages_finish_and_no_more_start(capfd: pytest.CaptureFixture[str]) -> None:
    fails = Stage("fails", "nothing", (python("print('no luck'); raise SystemExit(3)"),))
    slow = Stage("slow", "nothing", (python("import time; time.sleep(0.5)"), python("print('second')")))
    never = Stage("never", "nothing", (python("print('never')"),))
    results = {
        result.stage.name: result.problems for result in run((fails, slow, never), slow=False, together=2)
    }
    assert results.keys() == {"fails", "slow"}
    assert results["fails"][0].startswith("exit code 3 of ")
    assert results["slow"] == ()
    out = capfd.readouterr().out
    assert "no luck" in out
    assert "second" in out
    assert "== never" not in out


def test_cpu_time_of_grandchildren_counts() -> None:
    busy = "import time\nwhile time.process_time() < 0.5: pass"
    stage = Stage(
        "busy",
        "nothing",
        (python(f"import subprocess, sys; subprocess.run([sys.executable, '-c', {busy!r}])"),),
    )
    (result,) = run((stage,), slow=False, together=1)
    assert 0.5 <= result.cpu_s < 5.0


def test_a_process_that_is_left_behind_is_named_and_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stage_run, "LEFT_S_MAX", 0.2)
    note = tmp_path / "pid"
    child = "import time; time.sleep(60)"
    code = (
        "import subprocess, sys, pathlib\n"
        f"child = subprocess.Popen([sys.executable, '-c', {child!r}], stdout=subprocess.DEVNULL)\n"
        f"pathlib.Path({str(note)!r}).write_text(str(child.pid))\n"
    )
    (result,) = run((Stage("leaves", "nothing", (python(code),)),), slow=False, together=1)
    pid = int(note.read_text())
    (problem,) = result.problems
    assert problem.startswith(f"left processes behind: {pid} ")
    assert poll_until(lambda: not runs(pid), 10.0)
