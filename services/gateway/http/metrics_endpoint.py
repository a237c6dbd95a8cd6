"""The /metrics endpoint, which also counts and times the gateway's own responses."""

import time

from fastapi import FastAPI, Response
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.gateway.http.access.tokens import Tokens
from services.gateway.http.guard import bearer_dependency
from services.gateway.http.responses import MetricsResponse, error_docs, non_json_doc
from services.gateway.metrics.prometheus import TwinCollector
from services.gateway.runtime_ports import TwinPorts

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})
"""Other methods count as `other`, so that clients cannot create labels."""


class RequestMetrics:
    """ASGI middleware: counts every response and times it up to its first byte."""

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

        def record(status: int) -> None:
            self._count.labels(method, str(status)).inc()
            self._span.labels(method).observe(time.perf_counter() - started_s)

        async def send_counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                record(message["status"])
            await send(message)

        try:
            await self._app(scope, receive, send_counted)
        except Exception:
            record(500)
            raise


def install(app: FastAPI, twin: TwinPorts, *, tokens: Tokens) -> None:
    """Count and time every response, and serve /metrics."""
    registry = CollectorRegistry()
    registry.register(TwinCollector(twin))
    count = Counter("lightwave_http_requests", "HTTP responses.", ["method", "status"], registry=registry)
    span = Histogram(
        "lightwave_http_seconds", "Wall time to the first byte of a response.", ["method"], registry=registry
    )

    app.add_middleware(RequestMetrics, count=count, span=span)

    @app.get(
        "/metrics",
        summary="Metrics for Prometheus",
        tags=["twin"],
        response_class=Response,
        responses=non_json_doc(MetricsResponse, "the metrics").also(
            error_docs(401, 403, 405, 500, tokens=tokens)
        ),
        dependencies=bearer_dependency(tokens),
    )
    def metrics() -> MetricsResponse:
        return MetricsResponse(generate_latest(registry))
