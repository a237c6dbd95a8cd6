"""Faults by clients: floods of requests, and concurrent clock changes at two gateways."""

import http.client
import urllib.error
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.soak.clients import RETRY_STATUSES
from tests.soak.fault_plan import PlannedFault
from tests.soak.faults.context import RETRY_S, FaultContext
from tests.soak.operators import FLOODERS, FloodClient

PAIRS = 8
RATE_PER_S = 12.0
"""Of each flooder: a name may write 20 a second in the long run."""


def flood(context: FaultContext, fault: PlannedFault) -> None:
    """Every flooding client requests drains of one pod, more than the twin serves."""
    twin = context.twin
    fabric = twin.pods[fault.index("fabric", len(twin.pods))]
    flooders = [
        FloodClient(f"{name}-{fault.number}", twin.posts(name, wait_s=0.0), fabric, cube, RATE_PER_S)
        for cube, name in enumerate(FLOODERS)
    ]
    context.floods += flooders
    for flooder in flooders:
        flooder.start()
    try:
        context.hold(fault.duration_s)
    finally:
        for flooder in flooders:
            flooder.give_up()
        for flooder in flooders:
            flooder.join()
        context.problems += [
            flooder.unexpected_answer for flooder in flooders if flooder.unexpected_answer is not None
        ]


def change_clock(context: FaultContext, fault: PlannedFault) -> None:
    """One gateway receives a pause and another a change of speed at the same time, several times; both take
    effect."""
    speed = context.twin.options.speed
    sides = [*context.twin.gateways]
    first, last = sides[0], sides[-1]
    compared = 0
    try:
        with ThreadPoolExecutor(2) as pool:
            for place in range(PAIRS):
                other = speed * fault.between(f"speed {place}", 0.5, 0.9)
                pausing = pool.submit(_told, context, first, "POST", "/v1/clock/pause", {})
                changing = pool.submit(_told, context, last, "PUT", "/v1/clock/speed", {"speed": other})
                both = [pausing.result(), changing.result()]
                shown = _told(context, first, "GET", "/v1/clock")
                answered = None not in [*both, shown]
                compared += answered
                if answered and (not shown["paused"] or shown["speed"] != other):
                    context.problems.append(
                        f"of two clock changes at once one was lost: a pause and × {other} gave {shown}"
                    )
                _told(context, last, "POST", "/v1/clock/resume", {})
        if not compared:
            context.problems.append(
                f"of {PAIRS} pairs of clock changes none was answered, and there was no other fault"
            )
    finally:
        while _told(context, first, "PUT", "/v1/clock", {"speed": speed, "paused": False}) is None:
            context.hold(RETRY_S)


def _told(
    context: FaultContext, gateway: str, method: str, path: str, body: dict[str, Any] | None = None
) -> Any:
    """The answer of a gateway; None while it cannot answer. Any other refusal than that is a problem."""
    try:
        return context.twin.send(method, path, body, gateway=gateway)
    except urllib.error.HTTPError as error:
        problem = f"{gateway}: {method} {path} was answered with {error.code}"
        if error.code not in RETRY_STATUSES and problem not in context.problems:
            context.problems.append(problem)
        error.close()
    except (OSError, ValueError, http.client.HTTPException):
        pass  # it does not run, or was killed in the middle of its answer
    return None
