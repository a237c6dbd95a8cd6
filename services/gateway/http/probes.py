"""Health probes: whether the process runs, whether it can answer queries, and whether the twin is well."""

from collections.abc import Callable

from anyio import CapacityLimiter, to_thread
from fastapi import FastAPI, Request, Response

from schemas.api.rows import HealthReport
from services.gateway.http.access.caller import caller_or_none
from services.gateway.http.access.tokens import Tokens
from services.gateway.http.responses import error_docs, json_response
from services.gateway.http.route_options import ResponseDoc, ResponseDocs
from services.gateway.runtime_ports import TwinPorts

PROBE_PATHS = ("/livez", "/readyz", "/healthz")
"""Paths of the probes; they need no token."""
PROBE_THREADS = 4
"""Threads that only probes use: however many other requests wait for a store, probes are answered."""
HIDDEN_PROBLEMS = "there are problems; send a token to see them"
"""Replaces the problems for clients without a token, because they name addresses and folders."""


def install(app: FastAPI, twin: TwinPorts, *, tokens: Tokens) -> None:
    """Serve the probes."""
    threads = CapacityLimiter(PROBE_THREADS)
    failing = ResponseDocs({503: ResponseDoc("the check failed, with the reasons", model=HealthReport)})

    @app.get(
        "/livez",
        summary="200 as long as the process answers",
        tags=["twin"],
        response_model=HealthReport,
        responses=error_docs(405, 500, tokens=tokens),
    )
    async def livez() -> Response:  # uses no worker thread: all may be waiting for a store
        return json_response(HealthReport(healthy=True, problems=()))

    def probe(
        path: str, summary: str, problems: Callable[[], list[str]], notes: Callable[[], list[str]] = list
    ) -> None:
        @app.get(
            path,
            summary=summary,
            tags=["twin"],
            name=path[1:],
            response_model=HealthReport,
            responses=error_docs(405, 500, tokens=tokens).also(failing),
        )
        async def report(request: Request) -> Response:
            found, hints = await to_thread.run_sync(lambda: (problems(), notes()), limiter=threads)
            if caller_or_none(request) is None:
                found, hints = [HIDDEN_PROBLEMS] if found else [], []
            report = HealthReport(healthy=not found, problems=tuple(found), notes=tuple(hints))
            return json_response(report, 503 if found else 200)

    probe("/readyz", "200 while queries return current data", twin.unready)
    probe("/healthz", "200 while the twin has no problems", twin.health, twin.notes)
