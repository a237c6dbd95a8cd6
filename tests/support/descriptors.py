"""A process that may open nothing more."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_descriptor_left() -> Iterator[int]:
    """Whatever this process would open fails with EMFILE meanwhile; the limit that it says."""
    lowest_free = os.open(os.devnull, os.O_RDONLY)
    os.close(lowest_free)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, hard))
    try:
        yield lowest_free
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
