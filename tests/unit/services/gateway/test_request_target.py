"""Targets of requests, as clients write them on a socket: a path, or a whole address with its own host."""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from ops.serving.http_server import listen, quiet_server
from services.gateway.http import guard, read_limits
from services.gateway.http.access.caller import Caller, Role
from services.gateway.http.access.tokens import Tokens
from services.gateway.http.app import create_app
from services.gateway.http.read_limits import kinds_of
from services.gateway.http.request_target import with_path
from shared.basics.errors import InvalidInput
from tests.support.gateway_twin import QUIET, DrivenTwin

pytestmark = pytest.mark.integration

TOKENS = {role: f"the-token-of-a-{role}-here" for role in Role}
WAIT_S_MAX = 20.0


@contextlib.contextmanager
def listening(twin: DrivenTwin, tokens: Tokens) -> Iterator[int]:
    """Serve the twin as `lightwave up` does; yield the port."""
    server = quiet_server(create_app(twin.ports, tokens=tokens))
    server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign, assignment]  # in a thread
    with listen("127.0.0.1", 0) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        until_s = time.monotonic() + WAIT_S_MAX
        while not server.started:
            assert time.monotonic() < until_s
            time.sleep(0.01)
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DrivenTwin]:
    twin = DrivenTwin(tmp_path_factory.mktemp("twin"), ["pod.cubes=4", *QUIET])
    twin.advance(0.1)
    yield twin
    twin.close()


@pytest.fixture(scope="module")
def port(twin: DrivenTwin) -> Iterator[int]:
    """The port of a gateway without tokens."""
    with listening(twin, Tokens()) as port:
        yield port


