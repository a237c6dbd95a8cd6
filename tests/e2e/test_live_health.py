"""A live twin recovers by itself, is not delayed by its clients, and reports its problems."""

import contextlib
import http.client
import json
import os
import socket
import subprocess
import time
import urllib.error
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from ops.servers.local_servers import LocalKafka
from schemas.envelope import Envelope
from schemas.messages.operator import DrainCube
from shared.engine.message_order import is_root
from shared.runtimes.live.kafka.partition_reader import read_partition
from shared.runtimes.live.kafka.records import open_record
from shared.runtimes.live.process.process_registry import processes
from shared.runtimes.live.twin_record import read_twin
from shared.runtimes.tcp_ports import free_port
from shared.storage.inbox.request_inbox import WAITING_MAX
from tests.soak.whole_twin import LIGHTWAVE_COMMAND, TwinOptions, metrics_options
from tests.support.child_processes import kill
from tests.support.live_twin import BUSY, LiveTwin, live_twin
from tests.support.pods import with_key

pytestmark = pytest.mark.slow("starts a live twin of its own, stands still for 25 s and floods it")

OPTIONS = TwinOptions(pods=2, seed=7, speed=600.0, settings=BUSY, partitions=2, prefix="health", doubled=())
LIVE_S_MAX = 60.0
"""The recovery time that docs/reference/live.md promises."""
STOPPED_S = 25.0
READER, ADMINISTRATOR = "read" * 4, "rule" * 4
FILES = 1_024
FLOOD = 600
"""More connections than half of the file descriptors."""


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory, kafka: LocalKafka) -> Iterator[LiveTwin]:
    with live_twin(tmp_path_factory.mktemp("live"), kafka, OPTIONS) as twin:
        yield twin


def pids(twin: LiveTwin, kind: str) -> dict[str, int]:
    """Return name → pid of the processes that serve a partition."""
    rows = processes(twin.store)
    return {row["name"]: row["pid"] for row in rows if row["kind"] == kind and row["partitions"]}


def health(twin: LiveTwin) -> list[str]:
    """Return the problems that the gateway reports."""
    try:
        answer: Any = twin.get("/healthz")
    except urllib.error.HTTPError as error:
        answer = json.load(error)
    problems: list[str] = answer["problems"]
    return problems


def test_all_workers_are_killed_and_restart_while_kafka_is_paused(twin: LiveTwin) -> None:
    before = pids(twin, "worker")
    for pid in before.values():
        kill(pid)
    twin.wait_for(
        "a worker is back", lambda: any(pid != before.get(n) for n, pid in pids(twin, "worker").items())
    )
    twin.kafka.pause()
    time.sleep(STOPPED_S)
    twin.kafka.resume()
    twin.wait_advance(LIVE_S_MAX)
    twin.post("/v1/cubes/pod-1/cube-3/drain")
    assert twin.audit()["clean"] is True


def test_requests_and_ticks_alternate_although_the_sequencer_is_killed(twin: LiveTwin) -> None:
    """All requests wait at the same time. The clock is far ahead, so a Tick is always due as well."""
    partition = twin.store.fabrics()["pod-0"].partition
    twin.set_speed(1e9)
    numbers = [
        twin.store.put(
            partition, "pod-0", with_key(f"flood-{n}", DrainCube(cube=f"pod-0/cube-{n % 8}"))
        ).number
        for n in range(WAITING_MAX)
    ]
    kill(twin.wait_for("the sequencer has a partition", lambda: pids(twin, "sequencer").get("sequencer")))
    twin.wait_for("nothing waits", lambda: not twin.store.size(partition))
    twin.set_speed(OPTIONS.speed)
    roots = roots_of(twin, partition)
    taken = [n for n, root in enumerate(roots) if root.type == "DrainCube" and root.seq in set(numbers)]
    assert [roots[n].seq for n in taken] == numbers
    assert all(roots[before + 1].type == "Tick" for before in taken[:-1])


