"""A live process without free file descriptors: it reports that in one sentence, and continues."""

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaConsumer
from kafka.errors import KafkaError
from prometheus_client import CollectorRegistry

from schemas.files.operations_log import RebuildBegun
from shared.basics.errors import OutOfFileDescriptors
from shared.runtimes.live.kafka import log_mirror as mirrors
from shared.runtimes.live.kafka.brokers import Brokers
from shared.runtimes.live.kafka.clients import make_client
from shared.runtimes.live.kafka.kafka_errors import LogUnreachable
from shared.runtimes.live.kafka.layout import Endpoints, Topics
from shared.runtimes.live.kafka.log_mirror import LogMirror
from shared.runtimes.live.kafka.operations_topic import KafkaOperations
from shared.runtimes.live.kafka.partition_reader import read_partition
from shared.runtimes.live.process import health
from shared.runtimes.live.twin_record import TwinRecord
from shared.runtimes.operations_log import new_operation
from tests.support.descriptors import no_descriptor_left

pytestmark = pytest.mark.integration

LACK = "this process has no file descriptor left (its limit is {}); raise the limit (`ulimit -n`, "
WAIT_S_MAX = 20.0


@pytest.fixture
def deaf() -> Iterator[Brokers]:
    """A broker that takes connections, and answers nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield Brokers(f"127.0.0.1:{server.getsockname()[1]}")


def until(condition: Callable[[], bool]) -> None:
    until_s = time.monotonic() + WAIT_S_MAX
    while not condition():
        assert time.monotonic() < until_s
        time.sleep(0.005)


def test_every_kafka_client_reports_missing_file_descriptors(deaf: Brokers) -> None:
    operations = KafkaOperations(Endpoints(deaf, "redis://unused", Topics("t")))
    rebuilt = new_operation(RebuildBegun(software="any"), "me", 1)
    asks: tuple[Callable[[], Any], ...] = (
        lambda: operations.append(rebuilt),
        operations.read,
        lambda: next(read_partition(deaf, "t.log", 0)),
    )
    for ask in asks:
        with no_descriptor_left() as most, pytest.raises(LogUnreachable) as refused:
            ask()
        assert str(refused.value).startswith(f"Kafka at {deaf}: {LACK.format(most)}")


NOWHERE = """
import asyncio, sys, uvloop
from shared.runtimes.live.kafka.brokers import Brokers
from shared.runtimes.live.kafka.kafka_errors import kafka_unreachable
from tests.support.descriptors import no_descriptor_left
if sys.argv[1] == "uvloop":
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
error = ConnectionError("Unable to bootstrap from any")
with no_descriptor_left() as most:
    print(kafka_unreachable(Brokers("127.0.0.1:9"), error), file=sys.stderr)
"""


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_a_failed_connection_is_not_diagnosed_with_another_client(loop: str) -> None:
    """Its module is loaded already; asyncio would write tracebacks, and uvloop end the process."""
    done = subprocess.run([sys.executable, "-c", NOWHERE, loop], capture_output=True, text=True, timeout=60)
    (line,) = done.stderr.splitlines()
    assert line.startswith("Kafka at 127.0.0.1:9: this process has no file descriptor left (its limit is ")
    assert done.returncode == 0


def test_a_consumer_that_does_not_reach_kafka_leaves_nothing_behind(deaf: Brokers) -> None:
    """A gateway without Kafka retries again and again."""
    before = threading.active_count()
    for _ in range(3):
        with pytest.raises(KafkaError):
            make_client(KafkaConsumer, deaf, bootstrap_timeout_ms=50)
    assert threading.active_count() == before


def test_the_copy_of_a_log_shows_it_once_and_continues(
    deaf: Brokers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(mirrors, "RETRY_S", 0.01)
    tries: list[int] = []

    class Fails(LogMirror):
        def _consumer(self) -> KafkaConsumer:
            tries.append(len(tries))
            return super()._consumer()

    mirror = Fails(tmp_path, Endpoints(deaf, "redis://unused", Topics("t")), TwinRecord("twin-a", 1, "topic"))
    with no_descriptor_left() as most:
        mirror.start()
        until(lambda: len(tries) > 5)
        mirror._stop.set()
        mirror._thread.join()
    problem = f"Kafka at {deaf}: {LACK.format(most)}"
    assert (mirror.problem or "").startswith(problem)
    assert [record.getMessage() for record in caplog.records] == [mirror.problem]
    with (
        no_descriptor_left(),
        pytest.raises(OutOfFileDescriptors, match=r"^file .*offsets\.json: this process has no"),
    ):
        mirror._save()
    mirror.stop()


def test_probes_that_cannot_be_answered_are_not_tried_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    with health._Server(("127.0.0.1", 0), CollectorRegistry(), {}) as server:
        port = server.socket.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)), monkeypatch.context() as patched:
            patched.setattr(time, "sleep", slept.append)
            with no_descriptor_left(), pytest.raises(OSError, match="Too many open files"):
                server.get_request()
            assert slept == [health.ACCEPT_RETRY_S]
            server.get_request()[0].close()
        assert slept == [health.ACCEPT_RETRY_S]