@pytest.fixture(scope="module")
def guarded_port(twin: DrivenTwin) -> Iterator[int]:
    """The port of a gateway with one token of each role, whose limit of writes never recovers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(guard, "WRITES_PER_S", 0.0001)
        patch.setattr(guard, "WRITES_BURST", 3)
        known = Tokens((token, Caller(f"the-{role}", role)) for role, token in TOKENS.items())
        with listening(twin, known) as port:
            yield port


def exchange(port: int, head: str, *headers: str) -> tuple[int, dict[str, str], Any]:
    """Send a request line and headers, byte by byte as given; return status, headers and body."""
    lines = "\r\n".join([head, *headers, "Connection: close", "", ""])
    with socket.create_connection(("127.0.0.1", port), timeout=WAIT_S_MAX) as connection:
        connection.sendall(lines.encode("latin-1"))
        answer = b"".join(iter(lambda: connection.recv(65_536), b""))
    first, _, body = answer.partition(b"\r\n\r\n")
    status, *fields = first.decode("latin-1").split("\r\n")
    assert answer.count(b"HTTP/1.1 ") == 1, "one answer"
    named = dict(field.lower().split(": ", 1) for field in fields)
    is_json = named.get("content-type") == "application/json" and body
    return int(status.split()[1]), named, json.loads(body) if is_json else body


def role_header(role: Role) -> str:
    return f"Authorization: Bearer {TOKENS[role]}"


# --- whole addresses ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:80", "[::1]:8080"])
@pytest.mark.parametrize("path", ["/v1/fabrics", "/v1/fabrics/pod-0", "/livez", "/v1/clock?", "/v1%2Fclock"])
def test_an_address_is_answered_like_its_path(port: int, host: str, path: str) -> None:
    status, _, body = exchange(port, f"GET {path} HTTP/1.1", "Host: 127.0.0.1")
    assert status == 200
    status, headers, whole = exchange(port, f"GET http://{host}{path} HTTP/1.1", "Host: 127.0.0.1")
    assert (status, whole) == (200, body)
    assert headers["cache-control"] == "no-store"


def test_the_host_of_an_address_replaces_the_header(port: int) -> None:
    assert exchange(port, "GET http://127.0.0.1/v1/fabrics HTTP/1.1", "Host: evil.example")[0] == 200
    status, _, body = exchange(port, "GET http://evil.example/v1/fabrics HTTP/1.1", "Host: 127.0.0.1")
    assert status == 421
    assert body["error"].startswith("Host 'evil.example'")


def test_an_address_needs_no_host_header_in_http_1_0(port: int) -> None:
    assert exchange(port, "GET http://127.0.0.1/v1/fabrics HTTP/1.0")[0] == 200
    assert exchange(port, "GET /v1/fabrics HTTP/1.0")[0] == 421


def test_an_address_without_a_path_is_the_root(port: int) -> None:
    status, _, body = exchange(port, "GET / HTTP/1.1", "Host: 127.0.0.1")
    for target in ("http://127.0.0.1", "HTTP://127.0.0.1/", "http://127.0.0.1?"):
        assert exchange(port, f"GET {target} HTTP/1.1", "Host: 127.0.0.1")[::2] == (status, body), target


@pytest.mark.parametrize(
    "target",
    [
        "https://127.0.0.1/v1/fabrics",
        "ftp://127.0.0.1/v1/fabrics",
        "http:///v1/fabrics",
        "http:/v1/fabrics",
        "http:v1/fabrics",
        "http://user@127.0.0.1/v1/fabrics",
        "http://127.0.0.1:80@evil.example/v1/fabrics",
        "http://127.0.0.1#/v1/fabrics",
        "http://127.0.0.1\\evil.example/v1/fabrics",
        "http://[::1/v1/fabrics",
        "http://127.0.0.1:port/v1/fabrics",
        "http%3A//127.0.0.1/v1/fabrics",
        "v1/fabrics",
        "?limit=1",
        "*",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
def test_another_target_is_refused_with_one_sentence(port: int, method: str, target: str) -> None:
    status, headers, body = exchange(port, f"{method} {target} HTTP/1.1", "Host: 127.0.0.1")
    assert status == 400
    assert list(body) == ["error"]
    assert body["error"].startswith("request target '")
    assert "must be a path that begins with /" in body["error"]
    assert "\n" not in body["error"]
    assert headers["x-content-type-options"] == "nosniff"


def test_the_gateway_opens_no_tunnels(port: int) -> None:
    status, _, body = exchange(port, "CONNECT evil.example:443 HTTP/1.1", "Host: evil.example:443")
    assert status == 400
    assert body["error"].startswith("request target 'evil.example:443'")


@pytest.mark.parametrize("target", ["//evil.example/v1/fabrics", "/http://127.0.0.1/v1/fabrics"])
def test_a_path_that_looks_like_an_address_is_a_path(port: int, target: str) -> None:
    assert exchange(port, f"GET {target} HTTP/1.1", "Host: 127.0.0.1")[0] == 404


@pytest.mark.parametrize("host", ["[", "127.1:x", "a b", "a/b", "a?b", "a@127.0.0.1", "127.0.0.1\\x", "é"])
@pytest.mark.parametrize("line", ["GET /v1/events?limit=1 HTTP/1.1", "GET /livez HTTP/1.1"])
def test_an_invalid_host_is_refused(port: int, guarded_port: int, host: str, line: str) -> None:
    for one in (port, guarded_port):
        status, _, body = exchange(one, line, f"Host: {host}", role_header(Role.READER))
        assert status == 400
        assert body["error"].endswith("must be a host, or a host and a port")


# --- all rules see the same path ----------------------------------------------------------------------------


def test_rights_are_those_of_the_path(guarded_port: int) -> None:
    host = "Host: twin.example"
    for form in ("", "http://127.0.0.1", "http://evil.example"):
        for role in Role:
            got = exchange(guarded_port, f"GET {form}/v1/backup HTTP/1.1", host, role_header(role))[0]
            assert (got == 403) == (role is not Role.ADMINISTRATOR), (form, role)
        for method, path in (("POST", "/v1/fabrics"), ("POST", "/v1/slices"), ("PUT", "/v1/clock/speed")):
            line = f"{method} {form}{path} HTTP/1.1"
            assert exchange(guarded_port, line, host)[0] == 401
            assert exchange(guarded_port, line, host, role_header(Role.READER))[0] == 403


def test_both_forms_of_a_write_share_one_limit(guarded_port: int) -> None:
    forms = ["", "http://a.example", "http://b.example", ""]
    got = [
        exchange(guarded_port, f"POST {form}/v1/slices HTTP/1.1", "Host: t", role_header(Role.OPERATOR))[0]
        for form in forms
    ]
    assert got == [422, 422, 422, 429]


def test_a_foreign_page_gains_nothing_by_an_address(port: int) -> None:
    line, host = "POST http://127.0.0.1/v1/clock/pause HTTP/1.1", "Host: 127.0.0.1"
    assert exchange(port, line, host, "Sec-Fetch-Site: cross-site")[0] == 403
    assert exchange(port, line, host, "Origin: http://evil.example")[0] == 403
    # The origin is compared with the host of the address, not with the header.
    status, _, body = exchange(port, line, "Host: evil.example", "Origin: http://evil.example")
    assert (status, body["error"]) == (403, "Origin 'http://evil.example': must be this gateway")
    read = "GET http://127.0.0.1/v1/fabrics HTTP/1.1"
    assert exchange(port, read, host, "Sec-Fetch-Site: cross-site")[0] == 403


@pytest.mark.parametrize("path", ["/v1/backup", "/v1/explain", "/v1/bisect", "/v1/links?at=1s", "/metrics"])
def test_limits_of_reads_are_those_of_the_path(path: str) -> None:
    raw, _, query = path.encode().partition(b"?")
    common = {"type": "http", "method": "GET", "scheme": "http", "query_string": query}
    own = {**common, "path": raw.decode(), "raw_path": raw, "headers": [(b"host", b"a")]}
    target = b"http://b" + raw
    whole = with_path({**common, "path": target.decode(), "raw_path": target, "headers": [(b"host", b"a")]})
    assert whole == {**own, "headers": [(b"host", b"b")]}
    assert kinds_of(whole) == kinds_of(own) != []
    assert read_limits.READS in kinds_of(own)


def test_a_long_target_is_quoted_in_part() -> None:
    scope = {"type": "http", "scheme": "http", "raw_path": b"x" * 8_000, "headers": []}
    with pytest.raises(InvalidInput) as caught:
        with_path(scope)
    assert len(str(caught.value)) < 300
