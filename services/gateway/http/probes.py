"""Probes: whether the process lives, whether it can answer, whether all is well with the twin."""

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI, Request, Response

from schemas.api.rows import HealthReport
from services.gateway.http.access.caller import caller_or_none
from services.gateway.http.access.tokens import Tokens
from services.gateway.http.responses import error_docs, json_response
from services.gateway.ports import TwinPorts

PROBE_PATHS = ("/livez", "/readyz", "/healthz")
"""They need no token."""
HIDDEN_PROBLEMS = "not all is well; whoever brings a token is told what"
"""In place of problems, for they name addresses and folders."""


def install(app: FastAPI, twin: TwinPorts, *, tokens: Tokens) -> None:
    """Serve the probes."""
    failing: dict[int | str, dict[str, Any]] = {
        503: {"model": HealthReport, "description": "not so, with the reasons"}
    }

    @app.get(
        "/livez",
        summary="200 as long as the process answers",
        tags=["twin"],
        response_model=HealthReport,
        responses=error_docs(405, 500, tokens=tokens),
    )
    async def livez() -> Response:  # asks no thread: those may all be waiting for a store
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
            responses=error_docs(405, 500, tokens=tokens) | failing,
        )
        def report(request: Request) -> Response:
            found, beside = problems(), notes()
            if caller_or_none(request) is None:
                found, beside = [HIDDEN_PROBLEMS] if found else [], []
            report = HealthReport(healthy=not found, problems=tuple(found), notes=tuple(beside))
            return json_response(report, 503 if found else 200)

    probe("/readyz", "200 while queries are answered as the twin stands", twin.unready)
    probe("/healthz", "200 while all is well with the twin", twin.health, twin.notes)
