"""Every mistake with a live twin is answered by one clear sentence and the right exit code, and changes
nothing."""

import os
import subprocess
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from kafka.admin import KafkaAdminClient

from ops.servers.local_servers import LocalKafka, LocalRedis
from shared.runtimes.live.kafka.layout import Topics
from shared.runtimes.tcp_ports import free_port
from tests.soak.whole_twin import LIGHTWAVE_COMMAND

pytestmark = pytest.mark.slow("starts some forty processes that wait for servers that do not answer")

REFUSED, USAGE, NOT_FOUND = 1, 2, 3
PREFIX = "mistakes"


def run(words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("LIGHTWAVE_")}
    return subprocess.run(
        [*LIGHTWAVE_COMMAND, *words.split()],
        env=clean | {f"LIGHTWAVE_{name}": value for name, value in environment.items()},
        text=True,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
    )


def check(done: subprocess.CompletedProcess[str], code: int, *parts: str) -> None:
    output = done.stderr.strip()
    assert done.returncode == code, (done.stdout, output)
    assert "Traceback" not in output
    assert output.startswith("lightwave: "), output
    assert len(output.splitlines()) == 1, output
    for part in parts:
        assert part in output, output
    assert done.stdout == ""


@pytest.fixture(scope="module")
def endpoints(
    kafka: LocalKafka, live_redis: LocalRedis, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """Return the settings of a twin that was created and has no running processes."""
    settings = {
        "KAFKA": kafka.bootstrap,
        "REDIS": live_redis.url.replace("/0", "/7"),
        "PREFIX": PREFIX,
        "DATA": str(tmp_path_factory.mktemp("data")),
    }
    created = run("live init --pods 2 --partitions 2", **settings)
    assert created.returncode == 0, created.stderr
    return settings


PROCESSES = ("live worker ocs", "live sequencer", "live gateway --port 0")


def check_all(commands: Iterable[str], code: int, *parts: str, **environment: str) -> None:
    """Check all cases concurrently, because most of them only wait for an answer."""
    with ThreadPoolExecutor(8) as pool:
        for done in pool.map(lambda words: run(words, **environment), commands):
            check(done, code, *parts)


def test_no_redis(endpoints: dict[str, str]) -> None:
    url = f"redis://127.0.0.1:{free_port()}/0"
    commands = (*PROCESSES, "live status", "live rebuild", "live skip pod-0", "live init", "audit --live")
    check_all(commands, REFUSED, "Redis at", url, "does not answer", **endpoints | {"REDIS": url})


def test_no_kafka(endpoints: dict[str, str]) -> None:
    server = f"127.0.0.1:{free_port()}"
    commands = (*PROCESSES, "live rebuild", "audit --live")
    check_all(commands, REFUSED, "Kafka at", server, **endpoints | {"KAFKA": server})
    empty = {"REDIS": endpoints["REDIS"].replace("/7", "/8")}
    check_all(["live init"], REFUSED, "Kafka at", server, **endpoints | {"KAFKA": server} | empty)


def test_missing_topics(endpoints: dict[str, str]) -> None:
    nowhere = endpoints | {"PREFIX": "nowhere"}
    check_all(PROCESSES, REFUSED, "topic nowhere.log", "LIGHTWAVE_PREFIX", **nowhere)


def test_a_redis_without_a_twin(endpoints: dict[str, str]) -> None:
    empty = endpoints | {"REDIS": endpoints["REDIS"].replace("/7", "/9")}
    commands = (*PROCESSES, "live status", "live skip pod-0", "audit --live")
    check_all(commands, REFUSED, "has no live twin", "`lightwave live init`", **empty)


def test_a_second_twin_on_the_same_topics(endpoints: dict[str, str]) -> None:
    check(run("live init", **endpoints), REFUSED, "already holds a live twin")
    other = endpoints["REDIS"].replace("/7", "/9")
    check(
        run("live init --pods 3 --partitions 2", **endpoints | {"REDIS": other}),
        USAGE,
        "--pods 3: the twin has 2 sites: pod-0, pod-1",
        "LIGHTWAVE_PREFIX",
    )


def test_wrong_partition_count(endpoints: dict[str, str]) -> None:
    other = endpoints["REDIS"].replace("/7", "/9")
    check(
        run("live init --partitions 3", **endpoints | {"REDIS": other}),
        USAGE,
        "--partitions 3",
        "the twin was planned with 2",
    )


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ("live worker dcn", ("dcn", "ocs")),
        ("live worker", ("SERVICE",)),
        ("live init --pods 0", ("--pods",)),
        ("live init --partitions 0", ("--partitions",)),
        ("live init --set pod.cubes=3", ("pod.cubes",)),
        ("live init --speed -1", ("-1",)),
        ("live worker ocs --metrics-port 70000", ("70000",)),
        ("live frobnicate", ("frobnicate",)),
    ],
)
def test_wrong_use(words: str, parts: tuple[str, ...]) -> None:
    check(run(words), USAGE, *parts)


def test_settings_that_are_not_allowed(endpoints: dict[str, str], tmp_path: Path) -> None:
    check(run("live status", **endpoints | {"REDIS": "http://x"}), USAGE, "http://x", "redis://")
    check(run("live status", **endpoints | {"PORT": "99999"}), USAGE, "LIGHTWAVE_PORT", "99999")
    check(run("live status", **endpoints | {"PREFIX": "a b"}), USAGE, "LIGHTWAVE_PREFIX", "a b")
    missing = tmp_path / "none.toml"
    check(run(f"live status --config {missing}", **endpoints), USAGE, str(missing))
    wrong = tmp_path / "wrong.toml"
    wrong.write_text("kafkas = 1\n")
    check(
        run(f"live status --config {wrong}", **endpoints), USAGE, "kafkas", "no such setting; must be one of"
    )


def test_nothing_to_skip(endpoints: dict[str, str]) -> None:
    check(run("live skip pod-0", **endpoints), NOT_FOUND, "no service has stopped")
    check(run("live skip pod-9", **endpoints), NOT_FOUND, "pod-9", "pod-0, pod-1")


def test_partitions_added_to_the_topic_are_refused(endpoints: dict[str, str], kafka: LocalKafka) -> None:
    """This test is the last, because a fabric would move to another partition than its log's."""
    admin = KafkaAdminClient(bootstrap_servers=kafka.bootstrap)
    try:
        admin.create_partitions({Topics(PREFIX).log: 3})
    finally:
        admin.close()
    parts = (f"topic {PREFIX}.log", "has 3 partitions", "must be 2 as at the creation of this twin")
    check_all(PROCESSES, REFUSED, *parts, **endpoints)
