"""Read-only queries to a running twin, answered by its own rules on copies of its states.

The gateway calls them through its port and computes none of this itself.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from schemas.api.explain import SliceExplanation, SlicePlan
from schemas.api.forecast import MeasureValues
from schemas.api.whatif import LossReport, WhatIfResult
from schemas.messages.operator import RequestSlice
from schemas.messages.workload import SliceRequested
from schemas.name_parts import is_within
from schemas.names import FaultKind, number_of
from schemas.request_metadata import RequestBody
from services.failures.service import SERVICE as FAILURES
from services.scheduler.explain.request_plan import plan_request
from services.scheduler.explain.slice_explanation import explain_slice
from services.scheduler.service import SERVICE as SCHEDULER
from services.scheduler.state import SchedulerState
from services.traffic.service import SERVICE as TRAFFIC
from services.what_if.compare import SHORTER, DrivenSite, WhatIfComparison, circuits_made, drive_now
from services.what_if.measure_recorder import MeasureRecorder, compare_measures
from services.what_if.network_impact import assess_network_impact
from services.what_if.network_impediments import network_impediments
from services.workload.logic import on_request_slice
from services.workload.service import SERVICE as WORKLOAD
from shared.engine.message_order import Request, request_message
from shared.engine.request_time import request_time_us
from shared.engine.service import Service
from shared.engine.site import Site
from shared.engine.state import StateT


class StateSource(Protocol):
    """Private copies of the states of a twin's services."""

    def state(self, fabric: str, service: Service[StateT]) -> StateT:
        """The state of one service of a fabric."""

    def sites(self, fabric: str, count: int) -> list[Site]:
        """`count` copies of all states of a fabric's site, taken at a quiet time."""


def no_deadline() -> Callable[[], bool]:
    """A deadline that never passes."""
    return lambda: False


class WhatIfQueries:
    """Answers queries from copies; `clock_us` is the twin's simulated time of the query.

    `deadline` is called once for every query that runs a site. It returns a function that says whether the
    query's time is over.
    """

    def __init__(self, copies: StateSource, deadline: Callable[[], Callable[[], bool]] = no_deadline) -> None:
        self._copies = copies
        self._deadline = deadline

    def plan(self, fabric: str, request: RequestSlice, clock_us: int) -> SlicePlan:
        """What the scheduler would do with this request."""
        workload = self._copies.state(fabric, WORKLOAD)
        message = request_message(fabric, Request(0, fabric, request), clock_us)
        (requested,) = on_request_slice(workload, request, message)
        if not isinstance(requested, SliceRequested):
            raise TypeError(
                f"workload must answer a request with SliceRequested, not {type(requested).__name__}"
            )
        return plan_request(self._scheduler(fabric, clock_us), requested)

    def explain(
        self, fabric: str, name: str, clock_us: int, networks: Sequence[str] = ()
    ) -> SliceExplanation | None:
        """Why a slice is in its state, without its history; None if the scheduler does not know it. For a
        multislice job, it includes the impediments in the site's networks."""
        scheduler = self._scheduler(fabric, clock_us)
        explanation = explain_slice(scheduler, name)
        row = scheduler.slices.get(number_of(name))
        member = None if row is None else row.member
        if explanation is None or member is None or not member.is_joined:
            return explanation
        impediments = [
            impediment
            for network in networks
            for impediment in network_impediments(
                self._copies.state(network, TRAFFIC), self._copies.state(network, FAILURES), member.job
            )
        ]
        return explanation.model_copy(update={"obstacles": (*explanation.obstacles, *impediments)})

    def predict(
        self, fabric: str, requested: Sequence[RequestBody], clock_us: int, for_us: int
    ) -> WhatIfResult:
        """The effects of these requests, made at once, within `for_us`. Raise OperationFailed if that takes
        too long."""
        is_over = self._deadline()
        with_requests, without_requests = self._copies.sites(fabric, 2)
        at_us = max(with_requests.now_us, clock_us)
        done, done_measures = self._driven(with_requests, fabric, requested, at_us, for_us, is_over)
        left, left_measures = self._driven(without_requests, fabric, (), at_us, for_us, is_over)
        comparison = WhatIfComparison(fabric, done, left, at_us + for_us)
        return WhatIfResult(
            requested=done.requested,
            caused=tuple(comparison.caused),
            slices=comparison.slices(),
            circuits_made=circuits_made(comparison.caused),
            jobs=comparison.jobs(),
            traffic=comparison.traffic(),
            measures=compare_measures([(left_measures, done_measures)]),
            until_us=at_us + for_us,
        )

    def _driven(
        self,
        site: Site,
        fabric: str,
        requested: Sequence[RequestBody],
        at_us: int,
        for_us: int,
        is_over: Callable[[], bool],
    ) -> tuple[DrivenSite, MeasureValues]:
        """A copy after `for_us` with these requests, and its measures."""
        recorder = MeasureRecorder(site, at_us)
        driven = drive_now(
            site, fabric, requested, at_us, at_us + for_us, is_over, (recorder,), advice=SHORTER
        )
        return driven, recorder.values(at_us + for_us)

    def loss(self, fabric: str, kind: FaultKind, target: str, clock_us: int) -> LossReport:
        """The loss if a part of a network fails; raise OperationFailed as `assess_network_impact` does."""
        is_over = self._deadline()
        (site,) = self._copies.sites(fabric, 1)
        return assess_network_impact(site, fabric, kind, target, max(site.now_us, clock_us), is_over)

    def repairable(self, fabric: str, target: str) -> tuple[str, ...]:
        """The names of the active faults of a part and of what is in it, oldest first."""
        state = self._copies.state(fabric, FAILURES)
        return tuple(
            [
                state.fault_name(number)
                for number, fault in sorted(state.active.items())
                if is_within(fault.target, target)
            ]
        )

    def _scheduler(self, fabric: str, clock_us: int) -> SchedulerState:
        """A copy of the scheduler's state, at the time at which a request would reach it."""
        state = self._copies.state(fabric, SCHEDULER)
        state.now_us = request_time_us(state.now_us, clock_us, SCHEDULER.due(state))
        return state
