"""Responses: JSON, and for any error one sentence under `error`."""

from collections.abc import Mapping, Sequence

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic_core import to_json
from starlette.exceptions import HTTPException

from schemas.api.rows import ErrorReport
from schemas.body import Model
from services.gateway.http.access.tokens import Tokens
from services.gateway.http.route_options import ResponseDoc, ResponseDocs
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


def error_doc(description: str) -> ResponseDoc:
    """An error of a route, for the API's page. It refers to the error model by name; with the model itself,
    FastAPI would build a validator for every error of every route."""
    return ResponseDoc(description, json_schema=ErrorReport.__name__)


ERROR_DOCS: dict[int, ResponseDoc] = {
    401: error_doc("the token is missing or wrong"),
    403: error_doc("the role does not allow it, or the request comes from another site's page"),
    404: error_doc("no such resource"),
    405: error_doc("the path does not support the method"),
    413: error_doc("the body is too large"),
    414: error_doc("path and query are too long"),
    421: error_doc("without tokens: the Host is not this machine"),
    422: error_doc("invalid input: the field, its value and what it must be"),
    429: error_doc("too many requests of this client; Retry-After says when to retry"),
    # Every route has this one, so the page includes the model.
    500: ResponseDoc("internal error; see the gateway's log", model=ErrorReport),
    503: error_doc("a service that the gateway depends on does not answer"),
}
"""Descriptions of the errors of all routes, for the API's page."""


def error_docs(*statuses: int, tokens: Tokens) -> ResponseDocs:
    """The errors of a route, for the API's page; without tokens there is no 401."""
    return ResponseDocs({status: ERROR_DOCS[status] for status in statuses if tokens or status != 401})


def non_json_doc(response: type[Response], description: str) -> ResponseDocs:
    """The response of a route that is not JSON, for the API's page. The route's `response_class` must be a
    plain `Response`; any other would also be listed for the errors, which are always JSON."""
    return ResponseDocs({200: ResponseDoc(description, text_type=response.media_type)})


class MetricsResponse(Response):
    """Prometheus metrics as text."""

    media_type = "text/plain; version=0.0.4; charset=utf-8"


class ArrowFrame(Response):
    """A telemetry frame, as an Arrow IPC stream."""

    media_type = "application/vnd.apache.arrow.stream"


class StatesFile(Response):
    """All states of a site, in the format of snapshots."""

    media_type = "application/octet-stream"


def json_response(
    content: Model | Sequence[Model | Mapping[str, object]],
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """A typed response as JSON. The route's types guarantee its form; it is not validated again."""
    text = to_json(content, inf_nan_mode="null")
    return Response(text, status, headers, media_type="application/json")


def error_response(sentence: str, status: int, headers: Mapping[str, str] | None = None) -> Response:
    """The sentence under `error`. Characters that cannot be encoded (lone surrogates) are escaped."""
    report = ErrorReport(error=sentence.encode(errors="backslashreplace").decode())
    return Response(to_json(report), status, headers, media_type="application/json")


def status_of(error: LightwaveError) -> int:
    """The HTTP status of an error."""
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
        retry_headers = {"Retry-After": str(error.retry_after_s)} if isinstance(error, RateLimited) else None
        return error_response(str(error), status_of(error), retry_headers)

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, error: RequestValidationError) -> Response:
        body = request.scope["route"].body_field
        return error_response(invalid_sentence(error.errors(), body and body.field_info.annotation), 422)

    @app.exception_handler(HTTPException)
    def http(request: Request, error: HTTPException) -> Response:
        if error.status_code == 400:  # the body could not even be parsed: wrong bytes, endless nesting
            why = error.__cause__ if isinstance(error.__cause__, InvalidInput) else "not valid JSON"
            return error_response(f"body: {why}", 422)
        sentence = f"{request.method} {request.scope['path']}: {str(error.detail).lower()}"
        return error_response(truncated(sentence), error.status_code, error.headers)

    @app.exception_handler(Exception)
    def unforeseen(request: Request, error: Exception) -> Response:
        # The exception is raised again after the response, so the server logs the traceback.
        where = f"{request.method} {request.scope['path']}"
        return error_response(
            truncated(f"{where}: internal error: {type(error).__name__}; see the gateway's log"), 500
        )
