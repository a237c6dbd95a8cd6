"""Requests about drills: start, stop, and the kill switch of all sites."""

import asyncio
from dataclasses import replace

import orjson
from pydantic import ValidationError

from schemas.api.drills import DrillRequest, SafetyReceipt, SafetyRequest, SafetyRow, ScheduleRequest
from schemas.documents.drills import DrillsSummary
from schemas.drill_plan import DrillPlan
from schemas.drill_process_steps import process_problem
from schemas.limits import IDEMPOTENCY_KEY_MAX
from schemas.messages.drill_requests import (
    ReleaseDrills,
    RunDrill,
    ScheduleDrill,
    StopAllDrills,
    StopDrill,
    UnscheduleDrill,
)
from schemas.request_metadata import RequestBody
from services.gateway.fabrics import accepts, default_living_fabric, fabric_of, living_fabrics, site_of
from services.gateway.requests.operator_requests import RequestTerms, submit, valid_body
from services.gateway.resources.status_documents import read_one
from services.gateway.runtime_ports import TwinPorts
from services.gateway.text.validation_errors import invalid_sentence
from shared.basics.errors import InvalidInput
from shared.basics.time_format import format_time
from shared.basics.units import US_PER_S, to_whole_us


def run_request(twin: TwinPorts, request: DrillRequest) -> tuple[str, RequestBody]:
    """(fabric, request body) to start a drill. Raise InvalidInput with the first field of the plan that is
    not valid."""
    plan, fabric = _plan_and_home(twin, request, RunDrill)
    return fabric, RunDrill(plan=plan, seed=request.seed)


def schedule_request(twin: TwinPorts, request: ScheduleRequest) -> tuple[str, RequestBody]:
    """(fabric, request body) to schedule a drill. Raise InvalidInput for a plan that is not valid or has no
    schedule, and for two first times."""
    plan, fabric = _plan_and_home(twin, request, ScheduleDrill)
    if plan.schedule is None:
        raise InvalidInput("plan.schedule: is missing; must have every_us")
    if request.first_us is not None and request.first_after_s is not None:
        raise InvalidInput("first_us, first_after_s: must not both be given")
    now_us, first_us = twin.clock.show().now_us, request.first_us
    if request.first_after_s is not None:
        first_us = now_us + to_whole_us(request.first_after_s, US_PER_S)
    if first_us is not None and first_us <= now_us:
        raise InvalidInput(
            f"first_us: {format_time(first_us)} ({first_us} us) is not allowed; must be after now, "
            f"{format_time(now_us)}; a time from now is first_after_s"
        )
    return fabric, ScheduleDrill(plan=plan, seed=request.seed, first_us=first_us)


def unschedule_request(twin: TwinPorts, name: str) -> tuple[str, RequestBody]:
    """(fabric, request body) to end a schedule."""
    return fabric_of(twin, name), valid_body(UnscheduleDrill, {"schedule": name})


def _plan_and_home(twin: TwinPorts, request: DrillRequest, body: type[RequestBody]) -> tuple[DrillPlan, str]:
    """(plan, the fabric that the drill belongs to)."""
    try:
        plan = DrillPlan.model_validate_json(orjson.dumps(request.plan))
    except ValidationError as error:
        raise InvalidInput(f"plan.{invalid_sentence(error.errors()[:1])}") from None
    supervised = None if twin.supervised is None else twin.supervised()
    problem = process_problem(plan, supervised, f"in the {twin.about.runtime} twin")
    if problem is not None:
        raise InvalidInput(f"plan: {problem}")
    meant = (request.fabric, *(step.fabric for step in plan.steps), *(row.fabric for row in plan.targets))
    home = next((name for name in meant if name is not None), None)
    return plan, default_living_fabric(twin, home, body)


def stop_request(twin: TwinPorts, name: str, reason: str) -> tuple[str, RequestBody]:
    """(fabric, request body) to stop a drill."""
    return fabric_of(twin, name), valid_body(StopDrill, {"drill": name, "reason": reason})


async def end_process_orders(twin: TwinPorts, drill: str | None) -> None:
    """Let the processes continue that a drill, or all drills, have paused: a site that waits for one could
    not read the stop."""
    if twin.end_process_orders is not None:
        await asyncio.to_thread(twin.end_process_orders, drill)


async def submit_safety(twin: TwinPorts, request: SafetyRequest, terms: RequestTerms) -> list[SafetyReceipt]:
    """Send one request to each site at once. Raise InvalidInput for `hold` with `release`."""
    if request.action == "release" and request.hold:
        raise InvalidInput("hold: must not be true with release")
    fabrics = first_fabrics(twin)
    if request.action == "stop":
        await end_process_orders(twin, None)
    sent = []
    for site, fabric in fabrics.items():
        body: RequestBody = (
            StopAllDrills(fabric=fabric, reason=request.reason, hold=request.hold)
            if request.action == "stop"
            else ReleaseDrills(fabric=fabric, reason=request.reason)
        )
        sent.append(submit(twin, fabric, body, _terms_of_site(terms, site, len(fabrics))))
    receipts = await asyncio.gather(*sent)
    return [
        SafetyReceipt(site=site, receipt=receipt) for site, receipt in zip(fabrics, receipts, strict=True)
    ]


def first_fabrics(twin: TwinPorts) -> dict[str, str]:
    """Site → its first living fabric, which receives the site's requests about all drills."""
    found: dict[str, str] = {}
    for fabric in living_fabrics(twin):
        if accepts(twin, fabric, StopAllDrills):
            found.setdefault(site_of(twin, fabric), fabric)
    return found


def _terms_of_site(terms: RequestTerms, site: str, sites: int) -> RequestTerms:
    """The terms of one of several requests: an idempotency key is of one request alone."""
    if terms.key is None or sites == 1:
        return terms
    key = f"{terms.key}/{site}"
    if len(key) > IDEMPOTENCY_KEY_MAX:
        most = IDEMPOTENCY_KEY_MAX - len(site) - 1
        raise InvalidInput(f"Idempotency-Key: has {len(terms.key)} characters; must have 1 to {most}")
    return replace(terms, key=key)


def safety_rows(twin: TwinPorts) -> list[SafetyRow]:
    """The state of the kill switch, by fabric."""
    rows = []
    for fabric in living_fabrics(twin):
        summary = read_one(twin, fabric, "summaries", f"{fabric}/drills", DrillsSummary)
        if summary is not None:
            rows.append(
                SafetyRow(fabric=fabric, running=summary.running, hold=summary.hold, held_us=summary.held_us)
            )
    return rows
