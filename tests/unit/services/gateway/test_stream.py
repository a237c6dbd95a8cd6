"""The gateway on a real server: event streams, disconnecting clients, and shutdown with open streams."""

import asyncio
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, aclosing, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from sse_starlette.sse import AppStatus

from schemas.envelope import Envelope
from services.gateway.http import event_stream
from services.gateway.http.access.tokens import Tokens
from services.gateway.http.app import create_app
from services.gateway.log import tail
from services.gateway.log.tail import LogTail
from shared.storage.log.log_reader import LogQuery
from tests.support.gateway_twin import QUIET, DrivenTwin, as_logged

pytestmark = pytest.mark.integration

END_S_MAX = 10.0


class Served:
    """A gateway on its own port, in a thread."""

    def __init__(self, twin: DrivenTwin) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        config = uvicorn.Config(
            create_app(twin.ports, tokens=Tokens()),
            log_level="critical",
            lifespan="off",
            timeout_graceful_shutdown=1,
        )
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(
            target=self.server.run, kwargs={"sockets": [self.listener]}, daemon=True
        )
        self.thread.start()
        wait_for(lambda: self.server.started)

    def end(self) -> None:
        self.server.should_exit = True
        self.thread.join(END_S_MAX)
        self.listener.close()
        assert not self.thread.is_alive()

    @contextmanager
    def stream(self, query: str = "", **headers: str) -> Iterator[http.client.HTTPResponse]:
        """An open stream of events."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=END_S_MAX)) as connection:
            connection.request("GET", f"/v1/events/stream{query}", headers=headers)
            answer = connection.getresponse()
            assert answer.status == 200
            assert answer.headers["content-type"].startswith("text/event-stream")
            with closing(answer):
                yield answer


def wait_for(reached: Callable[[], bool]) -> None:
    until_s = time.monotonic() + END_S_MAX
    while not reached():
        assert time.monotonic() < until_s
        time.sleep(0.01)


def events(answer: http.client.HTTPResponse, count: int) -> list[tuple[str, dict[str, Any]]]:
    """The next events as (id, message)."""
    received: list[tuple[str, dict[str, Any]]] = []
    last = ""
    while len(received) < count:
        field, _, text = answer.readline().decode().rstrip("\r\n").partition(": ")
        if field == "id":
            last = text
        if field == "data":
            received.append((last, as_logged(json.loads(text))))
    return received


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DrivenTwin]:
    twin = DrivenTwin(tmp_path_factory.mktemp("twin"), ["pod.cubes=8", *QUIET], pods=2)
    twin.advance(2)
    yield twin
    twin.close()


@pytest.fixture(scope="module")
def served(twin: DrivenTwin) -> Iterator[Served]:
    AppStatus.should_exit = False
    served = Served(twin)
    yield served
    served.end()


def drain(twin: DrivenTwin, cube: str, *, back: bool = False) -> None:
    """Drain a cube, or undrain it."""
    path = f"/v1/cubes/{cube}/{'undrain' if back else 'drain'}"
    answer = twin.client().post(path, params={"wait": 20})
    assert answer.status_code == 200


def test_a_stream_starts_at_the_end_of_the_log(twin: DrivenTwin, served: Served) -> None:
    with served.stream() as answer:
        start = len(twin.messages())
        drain(twin, "pod-0/cube-1")
        messages = twin.messages()[start:]
        assert [message["type"] for message in messages] == ["DrainCube", "CubeDrained"]
        received = events(answer, 2)
        assert received == [(f"pod-0:{start + n}", message) for n, message in enumerate(messages)]


def test_a_stream_continues_after_the_last_event_id(twin: DrivenTwin, served: Served) -> None:
    messages = twin.messages()
    with served.stream("?since=-1000d") as answer:
        received = events(answer, 3)
    with served.stream("?since=-1000d", **{"Last-Event-ID": received[-1][0]}) as answer:
        remaining = events(answer, len(messages) - 3)
    assert [message for _, message in received + remaining] == messages
    assert [place for place, _ in received + remaining] == [f"pod-0:{n}" for n in range(len(messages))]


def test_a_stream_of_one_type_of_another_fabric(twin: DrivenTwin, served: Served) -> None:
    with served.stream("?fabric=pod-1&type=CubeDrained&since=-1000d") as answer:
        drain(twin, "pod-1/cube-3")
        drain(twin, "pod-1/cube-3", back=True)
        drain(twin, "pod-1/cube-5")
        received = [message for _, message in events(answer, 2)]
    assert [(m["fabric"], m["type"], m["body"]["cube"]) for m in received] == [
        ("pod-1", "CubeDrained", 3),
        ("pod-1", "CubeDrained", 5),
    ]


@pytest.mark.parametrize("last", ["pod-0:99999999999", "pod-0:3000000"])
def test_an_event_id_of_another_log_does_not_block_a_stream(
    twin: DrivenTwin, served: Served, last: str
) -> None:
    with served.stream(**{"Last-Event-ID": last}) as answer:
        drain(twin, "pod-0/cube-2")
        assert events(answer, 1)[0][1]["type"] == "DrainCube"
        drain(twin, "pod-0/cube-2", back=True)


@pytest.mark.parametrize("last", ["pod-1:0", "nonsense", ":", "pod-0:-7", "pod-0:" + "9" * 5_000])
def test_an_invalid_event_id_is_refused(twin: DrivenTwin, last: str) -> None:
    answer = twin.client().get("/v1/events/stream", headers={"Last-Event-ID": last})
    assert answer.status_code == 422
    response = answer.json()["error"]
    assert response.startswith(f"Last-Event-ID '{last[:80]}")
    assert ": must be a log position like pod-0:4207" in response or ": not on the log of" in response
    assert len(response) < 300


def test_a_stream_filters_by_resource_and_by_cause(twin: DrivenTwin, served: Served) -> None:
    with served.stream("?for=pod-0/cube-6&since=-1000d&ticks=false") as answer:
        drain(twin, "pod-0/cube-5")
        drain(twin, "pod-0/cube-6")
        received = [message for _, message in events(answer, 2)]
        assert [message["type"] for message in received] == ["DrainCube", "CubeDrained"]
    with served.stream(f"?cause={received[0]['id']}&since=-1000d") as answer:
        assert events(answer, 1)[0][1] == received[1]
    drain(twin, "pod-0/cube-5", back=True)
    drain(twin, "pod-0/cube-6", back=True)


def test_pages_contain_messages_of_one_microsecond_once(twin: DrivenTwin) -> None:
    """Forwards from a time and backwards from now, each message once."""
    client, whole = twin.client(), [message["id"] for message in twin.messages()]
    for query, rel in (("since_us=0&limit=3", "next"), ("limit=3", "prev")):
        ids: list[str] = []
        address: str | None = f"/v1/events?{query}"
        while address is not None:
            answer = client.get(address)
            page = [message["id"] for message in answer.json()]
            ids = ids + page if rel == "next" else page + ids
            link = answer.headers.get("link")
            assert link is None or link.endswith(f'; rel="{rel}"')
            address = None if link is None else link[1 : link.index(">")]
        assert ids == whole
    until = client.get("/v1/events", params={"since": "0d00:00:00", "until": "0d00:00:00"}).json()
    assert [m["id"] for m in until] == [m["id"] for m in twin.messages() if m["at_us"] < 1_000_000]
    assert client.get("/v1/events?cursor=xx").status_code == 422
    beyond = client.get("/v1/events?cursor=pod-0:99999999")
    assert beyond.status_code == 422
    assert "cursor 'pod-0:99999999': is after the end of the log; must be at most pod-0:" in beyond.text
    last = beyond.json()["error"].rpartition(" ")[2]
    assert client.get(f"/v1/events?cursor={last}").json() == []


def test_a_long_log_is_read_in_parts(
    twin: DrivenTwin, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "BATCH_MAX", 7)
    messages = twin.messages("pod-1")
    with served.stream("?fabric=pod-1&since=-1000d") as answer:
        assert [message for _, message in events(answer, len(messages))] == messages


def test_the_log_is_no_longer_read_for_a_disconnected_client(
    twin: DrivenTwin, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[str] = []
    end = twin.logs.end

    def counted(fabric: str) -> int:
        reads.append(fabric)
        return end(fabric)

    monkeypatch.setattr(twin.logs, "end", counted)
    with served.stream("?fabric=pod-1"):
        wait_for(lambda: len(reads) > 3)
    quiet_s = 3 * tail.POLL_S

    def has_ended() -> bool:
        before = len(reads)
        time.sleep(quiet_s)
        return len(reads) == before

    wait_for(has_ended)


def test_a_name_has_a_limited_number_of_streams(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "STREAMS_MAX", 3)

    def refusal() -> str | None:
        with closing(http.client.HTTPConnection("127.0.0.1", served.port, timeout=END_S_MAX)) as connection:
            connection.request("GET", "/v1/events/stream")
            answer = connection.getresponse()
            if answer.status == 200:
                return None
            assert answer.status == 429
            assert int(answer.headers["retry-after"]) > 0
            return str(json.load(answer)["error"])

    with ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(served.stream()).readline()  # it has started
        assert refusal() == "3 streams are already open; close one first"
    wait_for(lambda: refusal() is None)


def test_streams_opened_at_once_are_counted_one_by_one(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_stream, "STREAMS_MAX", 5)
    together = threading.Barrier(20)

    def opened(stack: ExitStack) -> int:
        connection = stack.enter_context(
            closing(http.client.HTTPConnection("127.0.0.1", served.port, timeout=END_S_MAX))
        )
        connection.connect()
        together.wait(END_S_MAX)
        connection.request("GET", "/v1/events/stream")
        return stack.enter_context(closing(connection.getresponse())).status

    with ExitStack() as stack, ThreadPoolExecutor(20) as threads:
        outcomes = [*threads.map(opened, [stack] * 20)]
    assert sorted(outcomes) == [200] * 5 + [429] * 15


def test_streams_share_their_polls_and_reads(twin: DrivenTwin, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_s: list[float] = []
    read: list[LogQuery] = []
    end, find = twin.logs.end, twin.logs.find

    def counted_end(site: str) -> int:
        looked_s.append(time.monotonic())
        return end(site)

    def counted_find(site: str, query: LogQuery, most: int) -> list[tuple[int, Envelope]]:
        read.append(query)
        return find(site, query, most)

    monkeypatch.setattr(twin.logs, "end", counted_end)
    monkeypatch.setattr(twin.logs, "find", counted_find)
    shared, start = LogTail(twin.ports), twin.logs.end("pod-0")

    async def take(query: LogQuery) -> list[dict[str, Any]]:
        async with aclosing(shared.follow("pod-0", query)) as rows:
            found: list[dict[str, Any]] = []
            while len(found) < 2:
                row = await anext(rows)
                if row is not None:
                    found.append(as_logged(json.loads(row[1])))
            return found

    async def all_at_once() -> list[list[dict[str, Any]]]:
        tasks = [asyncio.create_task(take(LogQuery(start=start, fabric="pod-0"))) for _ in range(50)]
        await asyncio.sleep(0)
        await asyncio.to_thread(drain, twin, "pod-0/cube-4")
        return await asyncio.gather(*tasks)

    received = asyncio.run(all_at_once())
    drain(twin, "pod-0/cube-4", back=True)
    assert [message["type"] for message in received[0]] == ["DrainCube", "CubeDrained"]
    assert received == [received[0]] * 50
    assert len(read) == len(set(read))
    assert len(looked_s) < 50


def test_the_server_stops_with_a_stream_open(twin: DrivenTwin) -> None:
    served = Served(twin)
    with served.stream("?since=-1000d") as answer:
        events(answer, 1)
        served.end()


def test_paths_are_read_as_they_are_sent(served: Served) -> None:
    """Bytes that a client library would not send. They reach nothing but names of resources."""
    for path in (
        b"/v1/cubes/../../etc/passwd",
        b"/v1/cubes/pod-0/cube-1/../cube-2",
        b"/v1/cubes/\xff",
        b"//v1/cubes",
    ):
        with socket.create_connection(("127.0.0.1", served.port), timeout=END_S_MAX) as connection:
            connection.sendall(b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            status = connection.makefile("rb").readline()
        assert status.split()[1] in (b"404", b"400"), path


@pytest.mark.slow("makes a long log first")
def test_since_and_type_find_their_position_without_reading_the_whole_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a log of four busy days, an answer decodes little more than its own messages."""
    twin = DrivenTwin(tmp_path, ["pod.cubes=4", "workload.slices_per_day=240"])
    twin.advance(24 * 4)
    client, whole = twin.client(), twin.messages()
    assert len(whole) > 4_000
    decoded = 0
    read = twin.logs._of("pod-0").lines

    def counted(start: int, most: int | None = None) -> Iterator[tuple[int, bytes]]:
        nonlocal decoded
        for line in read(start, most):
            decoded += 1
            yield line

    monkeypatch.setattr(twin.logs._of("pod-0"), "lines", counted)
    now_us = twin.clock.show().now_us
    recent = client.get("/v1/events?since=-6h").json()
    assert [*map(as_logged, recent)] == [m for m in whole if m["at_us"] >= now_us - 6 * 3_600_000_000]
    assert decoded < len(recent) + 2_000
    decoded = 0
    assert [*map(as_logged, client.get("/v1/events?limit=50").json())] == whole[-50:]
    assert decoded <= 512
    decoded = 0
    chain = client.get(f"/v1/why/{whole[-1]['id']}").json()
    assert chain[-1]["cause"] is None
    assert decoded < 1_100 * len(chain)
    middle = whole[len(whole) // 2]["at_us"]
    page = client.get(f"/v1/events?since_us={middle}&limit=9").json()
    assert [*map(as_logged, page)] == [m for m in whole if m["at_us"] >= middle][:9]
    twin.close()
