"""Metrics for Prometheus: the state of every fabric, of the runtime and of the gateway itself."""

import time
from collections.abc import Awaitable, Callable, Iterable

from fastapi import FastAPI, Request, Response
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from services.gateway import views
from services.gateway.ports import TwinPorts
from shared.clock import ClockState
from shared.errors import LightwaveError

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
    ("speed_held", "simulated over wall time, as held", lambda c: c.held_speed),
    ("lag_seconds", "simulated time that the twin is behind its clock", lambda c: c.lag_us / 1e6),
)


class TwinCollector(Collector):
    """Reads status documents when Prometheus asks, and not before."""

    def __init__(self, twin: TwinPorts) -> None:
        self._twin = twin

    def describe(self) -> Iterable[Metric]:
        return []

    def collect(self) -> Iterable[Metric]:
        """Gauges of every fabric, of the clock and of the runtime."""
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
        clock = self._twin.clock.show()
        for name, text, read in CLOCK:
            yield GaugeMetricFamily(f"lightwave_{name}", text, value=read(clock))
        for name, value in self._twin.runtime_metrics().items():
            yield GaugeMetricFamily(f"lightwave_runtime_{name}", "of the runtime itself", value=value)


def install(app: FastAPI, twin: TwinPorts) -> None:
    """Count and time every answer, and serve /metrics."""
    registry = CollectorRegistry()
    registry.register(TwinCollector(twin))
    count = Counter("lightwave_http_requests", "answers", ["method", "status"], registry=registry)
    span = Histogram("lightwave_http_seconds", "time to answer", ["method"], registry=registry)

    @app.middleware("http")
    async def measure(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
        started = time.perf_counter()
        response = await call_next(request)
        count.labels(request.method, str(response.status_code)).inc()
        span.labels(request.method).observe(time.perf_counter() - started)
        return response

    @app.get("/metrics", summary="Metrics for Prometheus", tags=["twin"])
    def metrics() -> Response:
        return Response(generate_latest(registry), media_type="text/plain; version=0.0.4; charset=utf-8")
