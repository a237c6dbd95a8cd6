"""Limits the number of expensive queries that run at once."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from shared.basics.errors import RateLimited

RETRY_AFTER_S = 2


class ConcurrencyLimit:
    """Lets a fixed number of queries run at once. A further query is refused and must be retried: a waiting
    one would block a thread that probes and other reads need."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._free = threading.BoundedSemaphore(limit)

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Hold a slot for one query; raise RateLimited if all are taken."""
        if not self._free.acquire(blocking=False):
            sentence = f"concurrent queries: must be at most {self._limit}; try again later"
            raise RateLimited(sentence, RETRY_AFTER_S)
        try:
            yield
        finally:
            self._free.release()


QUERIES_MAX = 2
"""Each query runs copies of a scheduler or of a whole site, for up to seconds, and takes about 10 MB."""

BISECTIONS_MAX = 1
"""Each bisection folds the log without a pause, except when it yields to other threads."""
