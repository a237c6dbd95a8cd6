"""Questions to a living twin that change nothing: its own rules answer them, on a copy of its states.

The gateway asks them through its port; it computes nothing of this by itself.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from schemas.api_answers import SliceExplanation, SlicePlan
from schemas.api_foresight import Foreseen
from schemas.api_loss import LossReport
from schemas.asked import AskedBody
from schemas.names import FaultKind, number_of
from schemas.operator import RequestSlice
from schemas.workload import SliceRequested
from services.failures.service import SERVICE as FAILURES
from services.foresight import Comparison, circuits_made, driven
from services.hurdles import hurdles
from services.losses import loss
from services.scheduler.asking.explaining import explain
from services.scheduler.asking.planning import plan
from services.scheduler.service import SERVICE as SCHEDULER
from services.scheduler.state import SchedulerState
from services.traffic.service import SERVICE as TRAFFIC
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


def never() -> Callable[[], bool]:
    """Questions that may take as long as they like."""
    return lambda: False


class Questions:
    """Answers from copies; `clock_us` is the twin's simulated time at which somebody asks. `deadline` is
    called at every question that drives a site, and returns what says whether its time is over."""

    def __init__(self, copies: Copies, deadline: Callable[[], Callable[[], bool]] = never) -> None:
        self._copies = copies
        self._deadline = deadline

    def plan(self, fabric: str, wanted: RequestSlice, clock_us: int) -> SlicePlan:
        """What the scheduler would do with this request."""
        workload = self._copies.state(fabric, WORKLOAD)
        message = request_of(fabric, Request(0, fabric, wanted), clock_us)
        (asked,) = on_request_slice(workload, wanted, message)
        if not isinstance(asked, SliceRequested):
            raise TypeError(f"workload answers a request with {type(asked).__name__}")
        return plan(self._scheduler(fabric, clock_us), asked)

    def explain(
        self, fabric: str, name: str, clock_us: int, networks: Sequence[str] = ()
    ) -> SliceExplanation | None:
        """Why a slice is as it is, None if the scheduler knows nothing of it; without its history. Where it
        is of a job over several pods, with what is in the way of that in the site's networks."""
        scheduler = self._scheduler(fabric, clock_us)
        found = explain(scheduler, name)
        member = scheduler.members.get(number_of(name))
        if found is None or member is None or not member.is_joined:
            return found
        there = [
            hurdle
            for network in networks
            for hurdle in hurdles(
                self._copies.state(network, TRAFFIC), self._copies.state(network, FAILURES), member.job
            )
        ]
        return found.model_copy(update={"in_the_way": (*found.in_the_way, *there)})

    def foresee(self, fabric: str, asked: Sequence[AskedBody], clock_us: int, for_us: int) -> Foreseen:
        """What would follow from these requests, made at once, within so long; OperationFailed if that is not
        worked out in time."""
        is_over = self._deadline()
        one, other = self._copies.sites(fabric, 2)
        at_us = max(one.now_us, clock_us)
        done = driven(one, fabric, asked, at_us, at_us + for_us, is_over)
        left = driven(other, fabric, (), at_us, at_us + for_us, is_over)
        found = Comparison(fabric, done, left, at_us + for_us)
        return Foreseen(
            asked=done.asked,
            caused=tuple(found.caused),
            slices=found.slices(),
            circuits_made=circuits_made(found.caused),
            jobs=found.jobs(),
            traffic=found.traffic(),
            until_us=at_us + for_us,
        )

    def loss(self, fabric: str, kind: FaultKind, target: str, clock_us: int) -> LossReport:
        """What a network would lose with one of its parts; OperationFailed as of `losses.loss`."""
        is_over = self._deadline()
        (site,) = self._copies.sites(fabric, 1)
        return loss(site, fabric, kind, target, max(site.now_us, clock_us), is_over)

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
