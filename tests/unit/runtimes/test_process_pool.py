"""Worker processes: results are in order, and the workers stop with the process that started them."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError
from pathlib import Path

import pytest

from shared.basics.errors import OperationFailed
from shared.runtimes import process_pool
from shared.runtimes.process_pool import WorkerPool, stop_requested
from tests.support.child_processes import has_ended

pytestmark = pytest.mark.integration

HERE = "tests.unit.runtimes.test_process_pool"
WAIT_S = 20.0


def squared(number: int) -> int:
    time.sleep(0.02 * (number % 3))
    return number**2


def killed(number: int) -> int:
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def refused(number: int) -> int:
    raise ValueError(number)


def paused(_: int) -> int:
    os.kill(os.getpid(), signal.SIGSTOP)
    return 0


def own_pid(_: int) -> int:
    time.sleep(0.2)  # so that the other one takes a case, too
    return os.getpid()


@pytest.mark.parametrize("jobs", [1, 2])
def test_they_answer_in_order(jobs: int) -> None:
    with WorkerPool(jobs, HERE) as workers:
        assert list(workers.each(squared, range(9))) == [n * n for n in range(9)]
        assert list(workers.each(squared, [])) == []


def test_one_is_this_process_and_more_are_others() -> None:
    with WorkerPool(1, HERE) as workers:
        assert {*workers.each(own_pid, range(2))} == {os.getpid()}
    with WorkerPool(2, HERE) as workers:
        pids = {*workers.each(own_pid, range(4))}
    assert len(pids) == 2
    assert os.getpid() not in pids
    assert all(map(has_ended, pids))


def test_one_that_is_killed_is_reported() -> None:
    with (
        WorkerPool(2, HERE) as workers,
        pytest.raises(OperationFailed, match="--jobs: a worker process was killed"),
    ):
        list(workers.each(killed, range(4)))


def test_an_exception_of_a_task_is_raised() -> None:
    with WorkerPool(2, HERE) as workers, pytest.raises(ValueError, match="0"):
        list(workers.each(refused, range(4)))


def test_closing_waits_for_workers_that_were_reported_to_stop() -> None:
    with WorkerPool(2, HERE) as workers:
        pids = {*workers.each(own_pid, range(4))}
        workers.stop()
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_idle_workers_that_are_paused_are_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_pool, "END_S_MAX", 0.5)
    with WorkerPool(2, HERE) as workers:
        pids = {*workers.each(own_pid, range(4))}
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
    assert all(map(has_ended, pids))


def test_workers_that_are_paused_in_the_middle_of_a_case_are_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_pool, "END_S_MAX", 0.5)
    with WorkerPool(2, HERE, in_background=True) as workers:
        pids = {*workers.each(own_pid, range(4))}
        threading.Timer(0.5, workers.stop).start()
        with pytest.raises((OperationFailed, CancelledError)):
            list(workers.each(paused, range(4)))
    assert all(map(has_ended, pids))


def wait_for_stop(_: int) -> bool:
    until_s = time.monotonic() + WAIT_S
    while not stop_requested() and time.monotonic() < until_s:
        time.sleep(0.01)
    return stop_requested()


def test_a_case_learns_that_its_pool_stops() -> None:
    with WorkerPool(2, HERE) as workers:
        list(workers.each(own_pid, range(4)))
        threading.Timer(0.3, workers.stop).start()
        assert list(workers.each(wait_for_stop, range(2))) == [True, True]
    assert not stop_requested()


TELLS = """
import os, time
from shared.runtimes.process_pool import WorkerPool
from tests.unit.runtimes.test_process_pool import HERE, own_pid

if __name__ == "__main__":
    with WorkerPool(2, HERE) as workers:
        print(*workers.each(own_pid, range(4)), flush=True)
        time.sleep(60)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_processes_exit_with_their_parent(how: signal.Signals, tmp_path: Path) -> None:
    script = tmp_path / "tells.py"
    script.write_text(TELLS)
    process = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path.cwd())},
    )
    assert process.stdout is not None
    with process.stdout:
        pids = {int(word) for word in process.stdout.readline().split()}
    assert len(pids) == 2
    process.send_signal(how)
    process.wait(WAIT_S)
    assert all(map(has_ended, pids))
