"""Heartbeat, guard, /healthz and /metrics of every live process.

Each has its own thread, so that none waits for the work or for another: a hanging Kafka delays only the
guard.
"""

import json
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from http.server import ThreadingHTTPServer
from typing import Any

from prometheus_client import CollectorRegistry, MetricsHandler, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from shared.basics.errors import InvalidInput, LightwaveError, OperationFailed
from shared.runtimes.live.process.process_registry import (
    ProcessExtra,
    ProcessInfo,
    ProcessRow,
    duplicate_name_text,
    restarts,
)
from shared.storage.store.redis_store import RedisStore

BEAT_S = 1.0
EXIT_RESTART = 75
"""Exit code of a process that its guard stopped; restart it."""
ACCEPT_RETRY_S = 0.5
CLIENT_S_MAX = 10.0
"""How long a metrics client may take to send its request."""

log = logging.getLogger("lightwave.live")


@dataclass(frozen=True, slots=True)
class MetricSample:
    """One value for Prometheus; a name that ends in `_total` is a counter."""

    name: str
    value: float
    text: str
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ProcessReport:
    """The state of a process. `problems` is empty while it is healthy."""

    partitions: tuple[int, ...] = ()
    problems: tuple[str, ...] = ()
    samples: tuple[MetricSample, ...] = ()
    extra: ProcessExtra | None = None


