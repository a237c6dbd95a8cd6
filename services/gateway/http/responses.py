"""How the gateway answers: JSON, and for whatever goes wrong one sentence under `error`."""

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic_core import to_json
from starlette.exceptions import HTTPException

from schemas.api import ErrorReport
from schemas.body import Model
from services.gateway.http.tokens import Tokens
from services.gateway.invalid import invalid_sentence
from shared.basics.errors import (
    AllowanceUsed,
    InvalidInput,
    LightwaveError,
    NotFound,
    OperationFailed,
    TooLate,
    UpgradeNeeded,
)
from shared.basics.words import short


def error(description: str) -> dict[str, Any]:
    """An error of a route, for the API's page. It refers to the model of errors and does not name it: FastAPI
    would make a validator of its own for every error of every route."""
    return {
        "description": description,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorReport"}}},
    }


ERRORS: dict[int, dict[str, Any]] = {
    401: error("the token is missing or another one"),
    403: error("the role does not allow it, or a foreign page asks"),
    404: error("no such thing"),
    405: error("the path has no such method"),
    413: error("the body is too large"),
    414: error("path and query are too long"),
    421: error("without tokens: a Host that is not this machine"),
    422: error("not allowed: what was given, and what is"),
    429: error("too many requests of this caller wait, or came at once; Retry-After says when"),
    # Every route has this one, so that the page has the model.
    500: {"model": ErrorReport, "description": "the gateway failed; its log says more"},
    503: error("what the gateway stands on does not answer"),
}
"""How errors of any route are described on the API's page."""


def errors(*statuses: int, tokens: Tokens) -> dict[int | str, dict[str, Any]]:
    """The errors of a route, for the API's page; there is no 401 where no token is asked for."""
    return {status: ERRORS[status] for status in statuses if tokens or status != 401}


def no_json(response: type[Response], description: str) -> dict[int | str, dict[str, Any]]:
    """The answer of a route that is no JSON, for the API's page. The route's own `response_class` must be a
    plain `Response`: that of any other would stand beside the errors as well, which are JSON everywhere."""
    content = {response.media_type: {"schema": {"type": "string"}}}
    return {200: {"description": description, "content": content}}


class Metrics(Response):
    """Prometheus's text."""

    media_type = "text/plain; version=0.0.4; charset=utf-8"


class ArrowFrame(Response):
    """A telemetry frame, as an Arrow IPC stream."""

    media_type = "application/vnd.apache.arrow.stream"


class StatesFile(Response):
    """All states of a site, as a twin keeps them in its snapshots."""

    media_type = "application/octet-stream"


def answer(
    content: Model | Sequence[Model | Mapping[str, object]],
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """The typed answer as JSON. It is what the route promises by its types, and not checked again."""
    text = to_json(content, inf_nan_mode="null")
    return Response(text, status, headers, media_type="application/json")


def refused(sentence: str, status: int, headers: Mapping[str, str] | None = None) -> Response:
    """The sentence under `error`; what no encoding can carry (half a surrogate pair) is shown escaped."""
    report = ErrorReport(error=sentence.encode(errors="backslashreplace").decode())
    return Response(to_json(report), status, headers, media_type="application/json")


def status_of(error: LightwaveError) -> int:
    """HTTP's word for whose turn it is to act."""
    if isinstance(error, InvalidInput):
        return 422
    if isinstance(error, NotFound):
        return 404
    if isinstance(error, TooLate):
        return 409
    if isinstance(error, AllowanceUsed):
        return 429
    return 503 if isinstance(error, OperationFailed | UpgradeNeeded) else 500


def install(app: FastAPI) -> None:
    """Turn every kind of error into one sentence."""

    @app.exception_handler(LightwaveError)
    def known(_request: Request, error: LightwaveError) -> Response:
        again = {"Retry-After": str(error.retry_after_s)} if isinstance(error, AllowanceUsed) else None
        return refused(str(error), status_of(error), again)

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, error: RequestValidationError) -> Response:
        body = request.scope["route"].body_field
        return refused(invalid_sentence(error.errors(), body and body.field_info.annotation), 422)

    @app.exception_handler(HTTPException)
    def http(request: Request, error: HTTPException) -> Response:
        if error.status_code == 400:  # the body could not even be parsed: wrong bytes, endless nesting
            why = (
                error.__cause__ if isinstance(error.__cause__, InvalidInput) else "not JSON that can be read"
            )
            return refused(f"body: {why}", 422)
        sentence = f"{request.method} {request.scope['path']}: {str(error.detail).lower()}"
        return refused(short(sentence), error.status_code, error.headers)

    @app.exception_handler(Exception)
    def unforeseen(request: Request, error: Exception) -> Response:
        # Raised again after the answer, so that the server logs where it came from.
        where = f"{request.method} {request.scope['path']}"
        return refused(short(f"{where}: the gateway failed: {type(error).__name__}; its log says more"), 500)
