"""Child processes that stop with their parent, and that know their number of restarts."""

import ctypes
import os
import signal
import sys
from collections.abc import Callable
from functools import partial

PR_SET_PDEATHSIG = 1
RESTARTS = "LIGHTWAVE_RESTARTS"
"""Environment variable in which a supervisor passes the number of restarts."""


def dies_with_parent() -> Callable[[], None] | None:
    """A `preexec_fn` for `Popen`: the child gets SIGKILL when the *thread* that started it ends, and has its
    own process group. None if the system does not support that."""
    if sys.platform != "linux":
        return None
    # Load the library before the fork: after it, a lock of another thread may never be released.
    return partial(_tie, ctypes.CDLL(None), os.getpid())


def end_with_parent() -> None:
    """Send this process SIGTERM when its parent exits, if the system supports that."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def _tie(libc: ctypes.CDLL, parent: int) -> None:
    """Runs in the child, between fork and exec."""
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)  # the parent exited before prctl
    # Only the parent receives Ctrl-C from the terminal; it stops its child itself.
    os.setpgid(0, 0)
