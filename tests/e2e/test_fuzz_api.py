"""Random HTTP requests from the API's own description, valid and invalid. The gateway never fails, and every
answer is the requested content or one sentence."""

from base64 import b64decode, b64encode
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import Case, GenerationMode
from schemathesis.core.result import Ok

from services.gateway.http import guard
from services.gateway.http.access.tokens import Tokens
from services.gateway.http.app import create_app
from tests.support.corpus import Corpus, is_written
from tests.support.gateway_twin import QUIET, Client, DrivenTwin

EXAMPLES = 8
"""Cases per operation and mode."""
CORPUS = Corpus("api")
STREAM = "/v1/events/stream"
WAIT_S_MAX = 0.05
STATUSES = frozenset({200, 202, 400, 401, 403, 404, 405, 409, 413, 414, 421, 422, 429})


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FastAPI]:
    twin = DrivenTwin(tmp_path_factory.mktemp("twin"), ["pod.cubes=8", *QUIET])
    twin.advance(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(guard, "WRITES_PER_S", 1e6)
        yield create_app(twin.ports, tokens=Tokens())
    twin.close()


@pytest.fixture(scope="module")
def operations(app: FastAPI) -> list[Any]:
    """Return every described operation, except the stream, which does not end."""
    document = Client(app).get("/openapi.json").json()
    del document["paths"][STREAM]
    schema = schemathesis.openapi.from_dict(document)
    return [result.ok() for result in schema.get_all_operations() if isinstance(result, Ok)]


@pytest.mark.slow("eight random requests per operation and mode; --hypothesis-profile=explore draws new ones")
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_no_request_makes_the_gateway_fail(app: FastAPI, operations: list[Any], mode: GenerationMode) -> None:
    if mode is GenerationMode.NEGATIVE:
        # Any text fits into a path, so hypothesis would search long for invalid ones.
        operations = [operation for operation in operations if [*operation.query, *operation.body]]
    client = Client(app)
    sent: list[tuple[str, int]] = []
    """Operation and status of every answer."""

    def send(case: Case[Any]) -> None:
        request = with_short_wait(case.as_transport_kwargs(base_url="http://127.0.0.1"))
        try:
            kind = case.operation.label, check_answer(client, request)
        except AssertionError:
            CORPUS.keep(as_case(request))
            raise
        if is_written() and kind not in sent:
            CORPUS.keep(as_case(request))
        sent.append(kind)

    limited = settings(
        max_examples=EXAMPLES, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
    )
    for operation in operations:
        limited(given(case=operation.as_strategy(generation_mode=mode))(send))()
    assert len(sent) > EXAMPLES / 2 * len(operations)


def test_saved_requests_are_answered(app: FastAPI) -> None:
    """One case for each status of each operation, and all cases that failed before."""
    client = Client(app)
    assert len(CORPUS.cases) > 100
    for case in CORPUS.cases:
        check_answer(client, as_request(case))


def check_answer(client: Client, request: dict[str, Any]) -> int:
    """Send a request and check the answer; return its status."""
    rest = {name: value for name, value in request.items() if name not in ("method", "url")}
    answer = client.request(request["method"], request["url"], **rest)
    assert answer.status_code in STATUSES, (request, answer.text)
    if answer.status_code >= 400:
        assert "\n" not in answer.json()["error"]
    return answer.status_code


def as_case(request: dict[str, Any]) -> dict[str, Any]:
    """Return a request as the corpus stores it: bytes in base 64, parameters and headers in pairs."""
    content = request.get("content")
    kept = {**request, "params": [*request["params"].items()], "headers": [*request["headers"].items()]}
    return kept | ({"content": {"base64": b64encode(content).decode()}} if isinstance(content, bytes) else {})


def as_request(case: dict[str, Any]) -> dict[str, Any]:
    request = {**case, "params": dict(case["params"]), "headers": dict(case["headers"])}
    if isinstance(request.get("content"), dict):
        request["content"] = b64decode(request["content"]["base64"])
    return request


def with_short_wait(sent: dict[str, Any]) -> dict[str, Any]:
    """Return the same request with a short wait."""
    query = dict(sent.get("params") or {})
    if isinstance(query.get("wait"), int | float):
        query["wait"] = min(query["wait"], WAIT_S_MAX)
    kept: dict[str, Any] = {name: sent[name] for name in ("method", "url", "json") if name in sent}
    # Headers that no client can send are not a case for the gateway.
    headers = {name: value for name, value in dict(sent.get("headers") or {}).items() if value.isascii()}
    if isinstance(content := sent.get("data"), str | bytes):
        kept["content"] = content
    return {**kept, "params": query, "headers": headers}
