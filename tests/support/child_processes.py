"""Processes on this machine: whether they run, what they started, and how to kill them."""

import contextlib
import os
import signal
import subprocess
from pathlib import Path

from shared.runtimes.poll import poll_until

END_S_MAX = 10.0


def runs(pid: int) -> bool:
    """Whether a process runs. A zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def has_ended(pid: int) -> bool:
    """Whether the process exits within a few seconds."""
    return poll_until(lambda: not runs(pid), END_S_MAX)


def children(pid: int) -> list[int]:
    """Return the child processes of a process."""
    pids = []
    for task in Path(f"/proc/{pid}/task").glob("*"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            pids += [int(child) for child in (task / "children").read_text().split()]
    return pids


def kill(pid: int) -> None:
    """Kill a process if it still runs."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def kill_group(process: "subprocess.Popen[bytes] | subprocess.Popen[str]") -> None:
    """Kill a process that leads its own session, with its descendants, if they still run."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
