"""Polls for conditions that send no notification."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def poll_until(condition: Callable[[], T], seconds: float, every_s: float = 0.01) -> T:
    """Evaluate a condition every `every_s` seconds: returns the first true value, or the last value at the
    timeout."""
    end_s = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < end_s:
        time.sleep(every_s)
    return value
