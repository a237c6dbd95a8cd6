"""Limits of reads: which requests share a limit, and that a slot is occupied until the response starts."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.routing import APIRoute
from starlette.types import Message, Receive, Scope, Send

from services.gateway.http import read_limits
from services.gateway.http.access.caller import Caller, Role
from services.gateway.http.middleware import BODY_MAX
from services.gateway.http.probes import PROBE_PATHS
from services.gateway.http.read_limits import (
    BISECTIONS,
    COMMISSIONS,
    PAST,
    QUESTIONS,
    READS,
    SNAPSHOTS,
    ReadLimits,
    kinds_of,
)
from tests.support.gateway_twin import QUIET, DrivenTwin

ANN = Caller("ann", Role.READER)


def scope(
    path: str, query: str = "", method: str = "GET", caller: Caller | None = ANN, length: int = 0
) -> Scope:
    return {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "headers": [(b"content-length", str(length).encode())],
        "state": {} if caller is None else {"caller": caller},
    }


@pytest.mark.parametrize(
    ("given", "kinds"),
    [
        (scope("/v1/links"), [READS]),
        (scope("/v1/links", method="HEAD"), [READS]),
        (scope("/metrics"), [READS]),
        (scope("/v1/links", "limit=1&at=2d"), [PAST, READS]),
        (scope("/v1/explain/slices/pod-0/slice-1"), [QUESTIONS, READS]),
        (scope("/v1/impact/pod-0/ocs-1"), [QUESTIONS, READS]),
        (scope("/v1/plan/slices", "shape=4x4x4"), [QUESTIONS, READS]),
        (scope("/v1/what-if/drain", "at=-2d&target=pod-0/cube-1"), [QUESTIONS, PAST, READS]),
        (scope("/v1/bisect"), [BISECTIONS, READS]),
        (scope("/v1/snapshots/pod-0"), [SNAPSHOTS, READS]),
        (scope("/v1/backup"), [SNAPSHOTS, READS]),
        (scope("/v1/fabrics", method="POST"), []),
        (scope("/v1/fabrics", method="POST", length=BODY_MAX + 1), [COMMISSIONS]),
        (scope("/v1/slices", method="POST", length=BODY_MAX + 1), []),
        (scope("/v1/slices", method="POST"), []),
        (scope("/v1/events/stream"), []),
        (scope("/v1/telemetry/stream"), []),
        (scope("/healthz"), []),
        (scope("/docs"), []),
    ],
)
def test_requests_have_the_limits_of_their_kind(given: Scope, kinds: list[object]) -> None:
    assert kinds_of(given) == kinds


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DrivenTwin]:
    twin = DrivenTwin(tmp_path_factory.mktemp("twin"), ["pod.cubes=4", *QUIET])
    yield twin
    twin.close()


@pytest.mark.integration
def test_every_read_has_a_limit(twin: DrivenTwin) -> None:
    """All paths of the API except probes, documentation and streams, so that no new route is forgotten."""
    app: Any = twin.client().app
    for route in app.routes:
        if isinstance(route, APIRoute) and "GET" in (route.methods or ()) and "stream" not in route.path:
            is_free = route.path in (*PROBE_PATHS, "/") or route.path.startswith(("/openapi.json", "/docs"))
            assert (READS in kinds_of(scope(route.path))) is not is_free, route.path


def requests_at_once(count: int, path: str, query: str = "") -> tuple[int, list[int]]:
    """(maximum number of equal requests that ran at once, statuses of all). The application answers in the
    next round of the event loop."""

    async def drive() -> tuple[int, list[int]]:
        running, maximum, statuses = 0, 0, list[int]()

        async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
            nonlocal running, maximum
            running += 1
            maximum = max(maximum, running)
            for _ in range(3):
                await asyncio.sleep(0)
            running -= 1
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b""})

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        async def receive() -> Message:
            return {"type": "http.disconnect"}

        limited = ReadLimits(app)
        await asyncio.gather(*(limited(scope(path, query), receive, send) for _ in range(count)))
        return maximum, sorted(statuses)

    return asyncio.run(drive())


def test_requests_of_one_client_wait_for_their_share() -> None:
    assert requests_at_once(30, "/v1/links") == (READS.per_lane, [200] * 30)
    assert requests_at_once(8, "/v1/links", "at=2d") == (PAST.per_name, [200] * 8)


def test_requests_beyond_the_waiting_limit_are_refused() -> None:
    maximum, statuses = requests_at_once(20, "/v1/links", "at=2d")
    passed = PAST.per_name + PAST.waiting
    assert (maximum, statuses) == (PAST.per_name, [200] * passed + [429] * (20 - passed))


def test_a_slow_reader_of_responses_keeps_no_slot() -> None:
    async def drive() -> None:
        started, ended = 0, asyncio.Event()

        async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"..."})

        async def slow(message: Message) -> None:
            nonlocal started
            started += message["type"] == "http.response.start"
            await ended.wait()

        async def receive() -> Message:
            return {"type": "http.disconnect"}

        limited = ReadLimits(app)
        tasks = [asyncio.create_task(limited(scope("/v1/backup"), receive, slow)) for _ in range(3)]
        for _ in range(20):
            await asyncio.sleep(0)
        assert started == 3 > read_limits.SNAPSHOTS.per_name
        ended.set()
        await asyncio.gather(*tasks)

    asyncio.run(drive())


def test_a_failed_request_returns_its_slot() -> None:
    async def drive() -> None:
        async def app(_scope: Scope, _receive: Receive, _send: Send) -> None:
            raise ZeroDivisionError

        async def nothing() -> Message:
            return {"type": "http.disconnect"}

        async def ignore(_message: Message) -> None: ...

        limited = ReadLimits(app)
        for _ in range(3 * READS.total):
            with pytest.raises(ZeroDivisionError):
                await limited(scope("/v1/backup"), nothing, ignore)

    asyncio.run(drive())
