"""Exhausts the file descriptors of this process."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager

STANDARD = 3
"""Descriptors 0 to 2, which every process has. No number below this one comes free when other descriptors
close."""


@contextmanager
def no_descriptor_left() -> Iterator[int]:
    """Make every `open` in this process fail with EMFILE. Yields the limit that the error states."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (STANDARD, hard))
    try:
        yield STANDARD
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
