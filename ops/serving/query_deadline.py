"""Limits of a query: its wall time, and its share of a processor."""

import time
from collections.abc import Callable

QUERY_S = 15.0
"""Seconds allowed for a query that runs a copy of a site. Less than the client's timeout, so that the client
gets the answer."""
WORK_S = 0.01
"""Seconds of work after which a query pauses for the same time, so that simulated time advances and other
requests in the same process are answered."""


def query_deadline() -> Callable[[], bool]:
    """Return a function that tells whether the time of a query that starts now is over. The function pauses
    the query if it has worked for long enough."""
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
