"""How the gateway answers: JSON, and for whatever goes wrong one sentence under `error`."""

from collections.abc import Mapping
from typing import Any

import orjson
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from services.gateway.invalid import invalid_sentence, short
from shared.basics.errors import InvalidInput, LightwaveError, NotFound, OperationFailed


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
        return refused(short(sentence), error.status_code, error.headers)

    @app.exception_handler(Exception)
    def unforeseen(request: Request, error: Exception) -> Response:
        # Raised again after the answer, so that the server logs where it came from.
        where = f"{request.method} {request.scope['path']}"
        return refused(short(f"{where}: the gateway failed: {type(error).__name__}; its log says more"), 500)
