"""Probes, memory and open files are looked at while a soak runs."""

import os
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from shared.basics.errors import OperationFailed
from tests.soak.twin_monitor import (
    FILES_MAX,
    MEMORY_MB_MAX,
    ResourcePeak,
    TwinAccess,
    TwinMonitor,
    check_peaks,
    fetch_status,
    first_unhealthy,
    probe_problems,
    resources_of,
)

WHY = b'{"healthy": false, "problems": ["no sequencer"]}'


def answer_well(_url: str) -> tuple[int, bytes]:
    return 200, b"{}"


SIGHTS = TwinAccess(
    urls=lambda: {"gateway": "http://gateway"},
    gateways=("gateway",),
    pids=lambda: {"gateway": os.getpid(), "ocs-a": None},
    stalled_s=lambda: 0.0,
    healthy_stall_s_max=60.0,
    fetch_status=answer_well,
)


@pytest.mark.parametrize(
    ("probe", "status", "body", "stalled_s", "wrong"),
    [
        ("/healthz", 200, b"{}", 0.0, None),
        ("/healthz", 503, WHY, 0.0, None),
        ("/readyz", 200, b"{}", 99.0, None),
        ("/livez", 200, b"{}", 99.0, None),
        ("/livez", 503, WHY, 0.0, "was answered with 503, but must be 200 whenever it answers"),
        ("/healthz", 500, WHY, 0.0, "was answered with 500"),
        ("/readyz", 401, WHY, 0.0, "was answered with 401"),
        ("/readyz", 503, b"{}", 0.0, "was answered with 503, but without a reason"),
        ("/healthz", 503, b"\xff", 0.0, "was answered with 503, but without a reason"),
        ("/healthz", 200, b"{}", 61.0, "reports healthy, but time has stalled for more than 60 s"),
    ],
)
def test_a_wrong_answer_of_a_probe_is_found(
    probe: str, status: int, body: bytes, stalled_s: float, wrong: str | None
) -> None:
    assert [*probe_problems(probe, status, body, stalled_s, healthy_stall_s_max=60.0)] == (
        [] if wrong is None else [wrong]
    )


def test_every_probe_of_every_process_is_requested_and_a_problem_reported_once() -> None:
    asked: list[str] = []

    def ask(url: str) -> tuple[int, bytes]:
        asked.append(url)
        return (500 if url.endswith("/readyz") else 200), b"{}"

    watch = TwinMonitor(replace(SIGHTS, fetch_status=ask))
    watch.poll()
    watch.poll()
    assert asked == [f"http://gateway/{probe}" for probe in ("livez", "readyz", "healthz")] * 2
    assert watch.problems == ["gateway: /readyz was answered with 500"]


def test_the_probes_of_a_worker_concern_only_itself() -> None:
    urls = {"ocs-a": "http://ocs-a", "gateway": "http://gateway"}
    watch = TwinMonitor(replace(SIGHTS, urls=lambda: urls, stalled_s=lambda: 61.0))
    watch.poll()
    (problem,) = watch.problems
    assert problem.startswith("gateway: /healthz reports healthy, but time has stalled")


def test_a_probe_without_an_answer_is_not_a_problem() -> None:
    def silent(_url: str) -> tuple[int, bytes]:
        raise ConnectionRefusedError

    def gone() -> dict[str, str]:
        raise OperationFailed("Redis does not answer")

    for access in (replace(SIGHTS, fetch_status=silent), replace(SIGHTS, urls=gone)):
        watch = TwinMonitor(access)
        watch.poll()
        assert watch.problems == []


def test_the_resources_of_processes_are_measured_and_excess_is_found() -> None:
    watch = TwinMonitor(SIGHTS)
    watch.poll()
    assert watch.peaks.keys() == {"gateway"}
    assert 5 < watch.peaks["gateway"].memory_mb < 10_000
    assert watch.peaks["gateway"].files >= 3
    rows = {"a": ResourcePeak(MEMORY_MB_MAX, FILES_MAX), "b": ResourcePeak(MEMORY_MB_MAX + 1, FILES_MAX + 1)}
    assert [*check_peaks(rows)] == [
        "b took 601 MB of memory; must be at most 600",
        "b had 301 files open; must be at most 300",
    ]
    assert resources_of(2**22 + 1) is None


def test_an_unhealthy_twin_is_reported_with_its_reasons() -> None:
    def ask(url: str) -> tuple[int, bytes]:
        if url.startswith("http://gone"):
            raise ConnectionRefusedError("refused")
        return (503, WHY) if url == "http://ill/healthz" else (200, b"{}")

    assert first_unhealthy({"well": "http://well"}, ask) is None
    assert (
        first_unhealthy({"well": "http://well", "ill": "http://ill"}, ask) == "ill: /healthz 503 no sequencer"
    )
    assert first_unhealthy({"gone": "http://gone"}, ask) == "gone: /livez gives no answer: refused"


class Unwell(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(503 if self.path == "/healthz" else 200)
        self.end_headers()
        self.wfile.write(WHY if self.path == "/healthz" else b"{}")

    def log_message(self, *_: object) -> None:
        """Quietly."""


def test_any_answer_is_reported() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Unwell) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        assert fetch_status(f"{url}/healthz") == (503, WHY)
        assert fetch_status(f"{url}/livez") == (200, b"{}")
        server.shutdown()
