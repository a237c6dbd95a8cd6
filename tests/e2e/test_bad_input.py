"""Every mistake gets one clear sentence with field and value, the right exit code, and loses nothing."""

import json
import socket
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from shared.runtimes.embedded.valkey_server import EmbeddedValkey
from tests.support.fake_twin import lightwave
from tests.support.living import LIGHTWAVE, LivingTwin, cli, free_port, living

REFUSED, USAGE, NOT_FOUND, UNREACHABLE = 1, 2, 3, 4


@dataclass(frozen=True)
class Case:
    words: str
    code: int
    sentence: str
    """A part of the sentence on stderr."""


def check(done: subprocess.CompletedProcess[str], case: Case) -> None:
    told = done.stderr.strip()
    assert done.returncode == case.code, (case.words, done.stdout, told)
    assert "Traceback" not in told
    assert told.startswith("lightwave: "), told
    assert len(told.splitlines()) == 1, told
    assert case.sentence in told, told
    assert done.stdout == ""


TWIN_CASES = [
    Case("get cube pod-0/cube-64", NOT_FOUND, "pod-0/cube-64"),
    Case("get cubes pod-7/cube-1", NOT_FOUND, "pod-7"),
    Case("get ocs pod-0/ocs-48", NOT_FOUND, "pod-0/ocs-48"),
    Case("get ocs ocs-64", NOT_FOUND, "ocs-64"),
    Case("get hosts pod-0/cube-1/host-16", NOT_FOUND, "host-16"),
    Case("get links pod-0/cube-1/+w/3", NOT_FOUND, "+w"),
    Case("get slices pod-0/slice-999999", NOT_FOUND, "slice-999999"),
    Case("get faults nonsense", NOT_FOUND, "nonsense"),
    Case("get repairs pod-0/repair-x", NOT_FOUND, "repair-x"),
    Case("get fabrics pod-1", NOT_FOUND, "pod-1"),
    Case("get dragons", USAGE, "dragons"),
    Case("get cubse", USAGE, "cubes"),
    Case("get ocs -o xml", USAGE, "xml"),
    Case("get", USAGE, "KIND"),
    Case("describe ocs pod-0/ocs-99", NOT_FOUND, "pod-0/ocs-99"),
    Case("describe ocs", USAGE, "NAME"),
    Case("describe teapot pod-0", USAGE, "teapot"),
    Case("trace pod-0/cube-12/+y/16", NOT_FOUND, "+y/16"),
    Case("trace pod-0/cube-99/+y/1", NOT_FOUND, "cube-99"),
    Case("trace pod-0/ocs-1", NOT_FOUND, "pod-0/ocs-1"),
    Case("trace", USAGE, "NAME"),
    Case("events --since yesterday", USAGE, "yesterday"),
    Case("events --since -2h", USAGE, "-2h"),
    Case("events --type Nonsense", USAGE, "Nonsense"),
    Case("events --cause nobody@pod-0/1", NOT_FOUND, "nobody@pod-0/1"),
    Case("why scheduler@pod-0/99999999", NOT_FOUND, "scheduler@pod-0/99999999"),
    Case("why nonsense", NOT_FOUND, "nonsense"),
    Case("inject ocs pod-0/ocs-48", NOT_FOUND, "48"),
    Case("inject ocs pod-0/cube-1", USAGE, "pod-0/cube-1"),
    Case("inject host pod-0/cube-3", USAGE, "pod-0/cube-3"),
    Case("inject meteor pod-0/cube-3", USAGE, "meteor"),
    Case("inject ocs pod-9/ocs-1", NOT_FOUND, "pod-9"),
    Case("inject ocs pod-0/ocs-1 --for 2x", USAGE, "2x"),
    Case("inject ocs pod-0/ocs-1 --for 0s", USAGE, "0s"),
    Case("inject ocs pod-0/ocs-1 --for 9999999d", USAGE, "9999999d"),
    Case("inject link pod-0/cube-1/+x/16", NOT_FOUND, "16"),
    Case("inject ocs", USAGE, "TARGET"),
    Case("clear pod-0/fault-777", NOT_FOUND, "fault-777"),
    Case("clear fault-7", NOT_FOUND, "fault-7"),
    Case("clear pod-0/cube-7", USAGE, "pod-0/cube-7"),
    Case("request 5x4x4", USAGE, "5x4x4"),
    Case("request 8x4x4", USAGE, "8x4x4"),
    Case("request 16x16x20", USAGE, "16x16x20"),
    Case("request 4x4", USAGE, "4x4"),
    Case("request potato", USAGE, "potato"),
    Case("request 4x4x4 --twisted", USAGE, "4x4x4"),
    Case("request 4x4x8 --for soon", USAGE, "soon"),
    Case("request 4x4x8 --priority high", USAGE, "high"),
    Case("request 4x4x8 --priority 1000", USAGE, "1000"),
    Case("request 4x4x8 --fabric pod-5", NOT_FOUND, "pod-5"),
    Case("release pod-0/slice-424242", NOT_FOUND, "slice-424242"),
    Case("release slice-99999", NOT_FOUND, "slice-99999"),
    Case("drain pod-0/cube-64", NOT_FOUND, "64"),
    Case("drain pod-0/ocs-1", USAGE, "pod-0/ocs-1"),
    Case("undrain pod-0/cube-9", REFUSED, "cube-9"),
    Case("clock speed fast", USAGE, "fast"),
    Case("clock speed 0", USAGE, "0"),
    Case("clock speed -5", USAGE, "-5"),
    Case("frobnicate", USAGE, "frobnicate"),
]


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LivingTwin]:
    yield from living(tmp_path_factory.mktemp("bad") / "data", "--speed", "1", "--seed", "1")


