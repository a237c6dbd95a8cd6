"""Waiting for something to come about in the twin."""

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")
POLL_S = 0.3


def until(look: Callable[[], Found | None], timeout_s: float | None) -> Found | None:
    """What a look finds once it finds something; None if that takes longer than `timeout_s` of wall time."""
    end_s = None if timeout_s is None else time.monotonic() + timeout_s
    while (found := look()) is None:
        if end_s is not None and time.monotonic() >= end_s:
            return None
        time.sleep(POLL_S)
    return found
