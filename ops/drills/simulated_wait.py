"""Waiting for simulated time and conditions over HTTP, for the verbs of `chaos run`."""

import time
from collections.abc import Callable

from ops.client.answers import CLOCK
from ops.client.http_client import Client
from shared.basics.errors import InvalidInput, OperationFailed
from shared.basics.parsing import parse_duration_s
from shared.basics.units import US_PER_S

POLL_S = 0.2
STOPPED_S = 60.0
"""Wall time after which a wait gives up while simulated time does not advance."""


def span_us(name: str, text: object) -> int:
    """A duration of an argument, in microseconds."""
    seconds = parse_duration_s(text) if isinstance(text, str) else None
    if not seconds:
        raise InvalidInput(f"{name}: {text!r} is not allowed; must be a duration such as 30s, 15m or 2h")
    return seconds * US_PER_S


def clock_us(client: Client) -> int:
    """The simulated time of the twin, in microseconds."""
    return client.resource(CLOCK, "now_us").now_us


def wait_simulated(client: Client, for_us: int, is_done: Callable[[], bool]) -> bool:
    """Poll until `is_done`, at most `for_us` of simulated time; whether it was done. OperationFailed if
    simulated time stands still for a minute."""
    now_us = clock_us(client)
    end_us, moved_s = now_us + for_us, time.monotonic()
    while not is_done():
        before_us, now_us = now_us, clock_us(client)
        if now_us >= end_us:
            return is_done()
        if now_us > before_us:
            moved_s = time.monotonic()
        elif time.monotonic() - moved_s > STOPPED_S:
            raise OperationFailed(
                "simulated time does not advance; `lightwave clock resume` lets it continue"
            )
        time.sleep(POLL_S)
    return True
