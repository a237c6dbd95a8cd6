"""How the gateway answers: JSON, and for whatever goes wrong one sentence under `error`."""

from collections.abc import Mapping
from typing import Any

import orjson
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from shared.basics.errors import InvalidInput, LightwaveError, NotFound, OperationFailed

SHOWN_MAX = 120
"""Characters of a refused value that are repeated in the sentence."""


def answer(content: Any, status: int = 200) -> Response:
    return Response(orjson.dumps(content), status_code=status, media_type="application/json")


def refused(sentence: str, status: int, headers: Mapping[str, str] | None = None) -> Response:
    """The sentence under `error`; what no encoding can carry (half a surrogate pair) is shown escaped."""
    body = {"error": sentence.encode(errors="backslashreplace").decode()}
    return Response(orjson.dumps(body), status, headers, media_type="application/json")


def status_of(error: LightwaveError) -> int:
    """HTTP's word for whose turn it is to act."""
    if isinstance(error, InvalidInput):
        return 422
    if isinstance(error, NotFound):
        return 404
    return 503 if isinstance(error, OperationFailed) else 500


def invalid_sentence(errors: Any) -> str:
    """The first of pydantic's complaints, with field and value."""
    first = errors[0]
    if first["type"] == "json_invalid":
        return f"body: not JSON: {first.get('ctx', {}).get('error', 'unreadable')}"
    place = [str(part) for part in first["loc"] if part not in ("body", "query", "path", "header")]
    if not place and first["type"] != "missing":
        return "body: not a JSON object (its Content-Type must be application/json)"
    field = _short(".".join(place)) or "body"
    if first["type"] == "missing":
        return f"{field}: missing"
    value = first.get("input")
    plain = isinstance(value, str | int | float | bool | type(None))
    shown = _short(repr(value)) if plain else type(value).__name__
    if first["type"] == "extra_forbidden":
        return f"{field} {shown}: no such field"
    return f"{field} {shown}: {first['msg'][:1].lower()}{first['msg'][1:]}"


def _short(text: str) -> str:
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}…"


def install(app: FastAPI) -> None:
    """Turn every kind of error into one sentence."""

    @app.exception_handler(LightwaveError)
    def known(_request: Request, error: LightwaveError) -> Response:
        return refused(str(error), status_of(error))

    @app.exception_handler(RequestValidationError)
    def invalid(_request: Request, error: RequestValidationError) -> Response:
        return refused(invalid_sentence(error.errors()), 422)

    @app.exception_handler(HTTPException)
    def http(request: Request, error: HTTPException) -> Response:
        if error.status_code == 400:  # the body could not even be parsed: wrong bytes, endless nesting
            return refused("body: not JSON that can be read", 422)
        sentence = f"{request.method} {request.scope['path']}: {str(error.detail).lower()}"
        return refused(_short(sentence), error.status_code, error.headers)

    @app.exception_handler(Exception)
    def unforeseen(request: Request, error: Exception) -> Response:
        # Raised again after the answer, so that the server logs where it came from.
        where = f"{request.method} {request.scope['path']}"
        return refused(_short(f"{where}: the gateway failed: {type(error).__name__}; its log says more"), 500)
