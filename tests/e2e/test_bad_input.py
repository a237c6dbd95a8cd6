"""Every mistake is answered by one clear sentence with field and value and the right exit code, and loses
nothing."""

import json
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shared.runtimes.embedded.valkey_server import EmbeddedValkey
from shared.runtimes.tcp_ports import free_port
from tests.soak.whole_twin import TwinOptions
from tests.support.fake_twin import lightwave
from tests.support.gateway_twin import QUIET, DrivenTwin
from tests.support.live_twin import live_twin
from tests.support.living import LIGHTWAVE, LivingTwin, cli, living
from tests.support.mistakes import (
    LAB_CASES,
    REFUSED,
    TWIN_CASES,
    UNREACHABLE,
    USAGE,
    Case,
    check,
)
from tests.support.served import served

Program = Callable[..., "subprocess.CompletedProcess[str]"]
LIVE = TwinOptions(pods=1, seed=1, speed=1.0, settings=tuple(QUIET), partitions=1, prefix="bad", doubled=())


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LivingTwin]:
    yield from living(tmp_path_factory.mktemp("bad") / "data", "--speed", "1", "--seed", "1")


@pytest.fixture(
    scope="module",
    params=[
        "driven",
        pytest.param("living", marks=pytest.mark.slow("starts a twin in a process of its own")),
        pytest.param(
            "live", marks=[pytest.mark.slow("starts a live twin of fifteen processes"), pytest.mark.live]
        ),
    ],
)
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the URL of a twin: in this process, in its own process, or with many processes on Kafka and
    Redis."""
    folder = tmp_path_factory.mktemp("twin")
    if request.param == "driven":
        twin = DrivenTwin(folder, QUIET)
        with served(twin) as address:
            yield address
        twin.close()
    elif request.param == "living":
        yield request.getfixturevalue("twin").url
    else:
        with live_twin(folder, request.getfixturevalue("kafka"), LIVE) as live:
            yield live.url


@pytest.mark.parametrize("case", TWIN_CASES, ids=lambda case: case.words)
def test_mistakes_against_a_running_twin(url: str, case: Case) -> None:
    check(lightwave(*case.words.split(), url=url), case)


def test_the_twin_is_healthy_after_all_mistakes(url: str) -> None:
    (row,) = json.loads(lightwave("get", "fabrics", "-o", "json", url=url).stdout)
    assert row["faults_active"] == 0


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(lightwave, id="forked"),
        pytest.param(cli, id="own process", marks=pytest.mark.slow("a Python start and all imports a case")),
    ],
)
@pytest.mark.parametrize("case", LAB_CASES, ids=lambda case: case.words)
def test_mistakes_without_a_twin(program: Program, case: Case, tmp_path: Path) -> None:
    words = case.words.split()
    if words[0] == "up" and "--data" not in words:
        words += ["--data", str(tmp_path / "data")]
    if words[0] == "up" and "--port" not in words:
        words += ["--port", str(free_port())]
    # A twin starts in its own process. Other commands are forked from one that has imported everything.
    check((cli if words[0] == "up" else program)(*words), case)


TRACES: dict[str, tuple[str | bytes, str]] = {
    "no header": ("1,2,3\n", "line 1"),
    "missing column": ("submit_s,chips\n1,2\n", "duration_s"),
    "unknown column": ("submit_s,duration_s,chips,colour\n1,2,3,red\n", "colour"),
    "no number": ("submit_s,duration_s,chips\n0,60,4\nx,60,4\n", "line 3: submit_s 'x'"),
    "negative": ("submit_s,duration_s,chips\n-1,60,4\n", "line 2: submit_s '-1'"),
    "no duration": ("submit_s,duration_s,chips\n0,0,4\n", "line 2: duration_s"),
    "no chips": ("submit_s,duration_s,chips\n0,60,0\n", "line 2: chips '0'"),
    "too many chips": ("submit_s,duration_s,chips\n0,60,999999\n", "line 2"),
    "bad shape": ("submit_s,duration_s,chips,shape\n0,60,64,5x5x5\n", "line 2"),
    "shape too small": ("submit_s,duration_s,chips,shape\n0,60,128,4x4x4\n", "line 2"),
    "bad twist": ("submit_s,duration_s,chips,shape,twisted\n0,60,64,4x4x4,true\n", "line 2"),
    "bad flag": ("submit_s,duration_s,chips,twisted\n0,60,64,perhaps\n", "line 2: twisted 'perhaps'"),
    "cells missing": ("submit_s,duration_s,chips\n0,60\n", "line 2"),
    "cells too many": ("submit_s,duration_s,chips\n0,60,4,5\n", "line 2"),
    "not text": (b"\xff\xfe\x00\x01", "UTF-8"),
}


@pytest.mark.parametrize("name", TRACES)
def test_a_bad_trace_names_file_and_line(name: str, tmp_path: Path) -> None:
    content, sentence = TRACES[name]
    path = tmp_path / "trace.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    done = lightwave("lab", "run", "--days", "1", "--trace", str(path))
    check(done, Case(name, USAGE, sentence))


def test_no_twin_a_bad_url_and_another_server_at_the_url() -> None:
    free_url = f"http://127.0.0.1:{free_port()}"
    check(cli("get", "ocs", url=free_url), Case("no twin", UNREACHABLE, free_url))
    check(cli("request", "4x4x4", url=free_url), Case("no twin", UNREACHABLE, free_url))
    check(cli("get", "ocs", url="ftp://127.0.0.1"), Case("ftp", USAGE, "LIGHTWAVE_URL"))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"

        def hang_up() -> None:
            connection, _ = silent.accept()
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\nhi!!")
            connection.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        check(cli("get", "ocs", url=url), Case("html", UNREACHABLE, url))
        thread.join()


def test_a_port_in_use_a_folder_in_use_and_a_missing_redis(tmp_path: Path, twin: LivingTwin) -> None:
    port_taken = cli("up", "--port", str(twin.port), "--data", str(tmp_path / "a"))
    check(port_taken, Case("port", REFUSED, f"port {twin.port}"))
    folder_taken = cli("up", "--port", str(free_port()), "--data", str(twin.data))
    check(folder_taken, Case("folder", REFUSED, "in use by another lightwave process"))
    url = f"redis://127.0.0.1:{free_port()}/0"
    missing = cli("up", "--port", str(free_port()), "--redis", url, "--data", str(tmp_path / "b"))
    check(missing, Case("redis", REFUSED, url))


def test_pods_or_a_seed_that_differ_from_the_folder(tmp_path: Path) -> None:
    data = tmp_path / "data"
    for twin in living(data, "--seed", "3", "--set", "pod.cubes=4"):
        assert twin.get("/healthz")["healthy"] is True
    check(
        cli("up", "--port", str(free_port()), "--data", str(data), "--seed", "4"),
        Case("seed", USAGE, "--seed 4"),
    )
    check(
        cli("up", "--port", str(free_port()), "--data", str(data), "--pods", "2"),
        Case("pods", USAGE, "--pods 2"),
    )


@pytest.mark.slow("fills a file, then audits twice")
def test_a_full_disk_stops_the_twin_with_a_sentence_and_loses_nothing(tmp_path: Path) -> None:
    """A limit on the size of the twin's files simulates a full disk. Redis has its own limit."""
    data = tmp_path / "data"
    server = EmbeddedValkey(tmp_path / "redis")
    server.ensure()
    try:
        quiet = ("--set", "pod.cubes=8", "--set", "transceivers.telemetry_interval_s=0")
        up = ("up", "--port", str(free_port()), "--data", str(data), "--redis", server.url, "--speed", "1e6")
        full = subprocess.run(
            ["/bin/bash", "-c", 'ulimit -f 400; exec "$@"', "-", LIGHTWAVE, *up, *quiet],
            capture_output=True,
            text=True,
            timeout=120,
            stdin=subprocess.DEVNULL,
        )
        assert full.returncode == REFUSED, full.stderr
        assert "Traceback" not in full.stderr
        last = full.stderr.strip().splitlines()[-1]
        assert last.startswith("lightwave: log file")
        assert "File too large" in last
        audit = cli("audit", "--data", str(data), "--redis", server.url, "-o", "json")
        assert json.loads(audit.stdout)["clean"] is True
        resumed = LivingTwin(data, ("--redis", server.url, "--speed", "1000"))
        resumed.start()
        assert resumed.stop() == 0
        audit = cli("audit", "--data", str(data), "--redis", server.url, "-o", "json")
        assert json.loads(audit.stdout)["clean"] is True
    finally:
        server.stop()
