"""What every live process has beside its work: a beat in Redis, /healthz and /metrics, and a guard that ends
it. Two threads of their own, so that neither waits for the work."""

import json
import logging
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from shared.errors import LightwaveError, OperationFailed
from shared.live.presence import RESTARTS, About, Presence
from shared.state.redis_store import RedisStore

BEAT_S = 1.0
AGAIN = 75
"""Exit code of a process that its guard ended: start it again."""

log = logging.getLogger("lightwave.live")


@dataclass(frozen=True, slots=True)
class Sample:
    """One value for Prometheus; a name that ends in `_total` is a counter."""

    name: str
    value: float
    text: str
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """How a process stands. `problems` is empty while it is well."""

    partitions: tuple[int, ...] = ()
    problems: tuple[str, ...] = ()
    samples: tuple[Sample, ...] = ()
    extra: Mapping[str, Any] | None = None


class Beat:
    """A thread that notes every second that this process is there, and asks its guard. `report` says how the
    process stands; `guard` gives the sentence with which it must end, or None."""

    def __init__(
        self,
        about: About,
        store: RedisStore,
        report: Callable[[], Report],
        guard: Callable[[], str | None],
        *,
        address: str | None,
    ) -> None:
        self.unreached: str | None = None
        """Why the last beat did not reach Redis, or None."""
        self._presence = Presence(about, store)
        self._report = report
        self._guard = guard
        self._address = address
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="beat", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Leave in good order."""
        self._ended.set()
        self._thread.join(timeout=2 * BEAT_S)
        try:
            self._presence.leave()
        except LightwaveError:
            return

    def _run(self) -> None:
        while True:
            try:
                report = self._report()
                self._presence.beat(
                    partitions=list(report.partitions),
                    problems=list(report.problems),
                    address=self._address,
                    extra=report.extra or {},
                )
                self.unreached = None
            except LightwaveError as error:
                self.unreached = str(error)
            sentence = self._guard()
            if self._ended.wait(BEAT_S):
                return
            if sentence is not None:
                log.error("%s", sentence)
                os._exit(AGAIN)


class ProcessFrame:
    """The beat, with /healthz and /metrics of a process that serves nothing else."""

    def __init__(
        self,
        about: About,
        store: RedisStore,
        report: Callable[[], Report],
        guard: Callable[[], str | None],
        *,
        host: str,
        port: int,
    ) -> None:
        self.about = about
        self._report = report
        try:
            self._server = ThreadingHTTPServer((host, port), _handler(self))
        except OSError as error:
            raise OperationFailed(
                f"--metrics-port {port} on {host}: {error.strerror}; choose another, or 0 for any"
            ) from None
        self._server.daemon_threads = True
        self.address = f"http://{host}:{self._server.server_address[1]}"
        self._beat = Beat(about, store, report, guard, address=self.address)

    def start(self) -> None:
        threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True).start()
        self._beat.start()

    def stop(self) -> None:
        """Leave in good order."""
        self._server.shutdown()
        self._server.server_close()
        self._beat.stop()

    def problems(self) -> list[str]:
        unreached = self._beat.unreached
        return [*self._report().problems, *([unreached] if unreached else [])]

    def metrics(self) -> bytes:
        """All samples in Prometheus's text form."""
        registry = CollectorRegistry()
        ProcessCollector(namespace="lightwave", registry=registry)
        registry.register(_Samples(self.about, self._report().samples))
        return generate_latest(registry)


class _Samples(Collector):
    def __init__(self, about: About, samples: tuple[Sample, ...]) -> None:
        self._about = about
        self._samples = samples

    def collect(self) -> Any:
        restarts = Sample("restarts_total", float(os.environ.get(RESTARTS, "0")), "starts after the first")
        families: dict[str, Any] = {}
        for sample in (*self._samples, restarts):
            own = [("service", self._about.service)] if self._about.service else []
            labels = [*own, *sample.labels]
            if sample.name not in families:
                kind = CounterMetricFamily if sample.name.endswith("_total") else GaugeMetricFamily
                name = f"lightwave_{self._about.kind}_{sample.name}"
                families[sample.name] = kind(name, sample.text, labels=[label for label, _ in labels])
            families[sample.name].add_metric([str(value) for _, value in labels], sample.value)
        yield from families.values()


def _handler(frame: ProcessFrame) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/metrics":
                self._answer(200, frame.metrics(), "text/plain; version=0.0.4; charset=utf-8")
            elif self.path == "/healthz":
                problems = frame.problems()
                body = json.dumps({"healthy": not problems, "problems": problems}).encode()
                self._answer(503 if problems else 200, body, "application/json")
            else:
                self._answer(404, b'{"error": "allowed are /healthz and /metrics"}', "application/json")

        def _answer(self, status: int, body: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- http.server's own name
            """Say nothing of every scrape."""

    return Handler
