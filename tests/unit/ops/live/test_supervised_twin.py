"""The restart supervisor: what it restarts, how long it waits, and that no process outlives it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.live.supervisor import DEFAULT_RESTART_POLICY, exit_text, supervise
from shared.basics.errors import InvalidInput
from tests.support.child_processes import has_ended, runs

pytestmark = pytest.mark.integration

STOP_S_MAX = 60.0
"""Longer than any machine needs to stop a command that handles SIGTERM."""
WAIT = "import time; time.sleep(60)"


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def supervised(stop_s_max: float = STOP_S_MAX) -> list[str]:
    """Return the command of a supervisor that kills what does not stop in time."""
    return python(
        "import logging, sys\n"
        "from ops.live.supervisor import RestartPolicy, supervise\n"
        "logging.basicConfig(format='%(message)s')\n"
        f"policy = RestartPolicy(stop_s_max={stop_s_max})\n"
        "sys.exit(supervise('it', sys.argv[1:], with_parent=True, policy=policy))\n"
    )


class Foreground:
    """`supervise` in its own process; `starts` are the pids that its command wrote."""

    def __init__(self, folder: Path) -> None:
        self.noted = folder / "starts"
        self.process: subprocess.Popen[str] | None = None

    def run(self, code: str, first: str = "", stop_s_max: float = STOP_S_MAX) -> "subprocess.Popen[str]":
        """Run a command that executes `first`, writes its pid and number of restarts, and executes `code`."""
        note = (
            "import os, sys, signal\n"
            f"{first}\n"
            f"with open({str(self.noted)!r}, 'a') as file:\n"
            "    file.write(f\"{os.getpid()} {os.environ['LIGHTWAVE_RESTARTS']}\\n\")\n"
        )
        self.process = subprocess.Popen(
            [*supervised(stop_s_max), *python(note + code)],
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        return self.process

    def starts(self, count: int) -> list[tuple[int, int]]:
        """Wait for this many starts; return (pid, number of restarts) of each."""
        until = time.monotonic() + 20
        while time.monotonic() < until:
            lines = self.noted.read_text().splitlines() if self.noted.exists() else []
            if len(lines) >= count:
                return [(int(pid), int(number)) for pid, number in map(str.split, lines)]
            time.sleep(0.01)
        raise AssertionError(f"fewer than {count} starts")


@pytest.fixture
def foreground(tmp_path: Path) -> Iterator[Foreground]:
    foreground = Foreground(tmp_path)
    yield foreground
    if foreground.process is not None:
        foreground.process.kill()
        foreground.process.communicate()


def test_a_command_is_restarted_after_any_end_and_knows_how_often(foreground: Foreground) -> None:
    code = (
        "n = int(os.environ['LIGHTWAVE_RESTARTS'])\n"
        "if n == 0: sys.exit(0)\n"
        "if n == 1: sys.exit(7)\n"
        "if n == 2: os.kill(os.getpid(), signal.SIGKILL)\n"
        "sys.exit(2)\n"
    )
    process = foreground.run(code)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 2
    assert [number for _, number in foreground.starts(4)] == [0, 1, 2, 3]
    lines = stderr.splitlines()
    assert len(lines) == 4
    for line, start in zip(lines, ("it: exit code 0", "it: exit code 7", "it: SIGKILL"), strict=False):
        assert line.startswith(f"{start} after ")
    assert [line.split("; ")[1] for line in lines[:3]] == [
        "restart 1 in 0.2 s",
        "restart 2 in 0.4 s",
        "restart 3 in 0.8 s",
    ]
    assert lines[3].startswith("it: exit code 2 after ")
    assert lines[3].endswith("will not restart it")


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("first", ["", "signal.signal(15, lambda *_: sys.exit(0))"])
def test_it_stops_with_the_command(foreground: Foreground, sign: signal.Signals, first: str) -> None:
    process = foreground.run(WAIT, first)
    ((pid, _),) = foreground.starts(1)
    process.send_signal(sign)
    assert process.wait(60) == 0
    assert not runs(pid)


def test_the_exit_code_of_a_stopped_command_is_passed_on(foreground: Foreground) -> None:
    process = foreground.run(f"print(); {WAIT}", "signal.signal(15, lambda *_: sys.exit(9))")
    foreground.starts(1)
    process.terminate()
    assert process.wait(60) == 9


def test_a_command_that_does_not_end_is_killed(foreground: Foreground) -> None:
    process = foreground.run(WAIT, "signal.signal(15, signal.SIG_IGN)", stop_s_max=1.0)
    ((pid, _),) = foreground.starts(1)
    process.terminate()
    process.terminate()
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGKILL
    assert stderr == "it: did not stop within 1 s of SIGTERM; killed it\n"
    assert not runs(pid)


def test_a_suspended_command_is_stopped_too(foreground: Foreground) -> None:
    process = foreground.run(WAIT)
    ((pid, _),) = foreground.starts(1)
    os.kill(pid, signal.SIGSTOP)
    process.terminate()
    assert process.wait(60) == 0
    assert not runs(pid)


def test_it_stops_at_once_while_it_waits_for_the_next_start(foreground: Foreground) -> None:
    process = foreground.run("sys.exit(1)")
    assert process.stderr is not None
    assert any("restart 5 in 3.2 s" in line for line in process.stderr)
    process.terminate()
    assert process.wait(60) == 0
    assert len(foreground.starts(5)) == 5


def test_the_command_dies_with_a_supervisor_that_is_killed(foreground: Foreground) -> None:
    process = foreground.run(WAIT, "signal.signal(15, signal.SIG_IGN)")
    ((pid, _),) = foreground.starts(1)
    process.kill()
    process.wait()
    assert has_ended(pid)


def test_it_stops_with_the_process_that_started_it(tmp_path: Path) -> None:
    """For example a process manager whose terminal is closed."""
    noted = tmp_path / "noted"
    command = f"import os, time; open({str(noted)!r}, 'w').write(f'{{os.getppid()}} {{os.getpid()}}'); {WAIT}"
    started = [*supervised(), *python(command)]
    code = f"import subprocess; subprocess.Popen({started!r}, start_new_session=True).wait()"
    manager = subprocess.Popen(python(code))
    try:
        until = time.monotonic() + 20
        while not (noted.exists() and noted.read_text()) and time.monotonic() < until:
            time.sleep(0.01)
        supervisor, pid = map(int, noted.read_text().split())
        assert runs(supervisor)
        assert runs(pid)
    finally:
        manager.kill()
        manager.wait()
    assert has_ended(supervisor)
    assert has_ended(pid)


def test_a_command_that_cannot_run_is_reported_once_and_not_retried() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(InvalidInput, match=r"supervise it: /nowhere/x: No such file or directory; must be "):
        supervise("it", ["/nowhere/x"])
    assert signal.getsignal(signal.SIGTERM) == before


@given(st.lists(st.floats(0, DEFAULT_RESTART_POLICY.good_s_min - 0.001), min_size=1, max_size=20))
def test_the_wait_doubles_after_each_short_run_up_to_a_bound(ran: list[float]) -> None:
    waits = [0.0]
    for ran_s in ran:
        waits.append(DEFAULT_RESTART_POLICY.next_wait_s(waits[-1], ran_s))
    assert waits[1] == DEFAULT_RESTART_POLICY.wait_s_min
    assert all(
        after == min(2 * before, DEFAULT_RESTART_POLICY.wait_s_max) for before, after in pairwise(waits[1:])
    )
    assert (
        DEFAULT_RESTART_POLICY.next_wait_s(waits[-1], DEFAULT_RESTART_POLICY.good_s_min)
        == DEFAULT_RESTART_POLICY.wait_s_min
    )


def test_a_signal_without_a_name_is_reported_by_its_number() -> None:
    assert [exit_text(code) for code in (0, 3, -9, -77)] == [
        "exit code 0",
        "exit code 3",
        "SIGKILL",
        "signal 77",
    ]
