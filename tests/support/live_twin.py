"""A whole live twin for tests: its own topics on the session's Kafka, and its own Redis."""

import contextlib
import http.client
import json
import time
import urllib.error
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kafka import KafkaProducer

from ops.live.rebuild import states_digest
from ops.live.settings import LiveSettings
from ops.live.status import live_status
from ops.servers.local_servers import LocalKafka, LocalRedis
from schemas.registry import decode
from shared.basics.errors import LightwaveError
from shared.runtimes.live.kafka.partition_reader import read_partition
from shared.runtimes.live.live_clock import CLOCK_NOTE, PENDING_PREFIX, LiveClock
from shared.runtimes.tcp_ports import free_port
from tests.soak.clients import http_post
from tests.soak.final_state import is_quiet
from tests.soak.log_facts import read_log
from tests.soak.whole_twin import TwinOptions, WholeTwin

WAIT_S_MAX = 90.0
TICKS = 3
BUSY = ("pod.cubes=8", "failures.host_per_day=0.2")


class LiveTwin(WholeTwin):
    """A twin with the queries, requests and waits that tests need."""

    def wait_for(self, what: str, condition: Callable[[], Any], seconds: float = WAIT_S_MAX) -> Any:
        """Return the first true value of the condition. Connection errors while it is evaluated are
        ignored."""
        until_s = time.monotonic() + seconds
        while time.monotonic() < until_s:
            with contextlib.suppress(LightwaveError, OSError, ValueError, http.client.HTTPException):
                if value := condition():
                    return value
            time.sleep(0.05)
        raise AssertionError(f"not within {seconds:.0f} s: {what}; {self.words()}")

    def wait_advance(self, seconds: float = WAIT_S_MAX) -> float:
        """Wait until the time of every fabric has advanced; return the seconds that this took."""
        began_s = time.monotonic()
        before = self.wait_for("Redis answers", self.ticks, seconds)
        self.wait_for(
            "time advances everywhere",
            lambda: all(n >= before.get(fabric, 0) + TICKS for fabric, n in self.ticks().items()),
            seconds,
        )
        return time.monotonic() - began_s

    def stands_still(self, seconds: float) -> bool:
        """Whether simulated time stands still for `seconds`, once pending messages have arrived."""
        time.sleep(1.0)
        before = self.ticks()
        time.sleep(seconds)
        return self.ticks() == before

    def post(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a request until it is accepted or refused. Retry under the same key while the twin is
        unavailable."""
        key = str(uuid.uuid4())

        def accepted() -> dict[str, Any] | None:
            try:
                answer = http_post(self.url)(path, body or {}, key)
            except urllib.error.HTTPError as error:
                if error.code != 503:
                    raise AssertionError(error.read().decode()) from None
                return None
            return answer if answer["status"] in ("accepted", "refused") else None

        answer: dict[str, Any] = self.wait_for(f"{path} is accepted", accepted)
        return answer

    @property
    def clock(self) -> LiveClock:
        return LiveClock(self.store, self.options.services_of, lambda: 0.0)

    def set_speed(self, speed: float) -> None:
        self.clock.set_speed(speed)

    def status(self) -> dict[str, Any]:
        """Return what `lightwave live status` shows, without starting the command."""
        return live_status(LiveSettings(redis=self.redis.url))

    def process_log(self, name: str) -> str:
        """Return a process's log."""
        return (self.folder / f"{name}.log").read_text(errors="replace")

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Pause simulated time for the duration of the block. At its start, the operations log has the pause
        and all services have read everything."""
        self.clock.pause()
        self.wait_for(
            "the pause is on the operations log",
            lambda: not any(name.startswith(PENDING_PREFIX) for name in self.store.read_globals(CLOCK_NOTE)),
        )
        self.wait_for("all services have read everything", lambda: is_quiet(self))
        try:
            yield
        finally:
            self.clock.resume()

    def audit(self) -> dict[str, Any]:
        """Return an audit report of the twin at the current time."""
        with self.paused():
            report: dict[str, Any] = self.json("audit", "--live")
        return report

    def digest(self) -> str:
        """Return the digest of all states."""
        return states_digest(self.store, self.store.fabrics())

    def dead_letters(self) -> list[dict[str, Any]]:
        """Return {origin, error, service, line} of each dead letter, oldest first. Records of other writers
        are left out."""
        lines = read_log(self.kafka.brokers, self.topics.dead_letters)
        return [json.loads(line.value) for line in lines if line.value.startswith(b'{"origin":')]

    def log_lines(self, partition: int) -> list[bytes]:
        """Return the messages of a partition of the log, in order. A writer may have repeated some; each is
        returned once."""
        batches = read_partition(self.kafka.brokers, self.topics.log, partition)
        records = [record.value for batch in batches for record in batch if not record.is_void]
        return [*{decode(line).id: line for line in records}.values()]

    def write(self, partition: int, rows: list[tuple[bytes, dict[str, bytes]]]) -> list[int]:
        """Write foreign records to the log; return their offsets."""
        producer = KafkaProducer(**self.kafka.brokers.arguments(), acks="all")
        try:
            sent = [
                producer.send(
                    self.topics.log, value=value, headers=list(headers.items()), partition=partition
                )
                for value, headers in rows
            ]
            return [future.get(timeout=20).offset for future in sent]
        finally:
            producer.close()


@contextmanager
def live_twin(
    folder: Path, kafka: LocalKafka, options: TwinOptions, kind: type[LiveTwin] = LiveTwin
) -> Iterator[LiveTwin]:
    """Run a twin for the duration of the block. Its processes are stopped in any case."""
    redis = LocalRedis(folder / "redis", port=free_port())
    twin = kind(folder / "twin", kafka, redis, options)
    try:
        twin.start()
        yield twin
    finally:
        twin.stop()
        redis.stop()
