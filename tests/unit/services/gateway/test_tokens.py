"""Who may send requests: every request needs the token, if there is one."""

from collections.abc import Iterator
from typing import Any

import pytest

from services.gateway.http.access.loopback import check_bind
from shared.basics.errors import InvalidInput
from tests.support.gateway_twin import QUIET, Client, DrivenTwin

pytestmark = pytest.mark.integration

TOKEN = "open-sesame-and-close-it"  # noqa: S105 -- a test's own
BEARER = f"Bearer {TOKEN}".encode()


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DrivenTwin]:
    twin = DrivenTwin(tmp_path_factory.mktemp("twin"), ["pod.cubes=8", *QUIET], pods=2)
    yield twin
    twin.close()


@pytest.fixture(scope="module")
def client(twin: DrivenTwin) -> Client:
    return twin.client()


REQUESTS: list[tuple[str, str]] = [
    *(
        ("GET", f"/v1/{path}")
        for path in ("cubes", "clock", "events", "events/stream", "nonsense", "", "../v1")
    ),
    *(("POST", f"/v1/{path}") for path in ("slices", "cubes/pod-0/cube-0/drain", "clock/pause")),
    *(("GET", path) for path in ("/metrics", "/nonsense", "//v1/cubes")),
    ("HEAD", "/v1/cubes"),
    ("PUT", "/"),
]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer wrong"},
        {"authorization": "Bearer "},
        {"authorization": BEARER[:-1]},
        {"authorization": b"Basic " + TOKEN.encode()},
        {"authorization": TOKEN.encode()},
    ],
)
def test_without_the_token_every_request_is_refused(twin: DrivenTwin, headers: dict[str, Any]) -> None:
    client = twin.client(TOKEN)
    for method, path in REQUESTS:
        answer = client.request(method, path, headers=headers)
        assert answer.status_code == 401, (method, path)
        assert answer.headers["www-authenticate"] == "Bearer"
        assert method == "HEAD" or "LIGHTWAVE_TOKEN" in answer.json()["error"]


@pytest.mark.parametrize("host", ["twin/healthz?x=", "twin/open"])
def test_a_host_that_looks_like_a_path_without_tokens_is_invalid(twin: DrivenTwin, host: str) -> None:
    client = twin.client(TOKEN)
    for method, path in REQUESTS:
        answer = client.request(method, path, headers={"host": host})
        assert answer.status_code == 400, (method, path)
        assert method == "HEAD" or set(answer.json()) == {"error"}


@pytest.mark.parametrize("given", [BEARER, b"bearer " + TOKEN.encode()])
def test_with_the_token_every_request_is_answered(twin: DrivenTwin, given: bytes) -> None:
    client = twin.client(TOKEN)
    for path in ("/v1/cubes", "/v1/clock", "/metrics"):
        assert client.get(path, headers={"authorization": given}).status_code == 200
    assert client.get("/healthz").status_code == 200
    assert client.get("/openapi.json").status_code == 200


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_this_machine_needs_no_token(host: str) -> None:
    assert check_bind(host, tokens=False) is None  # type: ignore[func-returns-value]  # that it does not raise


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "10.0.0.1", "twin.example", "127.0.0.1.example"])  # noqa: S104 -- these are refused
def test_any_other_address_needs_a_token(host: str) -> None:
    with pytest.raises(InvalidInput, match="LIGHTWAVE_TOKEN"):
        check_bind(host, tokens=False)
    check_bind(host, tokens=True)
