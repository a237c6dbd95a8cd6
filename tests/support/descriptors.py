"""A process that may open nothing more."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager

STANDARD = 3
"""Descriptors that every process has: whatever of the others is closed meanwhile, none is free below that."""


@contextmanager
def no_descriptor_left() -> Iterator[int]:
    """Whatever this process would open fails with EMFILE meanwhile; the limit that it says."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (STANDARD, hard))
    try:
        yield STANDARD
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
