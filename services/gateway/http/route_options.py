"""Options and base classes of routes. JSON bodies are parsed strictly: a duplicate key would silently
override the first."""

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypedDict

from fastapi import Request, Response
from fastapi.params import Depends
from fastapi.routing import APIRoute

from shared.basics.errors import InvalidInput
from shared.basics.spelling import truncated


class RouteOptions(TypedDict, total=False):
    """Arguments of every router: dependencies of all routes, and errors that any route may return."""

    dependencies: Sequence[Depends]
    responses: dict[int | str, dict[str, Any]]


class StrictJsonRequest(Request):
    """A request whose JSON must not have duplicate keys."""

    async def json(self) -> Any:
        """The parsed body; raise InvalidInput for a duplicate key in an object."""
        return json.loads(await self.body(), object_pairs_hook=_object_without_duplicates)


class StrictJsonRoute(APIRoute):
    """A route with a strictly parsed body."""

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]  # as wide as the base's
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            return await handler(StrictJsonRequest(request.scope, request.receive))

        return handle


def _object_without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in pairs:
        if key in values:
            raise InvalidInput(f"{truncated(repr(key))}: duplicate key; must be given once in a JSON object")
        values[key] = value
    return values
