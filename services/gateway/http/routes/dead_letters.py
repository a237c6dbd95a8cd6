"""Routes of dead letters: list, show, replay and drop."""

from typing import Annotated, Unpack

from fastapi import APIRouter, Query, Response

from schemas.api.dead_letters import DeadLetterReport, DroppedDeadLetters
from schemas.api.requests import RequestReceipt
from services.gateway.admin import dead_letters
from services.gateway.http.access.caller import CurrentCaller
from services.gateway.http.responses import json_response
from services.gateway.http.route_options import RouteOptions
from services.gateway.http.routes.requests import OUTCOMES, Comment, Wait, receipt_response
from services.gateway.requests.operator_requests import RequestTerms
from services.gateway.runtime_ports import TwinPorts
from shared.runtimes.dead_letter import LETTERS_MAX

Every = Annotated[bool, Query(description="include letters that were replayed or dropped")]


def routes(twin: TwinPorts, **common: Unpack[RouteOptions]) -> APIRouter:
    """The routes of dead letters, by origin. Only administrators may change something."""
    router = APIRouter(prefix="/v1/dead-letters", tags=["dead letters"], **common)

    @router.get(
        "",
        summary=f"The waiting letters among the newest {LETTERS_MAX}, oldest first",
        response_model=list[DeadLetterReport],
    )
    def list_letters(every: Every = False) -> Response:
        return json_response(dead_letters.list_letters(twin, every=every))

    @router.delete("", summary="Drop all waiting letters", response_model=DroppedDeadLetters)
    def drop_all(caller: CurrentCaller) -> Response:
        return json_response(DroppedDeadLetters(dropped=dead_letters.drop_letters(twin, None, caller.name)))

    @router.get("/{origin:path}", summary="One letter", response_model=DeadLetterReport)
    def show(origin: str) -> Response:
        return json_response(dead_letters.show_letter(twin, origin))

    @router.delete("/{origin:path}", summary="Drop a letter", response_model=DroppedDeadLetters)
    def drop(origin: str, caller: CurrentCaller) -> Response:
        return json_response(DroppedDeadLetters(dropped=dead_letters.drop_letters(twin, origin, caller.name)))

    @router.post(
        "/{origin:path}/replay",
        summary="Submit the request in a letter again",
        response_model=RequestReceipt,
        responses=OUTCOMES,
    )
    async def replay(
        origin: str, caller: CurrentCaller, comment: Comment = None, wait: Wait = 0.0
    ) -> Response:
        terms = RequestTerms(None, caller.name, comment, wait)
        return receipt_response(await dead_letters.replay_letter(twin, origin, terms))

    return router
