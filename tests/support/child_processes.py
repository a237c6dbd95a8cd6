"""Other processes: whether they run, and killing those that may have ended already."""

import contextlib
import os
import signal
import subprocess
from pathlib import Path

from shared.runtimes.poll import poll_until

END_S_MAX = 10.0


def runs(pid: int) -> bool:
    """Whether a process runs; one that ended but was not yet waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def has_ended(pid: int) -> bool:
    """Whether it ends within a few seconds."""
    return poll_until(lambda: not runs(pid), END_S_MAX)


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found += [int(child) for child in (task / "children").read_text().split()]
    return found


def kill(pid: int) -> None:
    """Kill a process, unless it has ended."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def kill_group(process: "subprocess.Popen[bytes] | subprocess.Popen[str]") -> None:
    """Kill a process of a session of its own with all that it started, unless they have ended."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