def roots_of(twin: LiveTwin, partition: int) -> list[Envelope]:
    """Return the requests and Ticks of a partition in order, each once."""
    own = read_twin(twin.store).twin
    by_id: dict[str, Envelope] = {}
    for batch in read_partition(twin.kafka.brokers, twin.topics.log, partition):
        for message in (open_record(record, own) for record in batch):
            if message is not None and is_root(message):
                by_id.setdefault(message.id, message)
    return [*by_id.values()]


def test_a_second_process_with_the_same_name_is_refused(twin: LiveTwin) -> None:
    holders = pids(twin, "worker")
    done = twin.run("live", "worker", "repairs", "--replica", "repairs-a", *metrics_options())
    assert done.returncode == 2
    assert "--replica repairs-a: another live process has this name" in done.stderr
    assert pids(twin, "worker") == holders


def test_clients_without_a_token_can_neither_use_nor_stop_a_gateway(twin: LiveTwin, tmp_path: Path) -> None:
    with guarded(twin, tmp_path) as send:
        assert twin.wait_for("the gateway answers", lambda: send("GET", "/v1/clock", READER)) == 200
        assert [send("GET", "/v1/clock", token) for token in (None, "0" * 16)] == [401, 401]
        assert [send("POST", "/v1/clock/resume", token) for token in (READER, ADMINISTRATOR)] == [403, 200]
        forged = {"Sec-Fetch-Site": "cross-site"}
        assert send("POST", "/v1/clock/pause", ADMINISTRATOR, forged) == 403
        assert send("POST", "/v1/slices", ADMINISTRATOR, body=b" " * 70_000) == 413
        with contextlib.ExitStack() as silent:
            for _ in range(FLOOD):
                silent.enter_context(socket.create_connection(send.address))
            assert send("GET", "/v1/clock", READER) == 200
            twin.wait_advance()
        assert send.runs()


class HttpClient:
    """Sends requests to a gateway: method, path, token, headers, body → HTTP status."""

    def __init__(self, process: "subprocess.Popen[bytes]", port: int) -> None:
        self.address = ("127.0.0.1", port)
        self._process = process

    def runs(self) -> bool:
        return self._process.poll() is None

    def __call__(
        self,
        method: str,
        path: str,
        token: str | None,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> int:
        link = http.client.HTTPConnection(*self.address, timeout=20)
        bearer = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            link.request(
                method, path, body, {"Content-Type": "application/json"} | bearer | dict(headers or {})
            )
            return link.getresponse().status
        finally:
            link.close()


@contextlib.contextmanager
def guarded(twin: LiveTwin, folder: Path) -> Iterator[HttpClient]:
    """Run a second gateway of a twin, with tokens and with the file descriptor limit of a shell."""
    tokens, port = folder / "tokens", free_port()
    tokens.write_text(f"grafana reader {READER}\nmax administrator {ADMINISTRATOR}\n")
    tokens.chmod(0o600)
    own = {"LIGHTWAVE_TOKENS": str(tokens), "LIGHTWAVE_PORT": str(port), "LIGHTWAVE_DATA": str(folder)}
    words = [
        "prlimit",
        f"--nofile={FILES}:{FILES}",
        *LIGHTWAVE_COMMAND,
        "live",
        "gateway",
        "--replica",
        "guarded",
    ]
    with subprocess.Popen(words, env=os.environ | twin.environment | own) as process:
        try:
            yield HttpClient(process, port)
        finally:
            process.terminate()


def test_settings_and_an_emptied_redis_are_reported_by_the_gateway(twin: LiveTwin) -> None:
    assert twin.store.servers()[0].appends
    twin.store.flush()
    problems = twin.wait_for(
        "the gateway reports it", lambda: [p for p in health(twin) if "no longer has a twin" in p]
    )
    assert "`lightwave live rebuild`" in problems[0]
    twin.json("live", "rebuild")
    twin.clock.resume()
    twin.wait_advance()
    twin.wait_for("no problems are left", lambda: health(twin) == [])
