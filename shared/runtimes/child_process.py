"""Child processes: they end with the process that started them, and may be told how often they were."""

import ctypes
import os
import signal
import sys
from collections.abc import Callable
from functools import partial

PR_SET_PDEATHSIG = 1
RESTARTS = "LIGHTWAVE_RESTARTS"
"""The variable by which a supervisor tells a process how often it was started again."""


def dies_with_parent() -> Callable[[], None] | None:
    """What a `Popen` shall run between fork and exec (`preexec_fn`): the child then gets SIGKILL when the
    *thread* that started it ends, and has a process group of its own. None where the system cannot.
    """
    if sys.platform != "linux":
        return None
    # The library is looked up before the fork: after it, another thread's lock may be held for ever.
    return partial(_tie, ctypes.CDLL(None), os.getpid())


def end_with_parent() -> None:
    """This process itself gets SIGTERM when the one that started it ends; not where the system cannot."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def _tie(libc: ctypes.CDLL, parent: int) -> None:
    """Runs in the child, between fork and exec."""
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)  # the parent ended before the kernel was told
    # Ctrl-C at the terminal is for the parent alone, which ends its child itself.
    os.setpgid(0, 0)