@pytest.mark.parametrize("case", TWIN_CASES, ids=lambda case: case.words)
def test_against_a_living_twin(twin: LivingTwin, case: Case) -> None:
    check(lightwave(*case.words.split(), url=twin.url), case)


def test_after_all_that_the_twin_is_well(twin: LivingTwin) -> None:
    assert twin.get("/healthz")["healthy"] is True
    assert twin.json("get", "fabrics")[0]["faults_active"] == 0


LAB_CASES = [
    Case("lab run --days 0", USAGE, "--days"),
    Case("lab run --days forever", USAGE, "forever"),
    Case("lab run --days nan", USAGE, "--days"),
    Case("lab run --days 1e9", USAGE, "--days"),
    Case("lab run --pods 0", USAGE, "--pods"),
    Case("lab run --pods 1.5", USAGE, "1.5"),
    Case("lab run --seed -1", USAGE, "--seed"),
    Case("lab run --seed x", USAGE, "x"),
    Case("lab run --jobs 0", USAGE, "--jobs"),
    Case("lab run --days 1 --set pod.cubes=3", USAGE, "pod.cubes"),
    Case("lab run --days 1 --set pod.cubes=145", USAGE, "144"),
    Case("lab run --days 1 --set pod.cubse=8", USAGE, "pod.cubes"),
    Case("lab run --days 1 --set workload.offered_load=lots", USAGE, "lots"),
    Case("lab run --days 1 --set workload.offered_load=-1", USAGE, "workload.offered_load"),
    Case("lab run --days 1 --set failures.enabled=maybe", USAGE, "maybe"),
    Case("lab run --days 1 --set transceivers.lane_rate=100G", USAGE, "the nearest is 100G-PAM4"),
    Case("lab run --days 1 --set transceivers.degraded_above_ber=1e-3", USAGE, "at most down_above_ber"),
    Case("lab run --days 1 --set nonsense", USAGE, "KEY=VALUE"),
    Case("lab run --days 1 --trace /no/such/trace.csv", NOT_FOUND, "/no/such/trace.csv"),
    Case("lab run --days 1 --log /no/such/folder/log.zst", REFUSED, "/no/such/folder/log.zst"),
    Case("lab run --days 30 --set pod.cubes=8 --log /dev/full", REFUSED, "No space left on device"),
    Case("lab replay /no/such/log.zst", NOT_FOUND, "/no/such/log.zst"),
    Case("lab replay", USAGE, "FILE"),
    Case("audit --data /no/such/data", NOT_FOUND, "/no/such/data"),
    Case("bench --only nonsense", USAGE, "nonsense"),
    Case("schema export /dev/null", REFUSED, "/dev/null"),
    Case("up --speed 0", USAGE, "speed"),
    Case("up --pods 0", USAGE, "--pods"),
    Case("up --port 70000", USAGE, "70000"),
    Case("up --host 192.0.2.1", USAGE, "192.0.2.1"),
    Case("up --data /dev/null/x", REFUSED, "/dev/null/x"),
    Case("up --redis nonsense", USAGE, "nonsense"),
]


@pytest.mark.parametrize("case", LAB_CASES, ids=lambda case: case.words)
def test_without_a_twin(case: Case, tmp_path: Path) -> None:
    words = case.words.split()
    if words[0] == "up" and "--data" not in words:
        words += ["--data", str(tmp_path / "data")]
    if words[0] == "up" and "--port" not in words:
        words += ["--port", str(free_port())]
    # Who begins a twin has a program of its own; the rest is forked from one that has imported all.
    check((cli if words[0] == "up" else lightwave)(*words), case)


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


def test_no_twin_a_bad_url_and_something_else_at_the_url() -> None:
    nobody = f"http://127.0.0.1:{free_port()}"
    check(cli("get", "ocs", url=nobody), Case("nobody", UNREACHABLE, nobody))
    check(cli("request", "4x4x4", url=nobody), Case("nobody", UNREACHABLE, nobody))
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
    taken = cli("up", "--port", str(twin.port), "--data", str(tmp_path / "a"))
    check(taken, Case("port", REFUSED, f"port {twin.port}"))
    held = cli("up", "--port", str(free_port()), "--data", str(twin.data))
    check(held, Case("folder", REFUSED, "in use by another lightwave process"))
    url = f"redis://127.0.0.1:{free_port()}/0"
    missing = cli("up", "--port", str(free_port()), "--redis", url, "--data", str(tmp_path / "b"))
    check(missing, Case("redis", REFUSED, url))


def test_other_pods_or_seed_than_the_folder_has(tmp_path: Path) -> None:
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


def test_a_full_disk_stops_the_twin_with_a_sentence_and_loses_nothing(tmp_path: Path) -> None:
    """A limit on the size of the twin's files stands for a disk without room; Redis has its own."""
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
