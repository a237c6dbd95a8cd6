"""Connections on a real server: a flood of silent ones is dropped, and blocks no other client."""

import asyncio
import contextlib
import resource
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from ops.serving import connection_limits
from ops.serving.http_server import listen, quiet_server

ROOM = 8
WAIT_S_MAX = 20.0
HEAD = b"GET /here HTTP/1.1\r\nHost: twin\r\n\r\n"
SLOW = b"POST /here HTTP/1.1\r\nHost: twin\r\nContent-Length: 9\r\n\r\n"
LARGE = 64 * 1024 * 1024


class Served:
    """A small application in the gateway's server, in a thread."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        routes = [
            Route("/here", self._here, methods=["GET", "POST"]),
            Route("/later", self._later),
            Route("/large", self._large),
            Route("/endless", self._endless),
            Route("/last", self._last),
        ]
        self._server = quiet_server(Starlette(routes=routes))  # type: ignore[arg-type]  # as good as FastAPI's
        self._server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign, assignment]  # in a thread
        listener = listen("127.0.0.1", 0)
        self.port = listener.getsockname()[1]
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [listener]})
        self._thread.start()
        wait_for(lambda: self._server.started)

    async def _here(self, request: Request) -> Response:
        await request.body()
        return Response(b"here")

    def _later(self, _request: Request) -> Response:
        self.go_on.wait(WAIT_S_MAX)
        return Response(b"later")

    def _large(self, _request: Request) -> Response:
        return Response(bytes(LARGE))

    async def _endless(self, _request: Request) -> Response:
        return StreamingResponse(self._parts(lambda: True))

    async def _last(self, _request: Request) -> Response:
        """Return an answer that ends as soon as a part of it is unread."""
        return StreamingResponse(self._parts(lambda: not self.unsent()))

    async def _parts(self, goes_on: Callable[[], bool]) -> AsyncIterator[bytes]:
        while goes_on():
            yield bytes(16_384)
            await asyncio.sleep(0)  # data for a closed connection is sent at once

    def unsent(self) -> int:
        """Return the number of connections with an unread part of an answer."""
        connections = [*self._server.server_state.connections]
        return sum(connection.transport.get_write_buffer_size() > 0 for connection in connections)

    def connections(self) -> int:
        """Return the number of open connections of the server."""
        return len(self._server.server_state.connections)

    def open(self, sent: bytes = b"") -> socket.socket:
        """Open a connection and send these bytes."""
        opened = socket.create_connection(("127.0.0.1", self.port), timeout=WAIT_S_MAX)
        opened.sendall(sent)
        return opened

    def end(self) -> None:
        self.go_on.set()
        self._server.should_exit = True
        self._thread.join(WAIT_S_MAX)
        assert not self._thread.is_alive()


def wait_for(reached: Callable[[], bool]) -> None:
    until_s = time.monotonic() + WAIT_S_MAX
    while not reached():
        assert time.monotonic() < until_s
        time.sleep(0.01)


def is_dropped(connection: socket.socket) -> bool:
    """Wait until the server closes the connection without an answer."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.setattr(connection_limits, "CONNECTIONS_MAX", ROOM)
    served = Served()
    yield served
    served.end()


@pytest.mark.parametrize("sent", [b"", HEAD[:-2], HEAD + HEAD[:5], SLOW + b"{"])
def test_an_incomplete_request_times_out(
    served: Served, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(connection_limits, "ARRIVAL_S", 0.2)
    with served.open(sent) as connection:
        if sent.startswith(HEAD):
            answer = b""
            while not answer.endswith(b"here"):
                answer += connection.recv(1000)
        assert is_dropped(connection)
    wait_for(lambda: served.connections() == 0)


def test_single_bytes_do_not_extend_the_time(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_limits, "ARRIVAL_S", 0.5)
    with served.open() as connection, contextlib.suppress(ConnectionError):
        connection.settimeout(0.05)
        for byte in HEAD[:-4] + b"\r\nX-Long: " + b"y" * 1_000:
            connection.sendall(bytes([byte]))
            with contextlib.suppress(TimeoutError):
                assert connection.recv(1) == b""
                break
        else:
            pytest.fail("it was never dropped")


def test_a_flood_of_silent_connections_blocks_no_client(served: Served) -> None:
    with contextlib.ExitStack() as stack:
        flood = [stack.enter_context(served.open(HEAD[: n % 20])) for n in range(10 * ROOM)]
        with served.open(HEAD) as connection:
            assert connection.recv(12) == b"HTTP/1.1 200"
        assert served.connections() <= ROOM
        assert is_dropped(flood[0])


def test_a_connection_that_is_being_answered_is_not_dropped(served: Served) -> None:
    with contextlib.ExitStack() as stack:
        request = HEAD.replace(b"/here", b"/later")
        busy = [stack.enter_context(served.open(request)) for _ in range(ROOM)]
        wait_for(lambda: served.connections() == ROOM)
        with served.open(HEAD) as connection:
            answer = connection.recv(1_000)
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert answer.endswith(b'too many connections are open; try again later"}')
        served.go_on.set()
        assert {connection.recv(12) for connection in busy} == {b"HTTP/1.1 200"}


def test_a_client_that_reads_nothing_is_dropped(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_limits, "SEND_STALL_S", 0.3)
    with served.open(HEAD.replace(b"/here", b"/large")):
        wait_for(lambda: served.connections() == 1)
        wait_for(lambda: served.connections() == 0)


@pytest.mark.parametrize(("yields_s", "status"), [(0.0, b"200"), (60.0, b"503")])
def test_a_client_that_reads_slowly_is_dropped_for_another_after_a_while(
    served: Served, monkeypatch: pytest.MonkeyPatch, yields_s: float, status: bytes
) -> None:
    monkeypatch.setattr(connection_limits, "YIELD_AFTER_S", yields_s)
    with contextlib.ExitStack() as stack:
        request = HEAD.replace(b"/here", b"/endless")
        opened = [stack.enter_context(served.open(request)) for _ in range(ROOM)]
        wait_for(lambda: served.unsent() == ROOM)
        opened[0].recv(1)  # a part of the answer
        with served.open(HEAD) as connection:
            assert connection.recv(12) == b"HTTP/1.1 " + status
        wait_for(lambda: served.connections() <= ROOM)


def test_the_end_of_an_answer_waits_for_no_reader(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_limits, "SEND_STALL_S", 0.3)
    last = HEAD.replace(b"/here", b"/last").replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    with served.open(last):
        wait_for(lambda: served.unsent() == 1)
        wait_for(lambda: served.unsent() == 0)


def test_the_bound_leaves_half_of_the_descriptors_to_the_twin(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = {"is": (256, 300)}
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits["is"])
    monkeypatch.setattr(resource, "setrlimit", lambda _, new_limits: limits.update({"is": new_limits}))
    assert connection_limits.connections_max() == 150
    assert limits["is"] == (300, 300)
    limits["is"] = (1_024, resource.RLIM_INFINITY)
    assert connection_limits.connections_max() == connection_limits.CONNECTIONS_MAX
    assert limits["is"] == (connection_limits.DESCRIPTORS, resource.RLIM_INFINITY)
