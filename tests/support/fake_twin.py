"""An HTTP server that stands in for a twin and gives the answers that a test chooses."""

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
"""Close the connection without an answer."""


def as_json(content: object, status: int = 200) -> Answer:
    return status, "application/json", json.dumps(content).encode()


def condition_report(*values: str, holds: bool = False, reasons: tuple[str, ...] = ()) -> Answer:
    """Return an answer of `/v1/conditions`. If `holds`, its last term is true; with reasons it can no longer
    become true."""
    last = len(values) - 1
    terms = [
        {"text": f"term {n}", "value": value, "holds": holds and n == last} for n, value in enumerate(values)
    ]
    report = {"condition": "", "now_us": 0, "holds": holds, "can_hold": not reasons, "reasons": reasons}
    return as_json(report | {"terms": terms})


CLOCK_PAUSED = as_json({"now_us": 0, "paused": True, "until_us": None})
CLOCK_RUNS = as_json({"now_us": 0, "paused": False, "until_us": None})


@dataclass(frozen=True)
class ReceivedRequest:
    """One request as the server received it."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes


@dataclass
class FakeTwin:
    """Answers each path from its list in order, and repeats the last answer."""

    answers: dict[str, list[Answer]] = field(default_factory=dict)
    default: Answer = field(default_factory=lambda: as_json({"error": "no such path"}, 404))
    requests: list[ReceivedRequest] = field(default_factory=list)
    url: str = ""
    links: dict[str, list[str]] = field(default_factory=dict)
    """Path → the `Link` headers of its answers, in order."""
    headers: dict[str, str] = field(default_factory=dict)
    """Headers of every answer."""

    def answer(self, request: ReceivedRequest) -> Answer:
        self.requests.append(request)
        waiting = self.answers.get(request.path)
        if waiting is None:
            return self.default
        return waiting.pop(0) if len(waiting) > 1 else waiting[0]


def _handler(twin: FakeTwin) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _any(self) -> None:
            parts = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, kind, text = twin.answer(
                ReceivedRequest(self.command, unquote(parts.path), parts.query, headers, body)
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
            """Suppress the log on stderr."""

    return Handler


@contextmanager
def answering(
    answers: dict[str, list[Answer]] | None = None, tls: ssl.SSLContext | None = None, **options: Any
) -> Iterator[FakeTwin]:
    """Run a fake twin for the duration of the block; over TLS if a context is given."""
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
    """Return the environment of a command that calls this URL."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LIGHTWAVE_")}
    return kept | {"LIGHTWAVE_URL": url} | more


def lightwave(*words: str, url: str = "http://127.0.0.1:9", **more: str) -> subprocess.CompletedProcess[str]:
    """Run one command in a forked process. Without a URL, it reaches no twin."""
    return run_forked(words, environment(url, **more))


def first_answer(twin: FakeTwin, path: str) -> Any:
    """Return the content of the first answer to a path below /v1/."""
    return json.loads(twin.answers[f"/v1/{path}"][0][2])
