"""Signals to real commands that wait for a forecast: they cancel it on the twin, whenever they arrive."""

import http.server
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration

WAIT_S = 60.0
RUN = "from ops.cli.main import main; main()"
REPORT: dict[str, object] = {
    "id": "forecast-7",
    "status": "running",
    "requested_by": None,
    "site": "pod-0",
    "at_us": 0,
    "days": 1.0,
    "changes": [],
    "futures": 20,
    "futures_done": 3,
    "error": None,
    "result": None,
    "single": None,
    "inevitability": None,
}
ANSWERS: dict[str, object] = {
    "/v1/fabrics": [{"name": "pod-0", "site": "pod-0", "kind": "superpod", "retired_us": None}],
    "/v1/forecasts/forecast-7": REPORT,
    "/v1/why/scheduler%40pod-0/42": [
        {
            "id": "scheduler@pod-0/42",
            "type": "SliceRequeued",
            "at_us": 10**12,
            "fabric": "pod-0",
            "about": ["pod-0/slice-4"],
            "text": "",
        }
    ],
}
COMMANDS = {
    "forecast": ["forecast", "--days", "1"],
    "inevitable": ["inevitable", "scheduler@pod-0/42"],
}


class StubTwin:
    """A server that starts a forecast which never ends. It answers the POST only when the test allows it."""

    def __init__(self) -> None:
        self.posted, self.may_answer, self.polled = (threading.Event() for _ in range(3))
        self.deleted: list[str] = []
        self.status = "running"
        twin = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = self.path.partition("?")[0]
                answer = ANSWERS[path]
                self._answer(200, REPORT | {"status": twin.status} if answer is REPORT else answer)
                if path.startswith("/v1/forecasts/"):
                    twin.polled.set()

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                twin.posted.set()
                twin.may_answer.wait(WAIT_S)
                self._answer(202, REPORT | {"status": "queued"})

            def do_DELETE(self) -> None:
                twin.deleted.append(self.path)
                self._answer(200, REPORT | {"status": "cancelled"})

            def _answer(self, status: int, content: object) -> None:
                body = json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def twin() -> Iterator[StubTwin]:
    stub = StubTwin()
    yield stub
    stub.may_answer.set()
    stub.server.shutdown()
    stub.server.server_close()


def started(twin: StubTwin, command: str) -> "subprocess.Popen[bytes]":
    env = {name: value for name, value in os.environ.items() if not name.startswith("LIGHTWAVE_")}
    return subprocess.Popen(
        [sys.executable, "-c", RUN, *COMMANDS[command]],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=env | {"PYTHONPATH": str(Path.cwd()), "LIGHTWAVE_URL": twin.url},
    )


@pytest.mark.parametrize(
    ("command", "number", "code"),
    [
        ("forecast", signal.SIGINT, 130),
        ("forecast", signal.SIGTERM, 143),
        ("inevitable", signal.SIGTERM, 143),
    ],
)
def test_a_signal_before_the_answer_cancels_the_forecast(
    twin: StubTwin, command: str, number: signal.Signals, code: int
) -> None:
    with started(twin, command) as process:
        assert twin.posted.wait(WAIT_S)
        process.send_signal(number)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.3)
        twin.may_answer.set()
        assert process.wait(WAIT_S) == code
    assert twin.deleted == ["/v1/forecasts/forecast-7"]


@pytest.mark.usefixtures("hangup_by_default")
@pytest.mark.parametrize(
    ("command", "number", "code"),
    [("forecast", signal.SIGTERM, 143), ("forecast", signal.SIGHUP, 129), ("inevitable", signal.SIGINT, 130)],
)
def test_a_signal_while_it_runs_cancels_the_forecast(
    twin: StubTwin, command: str, number: signal.Signals, code: int
) -> None:
    twin.may_answer.set()
    with started(twin, command) as process:
        assert twin.polled.wait(WAIT_S)
        process.send_signal(number)
        assert process.wait(WAIT_S) == code
    assert twin.deleted == ["/v1/forecasts/forecast-7"]


@pytest.mark.parametrize("command", ["forecast", "inevitable"])
def test_a_forecast_that_another_client_cancels_is_reported(twin: StubTwin, command: str) -> None:
    twin.may_answer.set()
    with started(twin, command) as process:
        assert twin.polled.wait(WAIT_S)
        twin.status = "cancelled"
        _, errors = process.communicate(timeout=WAIT_S)
    assert process.returncode == 1
    assert errors.decode().splitlines()[-1].endswith("forecast forecast-7: was cancelled")
    assert twin.deleted == []


def test_the_second_signal_does_not_wait_for_the_answer(twin: StubTwin) -> None:
    with started(twin, "forecast") as process:
        assert twin.posted.wait(WAIT_S)
        process.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.3)
        process.send_signal(signal.SIGINT)
        assert process.wait(WAIT_S) == 130
    assert twin.deleted == []
