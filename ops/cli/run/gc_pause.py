"""Pauses garbage collection during the imports of long-running processes."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """Around the imports of such a process. What they make stays for as long as it runs: nobody looks for
    garbage in it, which would be a sixth of all that a start costs, and none of what runs later does."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
