"""Options and base classes of routes. JSON bodies are parsed strictly: a duplicate key would silently
override the first."""

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

from fastapi import Request, Response
from fastapi.params import Depends
from fastapi.routing import APIRoute
from pydantic import BaseModel

from shared.basics.errors import InvalidInput
from shared.basics.spelling import truncated

READS_OTHER_PARAMETERS = "reads_other_parameters"
"""The attribute of a route's function that checks query parameters beyond the declared ones by itself."""


@dataclass(frozen=True, slots=True)
class ResponseDoc:
    """A response of a route, for the API's page.

    `model`: of its JSON. `headers`: header → its description; `integers` are those whose value is a number.
    `json_schema`: the name of the model, instead of `model`. `text_type`: the media type, if it is not JSON.
    """

    description: str | None = None
    model: type[BaseModel] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    integers: frozenset[str] = frozenset()
    json_schema: str | None = None
    text_type: str | None = None


class ResponseDocs(dict[int | str, dict[str, Any]]):
    """Status → response, in the form of OpenAPI that FastAPI takes."""

    def __init__(self, docs: Mapping[int, ResponseDoc]) -> None:
        super().__init__({status: dict(_openapi_fields(doc)) for status, doc in docs.items()})

    def also(self, other: "ResponseDocs") -> "ResponseDocs":
        """These responses and others, which take precedence."""
        both = ResponseDocs({})
        both.update(self)
        both.update(other)
        return both


def _openapi_fields(doc: ResponseDoc) -> Iterator[tuple[str, object]]:
    if doc.model is not None:
        yield "model", doc.model
    if doc.description is not None:
        yield "description", doc.description
    if doc.headers:
        yield (
            "headers",
            {
                name: {
                    "description": text,
                    "schema": {"type": "integer" if name in doc.integers else "string"},
                }
                for name, text in doc.headers.items()
            },
        )
    if doc.json_schema is not None:
        schema = {"$ref": f"#/components/schemas/{doc.json_schema}"}
        yield "content", {"application/json": {"schema": schema}}
    elif doc.text_type is not None:
        yield "content", {doc.text_type: {"schema": {"type": "string"}}}


class RouteOptions(TypedDict, total=False):
    """Arguments of every router: dependencies of all routes, and errors that any route may return."""

    dependencies: Sequence[Depends]
    responses: ResponseDocs


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


def _object_without_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    values: dict[str, object] = {}
    for key, value in pairs:
        if key in values:
            raise InvalidInput(f"{truncated(repr(key))}: duplicate key; must be given once in a JSON object")
        values[key] = value
    return values
