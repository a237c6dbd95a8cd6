"""Access to the gateway: host names, foreign pages, roles, tokens and rate limits."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest
from anyio import to_thread
from starlette.datastructures import Headers

from services.gateway.http import guard
from services.gateway.http.access.caller import RIGHTS, Caller, Right, Role, cancel_denial, right_needed
from services.gateway.http.access.rate_limit import RateLimit
from services.gateway.http.access.tokens import Tokens
from services.gateway.http.app import create_app
from services.gateway.http.middleware import BODY_MAX, TRACE_VALUES_MAX, ShutdownResponse
from services.gateway.http.probes import PROBE_PATHS
from shared.basics.errors import InvalidInput
from tests.support.gateway_twin import QUIET, Client, DrivenTwin

pytestmark = pytest.mark.integration

TOKENS = {role: f"the-token-of-a-{role}-here" for role in Role}
WRITES = [
    ("POST", "/v1/clock/pause"),
    ("PUT", "/v1/clock/speed"),
    ("POST", "/v1/fabrics"),
    ("POST", "/v1/slices"),
    ("POST", "/v1/slices/pod-0/slice-0/release"),
    ("POST", "/v1/faults"),
    ("POST", "/v1/faults/pod-0/fault-0/clear"),
    ("POST", "/v1/drills"),
    ("POST", "/v1/safety"),
    ("POST", "/v1/cubes/pod-0/cube-0/drain"),
    ("POST", "/v1/cubes/pod-0/cube-0/undrain"),
]
SAME = "http://127.0.0.1"


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DrivenTwin]:
    twin = DrivenTwin(tmp_path_factory.mktemp("twin"), ["pod.cubes=4", *QUIET])
    twin.advance(0.1)
    yield twin
    twin.close()


@pytest.fixture(scope="module")
def client(twin: DrivenTwin) -> Client:
    return twin.client()


@pytest.fixture
def guarded(twin: DrivenTwin, monkeypatch: pytest.MonkeyPatch) -> Client:
    """A gateway with one token of each role. Rate limits recover so slowly that a slow test does not
    matter."""
    monkeypatch.setattr(guard, "WRITES_PER_S", 0.01)
    monkeypatch.setattr(guard, "WRONG_TOKENS_PER_S", 0.01)
    known = Tokens((token, Caller(f"the-{role}", role)) for role, token in TOKENS.items())
    return Client(create_app(twin.ports, tokens=known))


def bearer(role: Role) -> dict[str, str]:
    return {"authorization": f"Bearer {TOKENS[role]}"}


def sentence(answer: Any) -> str:
    text: str = answer.json()["error"]
    assert "\n" not in text
    return text


# --- pages of others ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8080",
        "localhost.evil.example",
        "10.0.0.1",
        "[::2]:80",
        "",
    ],
)
@pytest.mark.parametrize("path", ["/v1/clock", "/healthz", "/docs", "/openapi.json"])
def test_without_tokens_only_the_names_of_this_machine_are_served(
    client: Client, host: str, path: str
) -> None:
    answer = client.get(path, headers={"host": host})
    assert answer.status_code == 421
    assert "127.0.0.1" in sentence(answer)


@pytest.mark.parametrize("path", ["/v1/clock%0a", "/v1/clock%0d", "/v1/ocs/pod-0%1b", "/healthz%0a"])
def test_a_path_with_unprintable_characters_is_not_found(client: Client, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert "no such path" in sentence(answer)


def test_a_body_has_exactly_one_length(client: Client) -> None:
    headers = {"content-length": "5", "transfer-encoding": "chunked"}
    answer = client.post("/v1/clock/pause", headers=headers)
    assert answer.status_code == 400
    assert "Transfer-Encoding" in sentence(answer)


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:9", "127.0.0.1:8080", "127.9.9.9", "[::1]:8080", "[::1]"]
)
def test_the_names_of_this_machine_are_served(client: Client, host: str) -> None:
    assert client.get("/v1/clock", headers={"host": host}).status_code == 200
    assert client.get("/v1/clock", headers={"host": host, "origin": f"http://{host}"}).status_code == 200


@pytest.mark.parametrize(("method", "path"), WRITES)
@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:3000"},
        {"origin": "https://127.0.0.1"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": SAME, "sec-fetch-site": "cross-site"},
    ],
)
def test_a_foreign_page_changes_nothing(
    twin: DrivenTwin, client: Client, method: str, path: str, headers: dict[str, str]
) -> None:
    before = len(twin.messages())
    assert client.request(method, path, headers=headers).status_code == 403
    assert len(twin.messages()) == before


def test_the_gateways_own_page_and_the_command_line_may_change_the_twin(client: Client) -> None:
    for headers in ({}, {"origin": SAME, "sec-fetch-site": "same-origin"}, {"sec-fetch-site": "none"}):
        assert client.post("/v1/clock/resume", headers=headers).status_code == 200
    followed = {"sec-fetch-site": "cross-site"}  # a link on a foreign page
    assert client.get("/docs", headers=followed).status_code == 200


READS = ["/v1/links", "/v1/links?at=1d", "/v1/bisect?condition=1", "/v1/snapshots/pod-0", "/metrics"]
NAVIGATES = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize("path", READS)
def test_a_foreign_page_makes_a_gateway_without_tokens_compute_nothing(
    client: Client, path: str, site: str
) -> None:
    """An image on a foreign page sends no Origin, so Sec-Fetch-Site is its only sign."""
    image = {"sec-fetch-site": site, "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"}
    frame = {"sec-fetch-site": site, "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}
    for headers in (image, frame, {"sec-fetch-site": site}):
        answer = client.get(path, headers=headers)
        assert answer.status_code == 403, answer.text
        assert sentence(answer).startswith(f"Sec-Fetch-Site '{site}': pages of other sites must not read /")


def test_a_link_on_a_foreign_page_can_be_followed(client: Client) -> None:
    headers = {"sec-fetch-site": "cross-site"} | NAVIGATES
    assert client.get("/v1/clock", headers=headers).status_code == 200
    assert client.get("/v1/clock", headers={"sec-fetch-site": "same-origin"}).status_code == 200


def test_with_tokens_no_foreign_page_can_read(guarded: Client) -> None:
    """The page has no token, but another page of the same organisation may have one."""
    image = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"}
    assert guarded.get("/v1/links", headers=image).status_code == 401
    assert guarded.get("/v1/links", headers=image | bearer(Role.READER)).status_code == 200


def test_with_tokens_any_host_name_is_served_and_a_foreign_page_still_changes_nothing(
    guarded: Client,
) -> None:
    headers = bearer(Role.OPERATOR) | {"host": "twin.example", "origin": "https://twin.example"}
    assert guarded.get("/v1/clock", headers=headers).status_code == 200
    assert guarded.post("/v1/slices", headers=headers | {"sec-fetch-site": "cross-site"}).status_code == 403


# --- roles --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", Role)
def test_each_role_may_use_exactly_its_rights(guarded: Client, role: Role) -> None:
    for method, path in [("GET", "/v1/cubes"), ("GET", "/metrics"), *WRITES]:
        answer = guarded.request(method, path, headers=bearer(role))
        allowed = right_needed(method, path) in RIGHTS[role]
        assert (answer.status_code != 403) == allowed, (method, path)
        if not allowed:
            assert f"the-{role} is a" in sentence(answer)
            assert "administrator" in sentence(answer)


RIGHTS_OF_WRITES: dict[Right, tuple[str, ...]] = {
    Right.SEE_TRUTH: (
        *("POST /v1/forecasts", "POST /v1/forecasts/inevitable", "DELETE /v1/forecasts/{name}"),
    ),
    Right.OPERATE: (
        *("POST /v1/slices", "POST /v1/slices/{name}/release"),
        *("POST /v1/cubes/{name}/drain", "POST /v1/cubes/{name}/undrain"),
        *("POST /v1/links/{name}/test", "POST /v1/ocs/{name}/restart"),
        *("POST /v1/ocs/{name}/cross-connects", "POST /v1/ocs/{name}/cross-connects/remove"),
        *("POST /v1/desk/{name}/acknowledge", "POST /v1/desk/{name}/culprit", "POST /v1/desk/{name}/hint"),
        "DELETE /v1/requests/{name}",
    ),
    Right.STRIKE: (
        *("POST /v1/faults", "POST /v1/faults/{name}/clear", "POST /v1/safety"),
        *("POST /v1/drills", "POST /v1/drills/{name}/stop"),
        *("POST /v1/schedules", "POST /v1/schedules/{name}/cancel"),
    ),
    Right.REWIRE: (
        *("POST /v1/rewirings", "POST /v1/rewirings/{name}/approve"),
        "POST /v1/rewirings/{name}/abort",
    ),
    Right.ADMINISTER: (
        *("POST /v1/fabrics", "POST /v1/fabrics/{name}/retire", "POST /v1/fabrics/{name}/parameters"),
        "POST /v1/archive",
        *("PUT /v1/clock", "POST /v1/clock/pause", "POST /v1/clock/resume", "PUT /v1/clock/speed"),
        *("PUT /v1/clock/run", "DELETE /v1/dead-letters", "DELETE /v1/dead-letters/{origin}"),
        "POST /v1/dead-letters/{origin}/replay",
    ),
}
"""Every route that writes or starts work, by the right that it needs. Add a new route here."""
READS_OF_THE_TRUTH = (
    *("GET /v1/faults", "GET /v1/faults/{name}", "GET /v1/describe/faults/{name}"),
    *("GET /v1/drills", "GET /v1/drills/{name}", "GET /v1/drills/{name}/journal"),
    *("GET /v1/describe/drills/{name}", "GET /v1/safety"),
    *("GET /v1/schedules", "GET /v1/schedules/{name}", "GET /v1/describe/schedules/{name}"),
    *("GET /v1/forecasts", "GET /v1/forecasts/{name}", "GET /v1/snapshots/{site}", "GET /v1/bisect"),
    *("GET /v1/what-if/inject", "GET /v1/what-if/drain", "GET /v1/what-if/repair"),
    *("GET /v1/dead-letters", "GET /v1/dead-letters/{origin}"),
)
"""Every read that a trainee is refused."""
RIGHTS_OF_READS = {"GET /v1/backup": Right.ADMINISTER} | dict.fromkeys(READS_OF_THE_TRUTH, Right.SEE_TRUTH)
"""Every read that needs another right than READ."""
TIME_TRAVEL = ("/v1/bisect", "/v1/events", "/v1/conditions", "/v1/snapshots/{site}", "/v1/forecasts")


def test_a_pending_request_is_cancelled_by_its_sender_or_an_administrator() -> None:
    for role in Role:
        assert (cancel_denial(Caller("tom", role), "tom") is None) is True
        for other in ("olga", None):
            denied = cancel_denial(Caller("tom", role), other)
            assert (denied is None) == (role is Role.ADMINISTRATOR)
            assert denied is None or denied.endswith("can cancel it")
    assert cancel_denial(Caller(None, Role.OPERATOR), None) is not None


@pytest.mark.parametrize("name", ["Idempotency-Key", "Authorization"])
def test_a_header_of_one_value_is_not_repeated(guarded: Client, name: str) -> None:
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/slices",
        "raw_path": b"/v1/slices",
        "query_string": b"",
        "headers": [(name.lower().encode(), b"a"), (name.lower().encode(), b"a")],
    }
    refusal = guard.AccessGuard(guarded.get, Tokens({}))._refusal(scope, Headers(scope=scope))  # type: ignore[arg-type]  # never called
    assert refusal is not None
    assert refusal.status_code == 400
    assert b"must be given once" in refusal.body


@pytest.mark.parametrize("query", ["comment=%ff%fe", "comment=%c3", "%ff=1", "wait=1&comment=a%80"])
def test_a_query_is_utf_8_text(guarded: Client, query: str) -> None:
    for path in ("/v1/slices", "/v1/fabrics"):
        answer = guarded.get(f"{path}?{query}")
        assert (answer.status_code, answer.json()["error"]) == (400, "query: is not UTF-8 text")


def test_every_route_has_its_right_and_refuses_callers_without_it(guarded: Client) -> None:
    described = guarded.get("/openapi.json", headers=bearer(Role.READER)).json()["paths"]
    routes = {f"{method.upper()} {path}" for path, methods in described.items() for method in methods}
    rights = {route: right for right, listed in RIGHTS_OF_WRITES.items() for route in listed}
    assert {route for route in routes if not route.startswith("GET ")} == rights.keys()
    assert RIGHTS_OF_READS.keys() <= routes
    assert {f"GET {path}" for path in TIME_TRAVEL} <= routes
    for route in sorted(routes):
        method, template = route.split()
        path = re.sub(r"\{\w+\}", "pod-0", template)
        right = (rights | RIGHTS_OF_READS).get(route, Right.READ)
        assert right_needed(method, path) is right, route
        for role in (Role.READER, Role.TRAINEE):
            if right not in RIGHTS[role]:
                assert guarded.request(method, path, headers=bearer(role)).status_code == 403, route


def test_rights_of_each_role() -> None:
    assert [role for role in Role if Right.READ in RIGHTS[role]] == [*Role]
    assert [role for role in Role if Right.OPERATE in RIGHTS[role]] == [*Role][1:]
    assert [role for role in Role if Right.STRIKE in RIGHTS[role]] == [Role.OPERATOR, Role.ADMINISTRATOR]
    assert [role for role in Role if Right.ADMINISTER in RIGHTS[role]] == [Role.ADMINISTRATOR]
    assert right_needed("POST", "/v1/slicesque") is right_needed("DELETE", "/") is Right.ADMINISTER


def test_problems_are_shown_only_to_callers_who_may_read(twin: DrivenTwin) -> None:
    known = Tokens([(TOKENS[Role.READER], Caller("mia", Role.READER))])
    twin.problems.append("Redis at unix:///secret/place does not answer")
    ports = replace(twin.ports, notes=lambda: ["snapshots /secret/place: Permission denied"])
    client = Client(create_app(ports, tokens=known))
    stranger, reader = client.get("/healthz"), client.get("/healthz", headers=bearer(Role.READER))
    assert (stranger.json()["notes"], len(reader.json()["notes"])) == ([], 1)
    assert [client.get(path).status_code for path in ("/livez", "/readyz")] == [200, 200]
    twin.problems.clear()
    assert (stranger.status_code, reader.status_code) == (503, 503)
    assert "secret" not in stranger.text
    assert "secret" in reader.text


@pytest.mark.parametrize(
    "token", ["short", "x" * 15, "x" * 513, "with a blank in the middle", "ümlaut-of-some-length"]
)
def test_a_guessable_or_unsendable_token_is_refused(token: str) -> None:
    with pytest.raises(
        InvalidInput, match=r"token of mia: .*must (have 16 to 512|consist of visible ASCII characters)"
    ) as caught:
        Tokens([(token, Caller("mia", Role.READER))])
    assert token not in str(caught.value)


def test_two_names_may_not_share_a_token() -> None:
    with pytest.raises(InvalidInput, match="token of max: must differ from the token of mia"):
        Tokens([("x" * 16, Caller("mia", Role.READER)), ("x" * 16, Caller("max", Role.READER))])


# --- not too often, and not too much ------------------------------------------------------------------------


def test_a_rate_limit_allows_a_burst_and_then_its_rate() -> None:
    now_s = 100.0
    rate = RateLimit(per_s=2, burst=3, monotonic_s=lambda: now_s)
    assert [rate.wait_s("a") for _ in range(5)] == [0, 0, 0, 1, 1]
    assert rate.wait_s("b") == 0
    now_s += 0.5
    assert [rate.wait_s("a") for _ in range(2)] == [0, 1]
    now_s += 60
    assert [rate.wait_s("a") for _ in range(4)] == [0, 0, 0, 1]


def test_a_client_over_its_write_limit_is_refused_with_a_time_to_retry(guarded: Client) -> None:
    headers = bearer(Role.ADMINISTRATOR)
    answers = [guarded.post("/v1/none", headers=headers) for _ in range(guard.WRITES_BURST + 100)]
    late = next(answer for answer in answers if answer.status_code == 429)
    assert answers.index(late) == guard.WRITES_BURST
    assert int(late.headers["retry-after"]) >= 1
    assert "the-administrator" in sentence(late)
    assert guarded.get("/v1/clock", headers=headers).status_code == 200
    assert guarded.post("/v1/slices", headers=bearer(Role.OPERATOR)).status_code == 422


def test_wrong_tokens_are_slowed_down_and_valid_ones_are_not(guarded: Client) -> None:
    wrong_token = {"authorization": "Bearer wrong"}
    statuses = [
        guarded.get("/v1/clock", headers=wrong_token).status_code
        for _ in range(guard.WRONG_TOKENS_BURST + 20)
    ]
    assert set(statuses[: guard.WRONG_TOKENS_BURST]) == {401}
    assert 429 in statuses
    assert guarded.get("/v1/clock").status_code == 401
    assert guarded.get("/v1/clock", headers=bearer(Role.READER)).status_code == 200


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, "a bearer token is required; set LIGHTWAVE_TOKEN or"),
        (
            {"authorization": "Bearer wrong"},
            "the bearer token is not valid for this twin; set LIGHTWAVE_TOKEN or",
        ),
        (
            {"authorization": "Basic bTpt"},
            "the bearer token is not valid for this twin; set LIGHTWAVE_TOKEN or",
        ),
    ],
)
def test_a_wrong_token_is_not_reported_as_missing(
    guarded: Client, headers: dict[str, str], expected: str
) -> None:
    answer = guarded.get("/v1/clock", headers=headers)
    assert answer.status_code == 401
    assert sentence(answer).startswith(expected)


def test_the_body_limit_is_the_largest_valid_request(client: Client) -> None:
    async def parts(size: int) -> AsyncIterator[bytes]:
        for _ in range(0, size, 1024):
            yield b" " * 1024

    as_json = {"content-type": "application/json"}
    for content in (b" " * (BODY_MAX + 1), parts(BODY_MAX + 1024), parts(10**12)):
        answer = client.post("/v1/slices", content=content, headers=as_json)
        assert answer.status_code == 413
        assert str(BODY_MAX) in sentence(answer)
    small = b'{"shape": "2x2x2"}'
    for content in (small.ljust(BODY_MAX), small):
        assert client.post("/v1/slices", content=content, headers=as_json).status_code == 202


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE"])
def test_only_a_commissioning_may_send_a_trace(guarded: Client, method: str) -> None:
    trace = b" " * (BODY_MAX + 1)
    for role in Role:
        answer = guarded.request(method, "/v1/fabrics", content=trace, headers=bearer(role))
        allowed = right_needed(method, "/v1/fabrics") in RIGHTS[role]
        assert answer.status_code == (413 if allowed else 403)
        assert guarded.post("/v1/fabrics", content=trace, headers=bearer(role)).status_code == (
            422 if role is Role.ADMINISTRATOR else 403
        )


def test_a_body_of_millions_of_values_is_refused_before_it_is_parsed(client: Client) -> None:
    """A body of 8 MB took 840 MB of memory and seven seconds."""
    empties = b'{"settings": {"x": [' + b"[]," * 1_000_000 + b"[]]}}"
    answer = client.post("/v1/fabrics", content=empties, headers={"content-type": "application/json"})
    assert answer.status_code == 413
    assert sentence(answer) == f"body: has 1,000,001 values; must have at most {TRACE_VALUES_MAX:,}"


def test_probes_need_no_thread_of_other_requests(client: Client) -> None:
    """All threads of reads and writes wait, and probes are still answered."""

    async def ask_while_all_threads_wait() -> list[int]:
        threads = to_thread.current_default_thread_limiter()
        for number in range(int(threads.total_tokens)):
            threads.acquire_on_behalf_of_nowait(number)
        transport = httpx.ASGITransport(client.app)
        async with httpx.AsyncClient(transport=transport, base_url=SAME) as waiting:
            return [(await waiting.get(path)).status_code for path in PROBE_PATHS]

    assert asyncio.run(ask_while_all_threads_wait()) == [200, 200, 200]


def test_the_declared_length_alone_refuses_a_body(client: Client) -> None:
    headers = {"content-type": "application/json", "content-length": "99999999999999999999"}
    assert client.post("/v1/slices", content=b"{}", headers=headers).status_code == 413


# --- security headers for browsers --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["/v1/clock", "/v1/nothing", "/metrics", "/healthz", "/docs", "/docs/begin.js"]
)
def test_security_headers_are_sent(client: Client, path: str) -> None:
    headers = client.get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["cache-control"] == ("max-age=3600" if path.endswith(".js") else "no-store")


def test_the_api_page_loads_nothing_from_another_host(client: Client) -> None:
    page = client.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    assert "://" not in page.text
    assert "<script>" not in page.text
    for name in ("swagger-ui.css", "swagger-ui-bundle.js", "favicon.png", "begin.js"):
        assert page.text.count(f'"docs/{name}"') == 1
        assert client.get(f"/docs/{name}").status_code == 200
    assert client.get("/docs/..%2f__init__.py").status_code == 404
    assert client.get("/docs/index.html").status_code == 404
    assert client.get("/redoc").status_code == 404


@pytest.mark.parametrize(
    "path", ["/openapi.json", "/docs/swagger-ui-bundle.js", "/docs/swagger-ui.css", "/docs/favicon.png"]
)
def test_the_api_document_is_built_once(client: Client, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    plain, _ = (client.get(path, headers={"accept-encoding": how}) for how in ("identity", "gzip"))
    assert "content-encoding" not in plain.headers

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("nothing may be opened, compressed or written again")

    for name in ("builtins.open", "os.open", "gzip.compress", "gzip.GzipFile.write", "json.dumps"):
        monkeypatch.setattr(name, refuse)
    packed = client.get(path, headers={"accept-encoding": "gzip"})
    assert (packed.status_code, packed.headers["content-encoding"]) == (200, "gzip")
    assert packed.headers["vary"] == "Accept-Encoding"
    assert packed.content == plain.content


@pytest.mark.parametrize("path", ["/docs/", "/openapi.json/", "/healthz/", "/v1/clock/"])
def test_no_redirect_goes_to_a_host_chosen_by_the_caller(guarded: Client, path: str) -> None:
    answer = guarded.get(path, headers={"host": "evil.example"} | bearer(Role.READER))
    assert answer.status_code == 404
    assert "location" not in answer.headers


def test_a_waiting_caller_gets_one_sentence_when_the_gateway_stops() -> None:
    async def end() -> list[dict[str, Any]]:
        sent: list[dict[str, Any]] = []

        async def forever(scope: Any, receive: Any, send: Any) -> None:
            await asyncio.sleep(3_600)

        async def send(message: Any) -> None:
            sent.append(message)

        async def receive() -> Any:
            return {"type": "http.request"}

        task = asyncio.create_task(ShutdownResponse(forever)({"type": "http"}, receive, send))
        await asyncio.sleep(0)
        task.cancel()
        await task
        return sent

    start, body = asyncio.run(end())
    assert start["status"] == 503
    assert b"retry with the same idempotency key" in body["body"]
