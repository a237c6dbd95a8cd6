"""Questions to a living twin that change nothing: its own rules answer them, on a copy of its states.

The gateway asks them through its port; it computes nothing of this by itself.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from schemas.api.explain import SliceExplanation, SlicePlan
from schemas.api.whatif import LossReport, WhatIfResult
from schemas.messages.operator import RequestSlice
from schemas.messages.workload import SliceRequested
from schemas.names import FaultKind, number_of
from schemas.request_metadata import RequestBody
from services.failures.service import SERVICE as FAILURES
from services.scheduler.explain.request_plan import plan_request
from services.scheduler.explain.slice_explanation import explain_slice
from services.scheduler.service import SERVICE as SCHEDULER
from services.scheduler.state import SchedulerState
from services.traffic.service import SERVICE as TRAFFIC
from services.what_if.compare import WhatIfComparison, circuits_made, drive
from services.what_if.network_impact import assess_network_impact
from services.what_if.network_impediments import network_impediments
from services.workload.logic import on_request_slice
from services.workload.service import SERVICE as WORKLOAD
from shared.engine.roots import Request, request_message, request_time_us
from shared.engine.service import Service
from shared.engine.site import Site
from shared.engine.state import StateT


class StateSource(Protocol):
    """Private copies of what a twin's services hold."""

    def state(self, fabric: str, service: Service[StateT]) -> StateT:
        """What one of them holds of a fabric."""

    def sites(self, fabric: str, count: int) -> list[Site]:
        """All that they hold of a fabric's site, so many times, at a quiet moment."""


def no_deadline() -> Callable[[], bool]:
    """Questions that may take as long as they like."""
    return lambda: False


class WhatIfQueries:
    """Answers from copies; `clock_us` is the twin's simulated time at which somebody asks. `deadline` is
    called at every question that drives a site, and returns what says whether its time is over."""

    def __init__(self, copies: StateSource, deadline: Callable[[], Callable[[], bool]] = no_deadline) -> None:
        self._copies = copies
        self._deadline = deadline

    def plan(self, fabric: str, wanted: RequestSlice, clock_us: int) -> SlicePlan:
        """What the scheduler would do with this request."""
        workload = self._copies.state(fabric, WORKLOAD)
        message = request_message(fabric, Request(0, fabric, wanted), clock_us)
        (requested,) = on_request_slice(workload, wanted, message)
        if not isinstance(requested, SliceRequested):
            raise TypeError(f"workload answers a request with {type(requested).__name__}")
        return plan_request(self._scheduler(fabric, clock_us), requested)

    def explain(
        self, fabric: str, name: str, clock_us: int, networks: Sequence[str] = ()
    ) -> SliceExplanation | None:
        """Why a slice is as it is, None if the scheduler knows nothing of it; without its history. Where it
        is of a job over several pods, with what is in the way of that in the site's networks."""
        scheduler = self._scheduler(fabric, clock_us)
        found = explain_slice(scheduler, name)
        member = scheduler.members.get(number_of(name))
        if found is None or member is None or not member.is_joined:
            return found
        there = [
            impediment
            for network in networks
            for impediment in network_impediments(
                self._copies.state(network, TRAFFIC), self._copies.state(network, FAILURES), member.job
            )
        ]
        return found.model_copy(update={"obstacles": (*found.obstacles, *there)})

    def foresee(
        self, fabric: str, requested: Sequence[RequestBody], clock_us: int, for_us: int
    ) -> WhatIfResult:
        """What would follow from these requests, made at once, within so long; OperationFailed if that is not
        worked out in time."""
        is_over = self._deadline()
        one, other = self._copies.sites(fabric, 2)
        at_us = max(one.now_us, clock_us)
        done = drive(one, fabric, requested, at_us, at_us + for_us, is_over)
        left = drive(other, fabric, (), at_us, at_us + for_us, is_over)
        found = WhatIfComparison(fabric, done, left, at_us + for_us)
        return WhatIfResult(
            requested=done.requested,
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
        return assess_network_impact(site, fabric, kind, target, max(site.now_us, clock_us), is_over)

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