class ProcessHeartbeat:
    """Records every second that this process is alive, and runs its guard. `report` returns the process's
    state. `guard` returns why the process must stop, or None."""

    def __init__(
        self,
        info: ProcessInfo,
        store: RedisStore,
        report: Callable[[], ProcessReport],
        guard: Callable[[], str | None],
        *,
        address: str | None,
    ) -> None:
        self._info = info
        self._row = ProcessRow(info, store)
        self._report = report
        self._guard = guard
        self._address = address
        self._ended = threading.Event()
        self._failing: dict[str, str] = {}
        self._threads = [
            threading.Thread(target=self._every_beat, args=(part, step), name=part, daemon=True)
            for part, step in (("beat", self._beat), ("guard", self._watch))
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Unregister; if Redis does not answer now, the row expires."""
        self._ended.set()
        beating = self._threads[0]
        beating.join(timeout=2 * BEAT_S)
        if beating.is_alive() or "beat" in self._failing:
            return  # Redis does not answer, and this call would hang, too
        try:
            self._row.leave()
        except LightwaveError:
            return

    def current_report(self) -> ProcessReport:
        """The report, including errors in the threads of this class."""
        try:
            report = self._report()
            self._failing.pop("report", None)
        except Exception as error:  # noqa: BLE001 -- any error: the process must stay visible
            self._fail("report", error)
            report = ProcessReport()
        return replace(report, problems=(*report.problems, *self._failing.copy().values()))

    def _every_beat(self, part: str, step: Callable[[], None]) -> None:
        while True:
            try:
                step()
                self._failing.pop(part, None)
            except Exception as error:  # noqa: BLE001 -- without these threads the process would be invisible
                self._fail(part, error)
            if self._ended.wait(BEAT_S):
                return

    def _fail(self, part: str, error: Exception) -> None:
        """Show an error while it lasts, and log it once."""
        expected = isinstance(error, LightwaveError)
        sentence = str(error) if expected else f"{part}: {error!r}"
        if self._failing.get(part) != sentence and not expected:
            log.error("%s", sentence, exc_info=error)
        self._failing[part] = sentence

    def _beat(self) -> None:
        other = self._row.namesake()
        if other is not None and not self._row.owns_name(other):
            log.error("%s", duplicate_name_text(other), extra={"service": self._info.service})
            os._exit(InvalidInput.exit_code)
        if other is not None:
            self._failing["name"] = duplicate_name_text(other)
        else:
            self._failing.pop("name", None)
        report = self.current_report()
        late = self._failing.get("beat")  # resolved if this beat arrives
        self._row.write(
            partitions=list(report.partitions),
            problems=[problem for problem in report.problems if problem != late],
            address=self._address,
            extra=report.extra or {},
        )

    def _watch(self) -> None:
        sentence = self._guard()
        if sentence is None or self._ended.wait(BEAT_S):
            return
        log.error("%s", sentence, extra={"service": self._info.service})
        os._exit(EXIT_RESTART)


class HealthServer:
    """The heartbeat, with /metrics and probes of a process without other endpoints. /livez: the process
    answers (its guard stops it when a restart helps). /readyz: it can do its work. /healthz: its servers are
    healthy, too, as `dependency_problems` reports."""

    def __init__(
        self,
        info: ProcessInfo,
        store: RedisStore,
        report: Callable[[], ProcessReport],
        guard: Callable[[], str | None],
        *,
        host: str,
        port: int,
        dependency_problems: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self._dependency_problems = dependency_problems
        metrics = CollectorRegistry()
        ProcessCollector(namespace="lightwave", registry=metrics)
        metrics.register(_Samples(info, lambda: self._heartbeat.current_report().samples))
        try:
            self._server = _Server((host, port), metrics, self._probes())
        except OSError as error:
            raise OperationFailed(
                f"--metrics-port {port} on {host}: {error.strerror}; choose another port, or 0 for any"
            ) from None
        self.address = f"http://{host}:{self._server.server_address[1]}"
        self._heartbeat = ProcessHeartbeat(info, store, report, guard, address=self.address)

    def start(self) -> None:
        self._heartbeat.start()
        threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True).start()

    def stop(self) -> None:
        """Stop the server and unregister."""
        self._server.shutdown()
        self._server.server_close()
        self._heartbeat.stop()

    def _probes(self) -> Mapping[str, Callable[[], Sequence[str]]]:
        def own() -> tuple[str, ...]:
            return self._heartbeat.current_report().problems

        return {
            "/livez": tuple,
            "/readyz": own,
            "/healthz": lambda: [*dict.fromkeys([*own(), *self._dependency_problems()])],
        }


class _Samples(Collector):
    """The samples of a process at each scrape."""

    def __init__(self, info: ProcessInfo, read: Callable[[], tuple[MetricSample, ...]]) -> None:
        self._info = info
        self._read = read

    def collect(self) -> Iterator[Metric]:
        own = {"service": self._info.service} if self._info.service else {}
        families: dict[str, CounterMetricFamily | GaugeMetricFamily] = {}
        for sample in (*self._read(), MetricSample("restarts_total", restarts(), "restarts of the process")):
            labels = own | dict(sample.labels)
            if sample.name not in families:
                family = CounterMetricFamily if sample.name.endswith("_total") else GaugeMetricFamily
                name = f"lightwave_{self._info.kind}_{sample.name}"
                families[sample.name] = family(name, sample.text, labels=list(labels))
            families[sample.name].add_metric(list(labels.values()), sample.value)
        yield from families.values()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(
        self,
        address: tuple[str, int],
        metrics: CollectorRegistry,
        probes: Mapping[str, Callable[[], Sequence[str]]],
    ) -> None:
        self.metrics = metrics
        self.probes = probes
        super().__init__(address, _Handler)

    def get_request(self) -> tuple[Any, Any]:
        """The next connection. OSError if none can be accepted, for example without a free file descriptor;
        the pause avoids a busy loop."""
        try:
            return super().get_request()
        except OSError:
            time.sleep(ACCEPT_RETRY_S)
            raise

    def handle_error(self, _request: Any, _client: Any) -> None:
        """Log errors, except of clients that disconnected."""
        error = sys.exception()
        if not isinstance(error, OSError):
            log.error("request for /metrics or /healthz failed", exc_info=error)


class _Handler(MetricsHandler):
    timeout = CLIENT_S_MAX
    server: _Server

    def do_GET(self) -> None:  # noqa: N802 -- http.server's own name
        path = self.path.partition("?")[0]
        if path == "/metrics":
            self.registry = self.server.metrics
            super().do_GET()
        elif path in self.server.probes:
            problems = self.server.probes[path]()
            self._answer(503 if problems else 200, {"healthy": not problems, "problems": problems})
        else:
            self._answer(404, {"error": f"path must be one of {', '.join(self.server.probes)}, /metrics"})

    def _answer(self, status: int, body: Mapping[str, object]) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
