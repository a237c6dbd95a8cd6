"""Several supervised processes: ended ones are restarted, signals reach the process itself, none remains."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from ops.live.supervisor import SupervisedProcess, Supervisor
from shared.basics.errors import OperationFailed
from shared.runtimes.poll import poll_until

pytestmark = pytest.mark.integration

WAIT_S_MAX = 20.0

PYTHON = (sys.executable, "-c")
SLEEP = (*PYTHON, "import time; time.sleep(60)")
STUBBORN = (
    *PYTHON,
    """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
print('up', flush=True)
time.sleep(60)
""",
)
COUNTS = (*PYTHON, "import os; print(os.environ['LIGHTWAVE_RESTARTS'], os.environ['WORD'], flush=True)")


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    supervisor = Supervisor({"WORD": "of ours"}, tmp_path)
    yield supervisor
    supervisor.stop()
    assert supervisor.pids() == {}


def test_a_killed_process_is_restarted(supervisor: Supervisor) -> None:
    supervisor.keep("a", SLEEP)
    assert poll_until(lambda: supervisor.pids()["a"], WAIT_S_MAX)
    first = supervisor.send_signal("a", signal.SIGKILL)
    assert first is not None
    assert poll_until(lambda: supervisor.pids()["a"] not in (None, first), WAIT_S_MAX)
    assert supervisor.exits() == {"a": [-signal.SIGKILL]}
    assert is_gone(first)


def test_exits_of_a_dropped_process_are_kept_when_it_is_added_again(supervisor: Supervisor) -> None:
    supervisor.keep("a", (*PYTHON, "raise SystemExit(3)"))
    assert poll_until(lambda: supervisor.exits()["a"], WAIT_S_MAX)
    supervisor.drop("a", signal.SIGKILL)
    ends = supervisor.exits()["a"]
    assert {*ends} == {3}
    supervisor.keep("a", SLEEP)
    assert poll_until(lambda: supervisor.pids()["a"], WAIT_S_MAX)
    assert supervisor.send_signal("a", signal.SIGKILL) is not None
    assert poll_until(lambda: supervisor.exits()["a"] == [*ends, -signal.SIGKILL], WAIT_S_MAX)


def test_a_process_knows_how_often_it_was_restarted(supervisor: Supervisor, tmp_path: Path) -> None:
    supervisor.keep("b", COUNTS)
    assert poll_until(lambda: len(supervisor.exits()["b"]) >= 2, WAIT_S_MAX)
    assert (tmp_path / "b.log").read_text().splitlines()[:2] == ["0 of ours", "1 of ours"]
    assert supervisor.exits()["b"][:2] == [0, 0]


def test_a_paused_process_stops_until_it_is_resumed(supervisor: Supervisor) -> None:
    supervisor.keep("a", SLEEP)
    assert poll_until(lambda: supervisor.pids()["a"], WAIT_S_MAX)
    pid = supervisor.send_signal("a", signal.SIGSTOP)
    assert pid is not None

    def state() -> str:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]

    assert poll_until(lambda: state() == "T", WAIT_S_MAX)
    supervisor.resume(pid)
    assert poll_until(lambda: state() != "T", WAIT_S_MAX)
    assert supervisor.exits() == {"a": []}


def test_a_dropped_process_is_stopped_and_not_restarted(supervisor: Supervisor, tmp_path: Path) -> None:
    supervisor.keep("c", STUBBORN)
    assert poll_until(lambda: (tmp_path / "c.log").exists() and (tmp_path / "c.log").read_text(), WAIT_S_MAX)
    pid = supervisor.pids()["c"]
    assert pid is not None
    supervisor.drop("c")
    assert is_gone(pid)
    assert supervisor.names == []
    assert supervisor.send_signal("c", signal.SIGTERM) is None


def test_a_process_that_is_killed_while_it_is_dropped_is_not_restarted(supervisor: Supervisor) -> None:
    supervisor.keep("a", STUBBORN)
    assert poll_until(lambda: supervisor.pids()["a"], WAIT_S_MAX)
    pid = supervisor.pids()["a"]
    assert pid is not None
    supervisor.drop("a", signal.SIGKILL)
    assert is_gone(pid)
    assert supervisor.names == []


def test_stop_ends_even_a_suspended_process(tmp_path: Path) -> None:
    supervisor = Supervisor({}, tmp_path)
    supervisor.keep("a", SLEEP)
    supervisor.keep("b", STUBBORN)
    assert poll_until(lambda: all(supervisor.pids().values()), WAIT_S_MAX)
    pids = supervisor.pids()
    supervisor.send_signal("a", signal.SIGSTOP)
    supervisor.stop()
    assert all(pid is not None and is_gone(pid) for pid in pids.values())


def test_a_command_that_cannot_be_started_is_reported(supervisor: Supervisor) -> None:
    supervisor.keep("x", ["/nowhere/at/all"])

    def is_reported() -> bool:
        try:
            supervisor.check()
        except OperationFailed as error:
            return str(error) == "x: /nowhere/at/all: No such file or directory"
        return False

    assert poll_until(is_reported, WAIT_S_MAX)


def test_a_command_that_is_used_wrongly_is_reported_and_not_started_again(supervisor: Supervisor) -> None:
    supervisor.keep("x", (*PYTHON, "import sys; sys.exit(2)"))
    assert poll_until(lambda: supervisor.exits()["x"], WAIT_S_MAX)
    time.sleep(0.5)
    assert supervisor.exits() == {"x": [2]}
    with pytest.raises(OperationFailed, match=r"^x: exit code 2 after \d\.\d s, will not restart it$"):
        supervisor.check()
    supervisor.check()


def test_a_process_that_is_interrupted_during_its_start_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C may come when the thread exists and nothing refers to it yet."""
    supervisor = Supervisor({}, tmp_path)
    start = Thread.start

    def interrupted(thread: Thread) -> None:
        start(thread)
        raise KeyboardInterrupt

    monkeypatch.setattr(Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        supervisor.keep("a", SLEEP)
    monkeypatch.undo()
    assert poll_until(lambda: supervisor.pids()["a"], WAIT_S_MAX)
    pid = supervisor.pids()["a"]
    supervisor.stop()
    assert pid is not None
    assert is_gone(pid)


def test_a_process_that_never_started_stops_at_once(tmp_path: Path) -> None:
    process = SupervisedProcess("a", SLEEP, given_up=lambda _: None)
    assert process.stop() is None
    process.start()
    time.sleep(0.2)
    assert process.pid is None


def test_a_process_that_cannot_be_tied_to_its_parent_is_reported(
    supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error between fork and exec is no OSError; the waiting caller must get it all the same."""

    def fail() -> None:
        raise PermissionError

    monkeypatch.setattr("ops.live.supervisor.dies_with_parent", lambda: fail)
    supervisor.keep("a", SLEEP)

    def is_reported() -> bool:
        try:
            supervisor.check()
        except OperationFailed as error:
            return "preexec_fn" in str(error)
        return False

    assert poll_until(is_reported, WAIT_S_MAX)
