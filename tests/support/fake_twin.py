"""Something that answers on a port of its own as the test wants it to: a twin in good and bad moments."""

import json
import os
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

from tests.support.forked import run_forked

Answer = tuple[int, str, bytes]
"""(HTTP status, content type, body)."""
DROP: Answer = (0, "", b"")
"""Close the connection without a word."""


def as_json(content: object, status: int = 200) -> Answer:
    return status, "application/json", json.dumps(content).encode()


def as_condition(*values: str, holds: bool = False, reasons: tuple[str, ...] = ()) -> Answer:
    """A report of `/v1/conditions`; with reasons it can no longer become true. If it holds, it is for its
    last term."""
    last = len(values) - 1
    terms = [
        {"text": f"term {n}", "value": value, "holds": holds and n == last} for n, value in enumerate(values)
    ]
    report = {"condition": "", "now_us": 0, "holds": holds, "can_hold": not reasons, "reasons": reasons}
    return as_json(report | {"terms": terms})


CLOCK_STANDS = as_json({"now_us": 0, "paused": True, "until_us": None})
CLOCK_RUNS = as_json({"now_us": 0, "paused": False, "until_us": None})


@dataclass(frozen=True)
class Asked:
    """One request as it arrived."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes


@dataclass
class FakeTwin:
    """Answers each path from its list: the first answer first, the last one ever after."""

    answers: dict[str, list[Answer]] = field(default_factory=dict)
    otherwise: Answer = field(default_factory=lambda: as_json({"error": "no such thing"}, 404))
    asked: list[Asked] = field(default_factory=list)
    url: str = ""
    links: dict[str, list[str]] = field(default_factory=dict)
    """Path → the headers `Link` of its answers."""
    headers: dict[str, str] = field(default_factory=dict)
    """Of every answer."""

    def answer(self, request: Asked) -> Answer:
        self.asked.append(request)
        waiting = self.answers.get(request.path)
        if waiting is None:
            return self.otherwise
        return waiting.pop(0) if len(waiting) > 1 else waiting[0]


def _handler(twin: FakeTwin) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _any(self) -> None:
            parts = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, kind, text = twin.answer(
                Asked(self.command, unquote(parts.path), parts.query, headers, body)
            )
            self.close_connection = True
            if status == 0:
                return
            self.send_response(status)
            self.send_header("Content-Type", kind)
            for name, value in twin.headers.items():
                self.send_header(name, value)
            if parts.path in twin.links:
                self.send_header("Link", twin.links[parts.path].pop(0))
            # A stream has no length: it ends where the connection ends.
            self.send_header("Connection", "close")
            if kind != "text/event-stream":
                self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_PUT = do_DELETE = _any  # noqa: N815 -- names that http.server looks for

        def log_message(self, *_: Any) -> None:
            """Say nothing on stderr."""

    return Handler


@contextmanager
def answering(
    answers: dict[str, list[Answer]] | None = None, tls: ssl.SSLContext | None = None, **options: Any
) -> Iterator[FakeTwin]:
    """A fake twin that answers for as long as the block lasts, over TLS if it is given what for."""
    twin = FakeTwin(answers or {}, **options)
    with ThreadingHTTPServer(("127.0.0.1", 0), _handler(twin)) as server:
        twin.url = f"http{'s' if tls else ''}://127.0.0.1:{server.server_address[1]}"
        if tls:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield twin
        finally:
            server.shutdown()
            thread.join()


def environment(url: str, **more: str) -> dict[str, str]:
    """That of a command which shall talk to this URL."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LIGHTWAVE_")}
    return kept | {"LIGHTWAVE_URL": url} | more


def lightwave(*words: str, url: str = "http://127.0.0.1:9", **more: str) -> subprocess.CompletedProcess[str]:
    """One command in a process of its own; without a URL no twin is to be had."""
    return run_forked(words, environment(url, **more))


def told(twin: FakeTwin, path: str) -> Any:
    """What it answers first to a path behind /v1/."""
    return json.loads(twin.answers[f"/v1/{path}"][0][2])
