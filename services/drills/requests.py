"""The requests of a step, and the leases of what they begin."""

from collections.abc import Sequence
from typing import get_args

import orjson
from pydantic import ValidationError

from schemas.body import Body
from schemas.drill_plan import DrillRequest, PlannedStep, RequestVerb
from schemas.messages.cubes import CubeDrained
from schemas.messages.drills import REQUESTS
from schemas.messages.operator import DrainCube, InjectFault, RequestSlice, UndrainCube
from services.drills.state import Effect

REQUEST_TYPES: dict[str, str] = {
    "inject": "InjectFault",
    "clear": "ClearFault",
    "drain": "DrainCube",
    "undrain": "UndrainCube",
    "request": "RequestSlice",
    "release": "ReleaseSlice",
    "set": "SetParameters",
    "test-link": "TestLink",
    "restart-ocs": "RestartOcs",
    "connect": "CreateCrossConnects",
    "disconnect": "RemoveCrossConnects",
    "plan-topology": "PlanTopology",
    "approve-rewiring": "ApproveRewiring",
    "abort-rewiring": "AbortRewiring",
}
"""Verb of a step → the type of its request."""
REQUEST_VERBS: tuple[str, ...] = get_args(RequestVerb)


def placed(text: str, target: str | None, name: str) -> str:
    """A text with the name of a resource in the place of `{TARGET}`."""
    return text if target is None else text.replace("{" + target + "}", name)


EXAMPLES = {
    "drain": "pod-0/cube-0",
    "undrain": "pod-0/cube-0",
    "release": "pod-0/slice-0",
    "clear": "pod-0/fault-0",
    "approve-rewiring": "dcn-0/rewiring-0",
    "abort-rewiring": "dcn-0/rewiring-0",
}
"""Verb → a name of the form that its requests take, where that is not the form of any part."""


def template_problem(step: PlannedStep) -> str | None:
    """Why a step's template makes no request, if its target is left out; None if it does."""
    example = placed(step.template or "", step.each, EXAMPLES.get(step.verb or "", "pod-0/ocs-0"))
    try:
        request_from(step, example)
    except ValueError as error:
        return str(error)
    return None


def requests_of(step: PlannedStep, names: Sequence[str]) -> list[DrillRequest]:
    """The requests of one repeat of a step, in order: one for each of the names of its target, or one in
    all. Raise ValueError with a sentence if a name makes no valid request."""
    template = step.template or "{}"
    if step.each is None:
        return [request_from(step, template)]
    return [request_from(step, placed(template, step.each, name)) for name in names]


def request_from(step: PlannedStep, text: str) -> DrillRequest:
    """The request with these fields, as JSON; ValueError with a sentence if it is invalid."""
    model = REQUESTS[REQUEST_TYPES[str(step.verb)]]
    try:
        found: DrillRequest = model.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "template"
        raise ValueError(f"step {step.name}: {where}: {first['msg']}") from None
    return found


def with_lease(request: DrillRequest, now_us: int, lease_ends_us: int) -> DrillRequest:
    """The request, so that what it begins ends with the lease at the latest."""
    left_us = max(1, lease_ends_us - now_us)
    if isinstance(request, InjectFault | RequestSlice):
        return _shortened(request, left_us)
    if isinstance(request, DrainCube):
        if request.from_us is not None:
            left_us = max(1, lease_ends_us - max(now_us, request.from_us))
        return _shortened(request, left_us)
    return request


def _shortened(request: InjectFault | RequestSlice | DrainCube, most_us: int) -> DrillRequest:
    duration_us = request.duration_us
    if duration_us is not None and duration_us <= most_us:
        return request
    values = {name: getattr(request, name) for name in request.field_names} | {"duration_us": most_us}
    return type(request)(**values)


def undo_request(effect: Effect, now_us: int) -> DrillRequest:
    """The request that ends an effect now. A drain that replaced another one gives the cube back to that one,
    unless it would be over."""
    request: DrillRequest = REQUESTS[effect.undo_type].model_validate_json(effect.undo)
    if isinstance(request, DrainCube) and (request.from_us or 0) + (request.duration_us or 0) <= now_us:
        return UndrainCube(cube=request.cube)
    return request


def outlasts(body: CubeDrained, request: DrillRequest, at_us: int) -> bool:
    """Whether a cube is drained for longer than the request says: by another drain, which continues."""
    if not isinstance(request, DrainCube) or request.duration_us is None:
        return False
    from_us = at_us if request.from_us is None else request.from_us
    return body.until_us is None or body.until_us > from_us + request.duration_us


def text_of(request: Body) -> str:
    """A request's fields as JSON."""
    return request.model_dump_json()


def typed_text_of(request: Body) -> str:
    """A request as JSON with its type, as a query has it."""
    fields = request.model_dump(mode="json")
    return orjson.dumps({"type": type(request).__name__, **fields}).decode()
