"""Questions to a living twin that change nothing: its own rules answer them, on a copy of its states.

The gateway asks them through its port; it computes nothing of this by itself.
"""

from collections.abc import Sequence
from typing import Protocol

from schemas.api_answers import SliceExplanation, SlicePlan
from schemas.api_foresight import Foreseen
from schemas.asked import AskedBody
from schemas.operator import RequestSlice
from schemas.workload import SliceRequested
from services.failures.service import SERVICE as FAILURES
from services.foresight import Comparison, circuits_made, driven
from services.scheduler.asking.explaining import explain
from services.scheduler.asking.planning import plan
from services.scheduler.service import SERVICE as SCHEDULER
from services.scheduler.state import SchedulerState
from services.workload.logic import on_request_slice
from services.workload.service import SERVICE as WORKLOAD
from shared.engine.roots import Request, request_of, request_time_us
from shared.engine.service import Service
from shared.engine.site import Site
from shared.engine.state import StateT


class Copies(Protocol):
    """Private copies of what a twin's services hold."""

    def state(self, fabric: str, service: Service[StateT]) -> StateT:
        """What one of them holds of a fabric."""

    def sites(self, fabric: str, count: int) -> list[Site]:
        """All that they hold of a fabric's site, so many times, at a quiet moment."""


class Questions:
    """Answers from copies; `clock_us` is the twin's simulated time at which somebody asks."""

    def __init__(self, copies: Copies) -> None:
        self._copies = copies

    def plan(self, fabric: str, wanted: RequestSlice, clock_us: int) -> SlicePlan:
        """What the scheduler would do with this request."""
        workload = self._copies.state(fabric, WORKLOAD)
        message = request_of(fabric, Request(0, fabric, wanted), clock_us)
        (asked,) = on_request_slice(workload, wanted, message)
        if not isinstance(asked, SliceRequested):
            raise TypeError(f"workload answers a request with {type(asked).__name__}")
        return plan(self._scheduler(fabric, clock_us), asked)

    def explain(self, fabric: str, name: str, clock_us: int) -> SliceExplanation | None:
        """Why a slice is as it is, None if the scheduler knows nothing of it; without its history."""
        return explain(self._scheduler(fabric, clock_us), name)

    def foresee(self, fabric: str, asked: Sequence[AskedBody], clock_us: int, for_us: int) -> Foreseen:
        """What would follow from these requests, made at once, within so long."""
        one, other = self._copies.sites(fabric, 2)
        at_us = max(one.now_us, clock_us)
        done = driven(one, fabric, asked, at_us, at_us + for_us)
        left = driven(other, fabric, (), at_us, at_us + for_us)
        found = Comparison(fabric, done, left, at_us + for_us)
        made = circuits_made(found.caused)
        return Foreseen(done.asked, tuple(found.caused), found.slices(), made, at_us + for_us)

    def repairable(self, fabric: str, target: str) -> tuple[str, ...]:
        """The active faults of a part and of what is in it, by name, the oldest first."""
        state = self._copies.state(fabric, FAILURES)
        return tuple(
            [
                state.fault_name(number)
                for number, fault in sorted(state.active.items())
                if f"{fault.target}/".startswith(f"{target}/")
            ]
        )

    def _scheduler(self, fabric: str, clock_us: int) -> SchedulerState:
        """A copy of the scheduler's state, at the time at which a request would reach it."""
        state = self._copies.state(fabric, SCHEDULER)
        state.now_us = request_time_us(state.now_us, clock_us, SCHEDULER.due(state))
        return state
