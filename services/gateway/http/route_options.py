"""Bodies of requests, read once and strictly: a key that stands twice would else say two things, of which the
last is taken without a word."""

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypedDict

from fastapi import Request, Response
from fastapi.params import Depends
from fastapi.routing import APIRoute

from shared.basics.errors import InvalidInput
from shared.basics.spelling import truncated

# What the routes of all modules have in common.


class RouteOptions(TypedDict, total=False):
    """Arguments of every router: what is asked before a route answers, and the errors that any may give."""

    dependencies: Sequence[Depends]
    responses: dict[int | str, dict[str, Any]]


class StrictJsonRequest(Request):
    """A request whose JSON names every key once."""

    async def json(self) -> Any:
        """What the body holds; InvalidInput names a key that an object has twice."""
        return json.loads(await self.body(), object_pairs_hook=_once)


class StrictJsonRoute(APIRoute):
    """A route whose body is read so."""

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]  # as wide as the base's
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            return await handler(StrictJsonRequest(request.scope, request.receive))

        return handle


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise InvalidInput(f"{truncated(repr(key))}: stands twice in one JSON object; allowed is once")
        found[key] = value
    return found
