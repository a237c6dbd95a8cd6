"""Routes of questions about what is not done: what hangs on a part, what a fault, a drain or a repair would
touch."""

from typing import Annotated, Unpack

from fastapi import APIRouter, Query, Response

from schemas.api import ImpactReport
from schemas.api_foresight import Foresight
from schemas.api_loss import LossReport
from schemas.api_requests import DurationS, FaultRequest
from schemas.names import FaultKind
from services.gateway import foresight
from services.gateway.fabrics import fabric_of
from services.gateway.http.at_once import AtOnce
from services.gateway.http.common import Common
from services.gateway.http.responses import answer
from services.gateway.impact import impact_of, loss_of
from services.gateway.ports import TwinPorts
from services.gateway.rewirings import is_network

Cube = Annotated[str, Query(description="such as pod-0/cube-12")]
Within = Annotated[
    int,
    Query(ge=1, le=foresight.WITHIN_S_MAX, description="so many simulated seconds are looked ahead"),
]


def routes(twin: TwinPorts, questions: AtOnce, **common: Unpack[Common]) -> APIRouter:
    """Nothing happens by asking."""
    router = APIRouter(prefix="/v1", tags=["questions"], **common)

    @router.get(
        "/impact/{target:path}",
        summary="What hangs on a part of a pod, or what a network loses with one of its parts",
        response_model=ImpactReport | LossReport,
    )
    def impact(target: str) -> Response:
        if not is_network(twin, fabric_of(twin, target)):
            return answer(impact_of(twin, target))
        with questions.one():
            return answer(loss_of(twin, target))

    @router.get(
        "/foresee/fault",
        summary="What a fault would touch, which is not injected",
        response_model=Foresight,
    )
    def fault(
        kind: FaultKind,
        target: Annotated[str, Query(description="such as pod-0/ocs-17")],
        duration_s: Annotated[DurationS | None, Query()] = None,
        within_s: Within = foresight.WITHIN_S,
    ) -> Response:
        asked = FaultRequest(kind=kind, target=target, duration_s=duration_s)
        with questions.one():
            return answer(foresight.foresee_fault(twin, asked, within_s))

    @router.get(
        "/foresee/drain",
        summary="What draining a cube would touch, which is not done",
        response_model=Foresight,
    )
    def drain(
        target: Annotated[str, Query(description="such as pod-0/cube-12")],
        within_s: Within = foresight.WITHIN_S,
    ) -> Response:
        with questions.one():
            return answer(foresight.foresee_drain(twin, target, within_s))

    @router.get(
        "/foresee/repair",
        summary="What comes back if all that is broken in a part is repaired now, which is not done",
        response_model=Foresight,
    )
    def repair(
        target: Annotated[str, Query(description="such as pod-0/cube-12")],
        within_s: Within = foresight.WITHIN_S,
    ) -> Response:
        with questions.one():
            return answer(foresight.foresee_repair(twin, target, within_s))

    return router
