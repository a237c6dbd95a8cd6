"""How long may be worked on an answer, and how much of a processor that takes."""

import time
from collections.abc import Callable

QUERY_S = 15.0
"""Of a question that drives a copy of a site: less than who asks waits, or nobody would hear of it."""
WORK_S = 0.01
"""A question rests once it has worked for so long, and for as long as that was: time goes on and others are
answered in the same process."""


def query_deadline() -> Callable[[], bool]:
    """Whether the time of a question that is asked now is over, whenever that is looked at; who looks rests
    before it is told so."""
    ends_s = time.monotonic() + QUERY_S
    rested_s = time.thread_time()

    def is_over() -> bool:
        nonlocal rested_s
        worked_s = time.thread_time() - rested_s
        if worked_s >= WORK_S:
            time.sleep(worked_s)
            rested_s = time.thread_time()
        return time.monotonic() > ends_s

    return is_over
