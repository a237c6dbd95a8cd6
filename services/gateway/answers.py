"""How the gateway answers: JSON, and for whatever goes wrong one sentence under `error`."""

from typing import Any

import orjson
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from shared.errors import InvalidInput, LightwaveError, NotFound, OperationFailed


def answer(content: Any, status: int = 200) -> Response:
    return Response(orjson.dumps(content), status_code=status, media_type="application/json")


def refused(sentence: str, status: int) -> Response:
    return answer({"error": sentence}, status)


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
    place = [str(part) for part in first["loc"] if part not in ("body", "query", "path", "header")]
    field = ".".join(place) or "body"
    if first["type"] == "missing":
        return f"{field}: missing"
    value = first.get("input")
    shown = repr(value) if isinstance(value, str | int | float | bool | type(None)) else type(value).__name__
    return f"{field} {shown}: {first['msg'][:1].lower()}{first['msg'][1:]}"


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
        sentence = f"{request.method} {request.url.path}: {str(error.detail).lower()}"
        return refused(sentence, error.status_code)
