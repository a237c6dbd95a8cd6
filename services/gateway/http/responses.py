"""How the gateway answers: JSON, and for whatever goes wrong one sentence under `error`."""

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic_core import to_json
from starlette.exceptions import HTTPException

from schemas.api.rows import ErrorReport
from schemas.body import Model
from services.gateway.http.access.tokens import Tokens
from services.gateway.text.validation_errors import invalid_sentence
from shared.basics.errors import (
    InvalidInput,
    LightwaveError,
    NotFound,
    OperationFailed,
    RateLimited,
    TooLate,
    UpgradeNeeded,
)
from shared.basics.spelling import truncated


def error_doc(description: str) -> dict[str, Any]:
    """An error of a route, for the API's page. It refers to the model of errors and does not name it: FastAPI
    would make a validator of its own for every error of every route."""
    return {
        "description": description,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorReport"}}},
    }


ERROR_DOCS: dict[int, dict[str, Any]] = {
    401: error_doc("the token is missing or another one"),
    403: error_doc("the role does not allow it, or a foreign page asks"),
    404: error_doc("no such thing"),
    405: error_doc("the path has no such method"),
    413: error_doc("the body is too large"),
    414: error_doc("path and query are too long"),
    421: error_doc("without tokens: a Host that is not this machine"),
    422: error_doc("not allowed: what was given, and what is"),
    429: error_doc("too many requests of this caller wait, or came at once; Retry-After says when"),
    # Every route has this one, so that the page has the model.
    500: {"model": ErrorReport, "description": "the gateway failed; its log says more"},
    503: error_doc("what the gateway stands on does not answer"),
}
"""How errors of any route are described on the API's page."""


def error_docs(*statuses: int, tokens: Tokens) -> dict[int | str, dict[str, Any]]:
    """The errors of a route, for the API's page; there is no 401 where no token is asked for."""
    return {status: ERROR_DOCS[status] for status in statuses if tokens or status != 401}


def non_json_doc(response: type[Response], description: str) -> dict[int | str, dict[str, Any]]:
    """The answer of a route that is no JSON, for the API's page. The route's own `response_class` must be a
    plain `Response`: that of any other would stand beside the errors as well, which are JSON everywhere."""
    content = {response.media_type: {"schema": {"type": "string"}}}
    return {200: {"description": description, "content": content}}


class MetricsResponse(Response):
    """Prometheus's text."""

    media_type = "text/plain; version=0.0.4; charset=utf-8"


class ArrowFrame(Response):
    """A telemetry frame, as an Arrow IPC stream."""

    media_type = "application/vnd.apache.arrow.stream"


class StatesFile(Response):
    """All states of a site, as a twin keeps them in its snapshots."""

    media_type = "application/octet-stream"


def json_response(
    content: Model | Sequence[Model | Mapping[str, object]],
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """The typed answer as JSON. It is what the route promises by its types, and not checked again."""
    text = to_json(content, inf_nan_mode="null")
    return Response(text, status, headers, media_type="application/json")


def error_response(sentence: str, status: int, headers: Mapping[str, str] | None = None) -> Response:
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
    if isinstance(error, RateLimited):
        return 429
    return 503 if isinstance(error, OperationFailed | UpgradeNeeded) else 500


def install(app: FastAPI) -> None:
    """Turn every kind of error into one sentence."""

    @app.exception_handler(LightwaveError)
    def known(_request: Request, error: LightwaveError) -> Response:
        again = {"Retry-After": str(error.retry_after_s)} if isinstance(error, RateLimited) else None
        return error_response(str(error), status_of(error), again)

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, error: RequestValidationError) -> Response:
        body = request.scope["route"].body_field
        return error_response(invalid_sentence(error.errors(), body and body.field_info.annotation), 422)

    @app.exception_handler(HTTPException)
    def http(request: Request, error: HTTPException) -> Response:
        if error.status_code == 400:  # the body could not even be parsed: wrong bytes, endless nesting
            why = (
                error.__cause__ if isinstance(error.__cause__, InvalidInput) else "not JSON that can be read"
            )
            return error_response(f"body: {why}", 422)
        sentence = f"{request.method} {request.scope['path']}: {str(error.detail).lower()}"
        return error_response(truncated(sentence), error.status_code, error.headers)

    @app.exception_handler(Exception)
    def unforeseen(request: Request, error: Exception) -> Response:
        # Raised again after the answer, so that the server logs where it came from.
        where = f"{request.method} {request.scope['path']}"
        return error_response(
            truncated(f"{where}: the gateway failed: {type(error).__name__}; its log says more"), 500
        )
