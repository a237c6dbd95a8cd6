"""Bodies of requests, read once and strictly: a key that stands twice would else say two things, of which the
last is taken without a word."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from shared.basics.errors import InvalidInput
from shared.basics.words import short


class JsonBody(Request):
    """A request whose JSON names every key once."""

    async def json(self) -> Any:
        """What the body holds; InvalidInput names a key that an object has twice."""
        return json.loads(await self.body(), object_pairs_hook=_once)


class JsonRoute(APIRoute):
    """A route whose body is read so."""

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]  # as wide as the base's
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            return await handler(JsonBody(request.scope, request.receive))

        return handle


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise InvalidInput(f"{short(repr(key))}: stands twice in one JSON object; allowed is once")
        found[key] = value
    return found
