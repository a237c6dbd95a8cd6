"""Orders of drills to a process, obeyed by its supervisor."""

import sys
import time
from pathlib import Path

import pytest

from ops.live.obeyed_orders import ObeyedOrders
from ops.live.supervisor import RestartPolicy, SupervisedProcess
from shared.runtimes.live.process.process_orders import end_orders, note_order, supervised_processes
from shared.runtimes.poll import poll_until
from tests.support.process_orders import Notes, order

pytestmark = pytest.mark.integration

WAIT_S_MAX = 20.0


def sleeping() -> SupervisedProcess:
    """A supervised process that starts a child, and both sleep."""
    return SupervisedProcess(
        "scheduler",
        (sys.executable, "-c", "import subprocess as s; s.run(['sleep', '60'])"),
        given_up=lambda _why: None,
        policy=RestartPolicy(wait_s_min=0.01, stop_s_max=2.0),
    )


def state_of(pid: int) -> str:
    """The state of a process in /proc: S sleeps, T is stopped."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_supervisor_kills_and_pauses_its_process_once() -> None:
    notes, process = Notes(), sleeping()
    process.start()
    try:
        assert poll_until(lambda: process.pid is not None, WAIT_S_MAX, 0.01)
        obeyed = ObeyedOrders(process, notes)
        note_order(notes, order(1))
        assert [one.verb for one in obeyed.poll()] == ["kill-process"]
        assert poll_until(lambda: process.exits == [-9] and process.pid is not None, WAIT_S_MAX, 0.01)
        # Redis lost its last second, and the sequencer noted the order again.
        notes.set_globals("process-orders", {order(1).id: None})
        note_order(notes, order(1))
        assert obeyed.poll() == []
        pid = process.pid
        assert pid is not None
        note_order(notes, order(2, "pause-process", for_us=1_000_000))
        with ObeyedOrders(process, notes):
            assert poll_until(lambda: state_of(pid) == "T", WAIT_S_MAX, 0.01)
            began_s = time.monotonic()
            assert poll_until(lambda: state_of(pid) == "S", WAIT_S_MAX, 0.01)
            assert time.monotonic() - began_s > 0.5
        assert supervised_processes(notes) == {"scheduler"}
        assert process.exits == [-9]
    finally:
        process.stop()


@pytest.mark.parametrize("drill", ["pod-0/drill-1", None])
def test_a_stop_of_a_drill_ends_its_pauses_at_once(drill: str | None) -> None:
    notes, process = Notes(), sleeping()
    process.start()
    try:
        assert poll_until(lambda: process.pid is not None, WAIT_S_MAX, 0.01)
        pid = process.pid
        assert pid is not None
        note_order(notes, order(1, "pause-process", for_us=600_000_000))
        with ObeyedOrders(process, notes):
            assert poll_until(lambda: state_of(pid) == "T", WAIT_S_MAX, 0.01)
            end_orders(notes, "pod-0/drill-2")
            assert not poll_until(lambda: state_of(pid) == "S", 1.2, 0.05)
            end_orders(notes, drill)
            assert poll_until(lambda: state_of(pid) == "S", WAIT_S_MAX, 0.01)
    finally:
        process.stop()
