"""A bound on answers that are worked out at length."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from shared.basics.errors import RateLimited

RETRY_AFTER_S = 2


class ConcurrencyLimit:
    """So many are worked out at once. Who comes then is told to ask again rather than made to wait: who waits
    would hold a thread that probes and all other reads need as well."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._free = threading.BoundedSemaphore(most)

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Work out one answer; AllowanceUsed if as many as may be are being worked out."""
        if not self._free.acquire(blocking=False):
            many = f"{self._most} questions are" if self._most > 1 else "such a question is"
            sentence = f"{many} being worked out, and no more may be at once; ask again"
            raise RateLimited(sentence, RETRY_AFTER_S)
        try:
            yield
        finally:
            self._free.release()


QUERIES_MAX = 2
"""Each drives copies of a scheduler or of a whole site, for up to seconds, and takes some 10 MB."""

BISECTIONS_MAX = 1
"""Each folds the log without a pause, but for what it leaves to others."""
