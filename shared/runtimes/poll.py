"""Waiting for what nobody tells of."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def poll_until(condition: Callable[[], T], seconds: float, every_s: float = 0.01) -> T:
    """Ask again and again, `every_s`: the first true answer, or the last one when the time is over."""
    end_s = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < end_s:
        time.sleep(every_s)
    return found
