"""Metrics for Prometheus: the state of every fabric, of the runtime and of the gateway itself."""

import time
from collections.abc import Callable, Iterable

from fastapi import FastAPI, Response
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.gateway import views
from services.gateway.ports import TwinPorts
from shared.basics.errors import LightwaveError
from shared.runtimes.clock import ClockState

GAUGES = (
    ("cubes_healthy", "cubes judged healthy", "healthy"),
    ("cubes_drained", "cubes drained", "drained"),
    ("hosts_down", "hosts down", "hosts_down"),
    ("ocs_down", "OCSes down", "ocs_down"),
    ("faults_active", "faults active in truth", "faults_active"),
    ("utilisation_ratio", "allocated chip-time over all chip-time since the start", "utilisation"),
    ("cube_availability_ratio", "healthy cube-time over all cube-time since the start", "cube_availability"),
    ("log_position", "messages in the log", "position"),
)
CLOCK: tuple[tuple[str, str, Callable[[ClockState], float]], ...] = (
    ("simulated_seconds", "simulated time up to which all is done", lambda c: c.now_us / 1e6),
    (
        "speed_asked",
        "simulated over wall time, as asked for; 0 while paused",
        lambda c: 0 if c.paused else c.speed,
    ),
    ("speed_held", "simulated over wall time, as held", lambda c: c.achieved_speed),
    ("lag_seconds", "simulated time that the twin is behind its clock", lambda c: c.lag_us / 1e6),
)


METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})
"""Any other method counts as `other`: labels are not the caller's to invent."""


class TwinCollector(Collector):
    """Reads status documents when Prometheus asks, and not before."""

    def __init__(self, twin: TwinPorts) -> None:
        self._twin = twin

    def describe(self) -> Iterable[Metric]:
        return []

    def collect(self) -> Iterable[Metric]:
        """Gauges of every fabric, of the clock and of the runtime; without a store those of the fabrics are
        left out."""
        try:
            rows = [views.fabric_row(self._twin, fabric) for fabric in self._twin.documents.fabrics()]
        except LightwaveError:
            rows = []
        for name, text, field in GAUGES:
            family = GaugeMetricFamily(f"lightwave_{name}", text, labels=["fabric"])
            for row in rows:
                family.add_metric([row["name"]], row[field])
            yield family
        for name, text, field in (
            ("slices", "slices by state", "slices"),
            ("link_ends", "link ends by state", "links"),
        ):
            family = GaugeMetricFamily(f"lightwave_{name}", text, labels=["fabric", "state"])
            for row in rows:
                for state, count in row[field].items():
                    family.add_metric([row["name"], state], count)
            yield family
        healthy = not self._twin.health()
        yield GaugeMetricFamily("lightwave_healthy", "1 while all is well, else 0", value=healthy)
        clock = self._twin.clock.show()
        for name, text, read in CLOCK:
            yield GaugeMetricFamily(f"lightwave_{name}", text, value=read(clock))
        for name, value in self._twin.runtime_metrics().items():
            kind = CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily
            yield kind(f"lightwave_runtime_{name}", "of the runtime itself", value=value)


class Measure:
    """ASGI middleware: counts every answer and times it up to its first byte."""

    def __init__(self, app: ASGIApp, count: Counter, span: Histogram) -> None:
        self._app = app
        self._count = count
        self._span = span

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started_s = time.perf_counter()
        method = scope["method"] if scope["method"] in METHODS else "other"

        def note(status: int) -> None:
            self._count.labels(method, str(status)).inc()
            self._span.labels(method).observe(time.perf_counter() - started_s)

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                note(message["status"])
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except Exception:
            note(500)
            raise


def install(app: FastAPI, twin: TwinPorts) -> None:
    """Count and time every answer, and serve /metrics."""
    registry = CollectorRegistry()
    registry.register(TwinCollector(twin))
    count = Counter("lightwave_http_requests", "answers", ["method", "status"], registry=registry)
    span = Histogram("lightwave_http_seconds", "time to answer", ["method"], registry=registry)

    app.add_middleware(Measure, count=count, span=span)

    @app.get("/metrics", summary="Metrics for Prometheus", tags=["twin"])
    def metrics() -> Response:
        return Response(generate_latest(registry), media_type="text/plain; version=0.0.4; charset=utf-8")
