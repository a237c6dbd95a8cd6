"""Routes about dead letters: what waits to be looked at, asking again, putting aside."""

from typing import Annotated, Unpack

from fastapi import APIRouter, Query, Response

from schemas.api_letters import DeadLetterReport, DroppedLetters
from schemas.api_requests import RequestReceipt
from services.gateway import dead_letters
from services.gateway.http.caller import Asking
from services.gateway.http.common import Common
from services.gateway.http.requests import OUTCOMES, Comment, Wait, received
from services.gateway.http.responses import answer
from services.gateway.ports import TwinPorts
from services.gateway.requests import Terms
from shared.runtimes.dead_letter import LETTERS_MAX

Every = Annotated[bool, Query(description="those that were replayed or dropped, too")]


def routes(twin: TwinPorts, **common: Unpack[Common]) -> APIRouter:
    """By origin. Whatever changes something is the administrators'."""
    router = APIRouter(prefix="/v1/dead-letters", tags=["dead letters"], **common)

    @router.get(
        "",
        summary=f"The letters that wait, oldest first, of the newest {LETTERS_MAX}",
        response_model=list[DeadLetterReport],
    )
    def listed(every: Every = False) -> Response:
        return answer(dead_letters.dead_letters(twin, every=every))

    @router.delete("", summary="Put aside all letters that wait", response_model=DroppedLetters)
    def drop_all(caller: Asking) -> Response:
        return answer(DroppedLetters(dropped=dead_letters.drop(twin, None, caller.name)))

    @router.get("/{origin:path}", summary="One letter", response_model=DeadLetterReport)
    def show(origin: str) -> Response:
        return answer(dead_letters.dead_letter(twin, origin))

    @router.delete("/{origin:path}", summary="Put a letter aside", response_model=DroppedLetters)
    def drop(origin: str, caller: Asking) -> Response:
        return answer(DroppedLetters(dropped=dead_letters.drop(twin, origin, caller.name)))

    @router.post(
        "/{origin:path}/replay",
        summary="Ask again for what a letter asks for, as a new request",
        response_model=RequestReceipt,
        responses=OUTCOMES,
    )
    async def replay(origin: str, caller: Asking, comment: Comment = None, wait: Wait = 0.0) -> Response:
        terms = Terms(None, caller.name, comment, wait)
        return received(await dead_letters.replay(twin, origin, terms))

    return router
