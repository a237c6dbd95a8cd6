"""A thread that polls the twin: its probes, and the resources of its processes."""

import contextlib
import http.client
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from shared.basics.errors import LightwaveError

POLL_S = 2.0
ANSWER_S_MAX = 5.0
PROBES = ("/livez", "/readyz", "/healthz")
HEALTHY, UNHEALTHY = 200, 503
MEMORY_MB_MAX = 600.0
"""Resident memory of one process; docs/results/soak.md has typical values."""
FILES_MAX = 300
"""Open files of one process, including connections."""


@dataclass(slots=True)
class ResourcePeak:
    """Peak resources of a process."""

    memory_mb: float = 0.0
    files: int = 0


@dataclass(frozen=True, slots=True)
class TwinAccess:
    """What the monitor reads of a twin. The functions may raise while the twin is under a fault.

    `urls` is name → URL of its probes; those of `gateways` report on the whole twin, others on themselves.
    `pids` is name → pid. `stalled_s` is the current stall of time; after `healthy_stall_s_max` of it no
    gateway may report healthy. `fetch_status` gets one URL: (status, body).
    """

    urls: Callable[[], Mapping[str, str]]
    gateways: Collection[str]
    pids: Callable[[], Mapping[str, int | None]]
    stalled_s: Callable[[], float]
    healthy_stall_s_max: float
    fetch_status: Callable[[str], tuple[int, bytes]]


class TwinMonitor(threading.Thread):
    """Polls until `stop`. `problems` lists each problem once; `peaks` is name → peak resources."""

    def __init__(self, access: TwinAccess) -> None:
        super().__init__(name="watch", daemon=True)
        self.problems: list[str] = []
        self.peaks: dict[str, ResourcePeak] = {}
        self._access = access
        self._stopping = threading.Event()

    def stop(self) -> None:
        self._stopping.set()
        self.join()

    def run(self) -> None:
        while not self._stopping.wait(POLL_S):
            self.poll()

    def poll(self) -> None:
        """Poll once."""
        self._record_resources()
        with contextlib.suppress(OSError, ValueError, http.client.HTTPException, LightwaveError):
            self._probe_all()  # Redis or a gateway may be under a fault

    def _note(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)

    def _probe_all(self) -> None:
        for name, url in self._access.urls().items():
            for probe in PROBES:
                before_s = self._access.stalled_s()
                try:
                    status, body = self._access.fetch_status(url + probe)
                except (OSError, http.client.HTTPException):
                    break  # it does not run, or is paused
                whole = name in self._access.gateways
                stalled_s = min(before_s, self._access.stalled_s()) if whole else 0.0
                for problem in probe_problems(
                    probe, status, body, stalled_s, self._access.healthy_stall_s_max
                ):
                    self._note(f"{name}: {probe} {problem}")

    def _record_resources(self) -> None:
        for name, pid in self._access.pids().items():
            if pid is not None and (taken := resources_of(pid)) is not None:
                peak = self.peaks.setdefault(name, ResourcePeak())
                peak.memory_mb = max(peak.memory_mb, taken.memory_mb)
                peak.files = max(peak.files, taken.files)


def probe_problems(
    probe: str, status: int, body: bytes, stalled_s: float, healthy_stall_s_max: float
) -> Iterator[str]:
    """Problems of the answer to a probe while time has stalled for `stalled_s`.

    A gateway must not report healthy after `healthy_stall_s_max`."""
    if status not in (HEALTHY, UNHEALTHY):
        yield f"was answered with {status}"
    elif probe == "/livez" and status != HEALTHY:
        yield f"was answered with {status}, but must be 200 whenever it answers"
    elif status == UNHEALTHY and not reasons(body):
        yield "was answered with 503, but without a reason"
    elif probe == "/healthz" and status == HEALTHY and stalled_s > healthy_stall_s_max:
        yield f"reports healthy, but time has stalled for more than {healthy_stall_s_max:.0f} s"


def first_unhealthy(urls: Mapping[str, str], ask: Callable[[str], tuple[int, bytes]]) -> str | None:
    """The first process with an unhealthy probe, and the reason; None if all are healthy."""
    for name, url in urls.items():
        for probe in PROBES:
            try:
                status, body = ask(url + probe)
            except (OSError, http.client.HTTPException) as error:
                return f"{name}: {probe} gives no answer: {error}"
            if status != HEALTHY:
                return f"{name}: {probe} {status} {'; '.join(reasons(body))}"
    return None


def reasons(body: bytes) -> list[str]:
    """The reasons in the answer of an unhealthy probe."""
    try:
        found = json.loads(body)["problems"]
    except (ValueError, KeyError, TypeError):
        return []
    return [str(one) for one in found]


def fetch_status(url: str) -> tuple[int, bytes]:
    """(status, body) of any answer; OSError or HTTPException if there is none."""
    try:
        with urllib.request.urlopen(url, timeout=ANSWER_S_MAX) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def resources_of(pid: int) -> ResourcePeak | None:
    """Current resources of a process; None if it has exited."""
    place = Path("/proc") / str(pid)
    try:
        lines = (place / "status").read_text().splitlines()
        resident = next((line for line in lines if line.startswith("VmRSS:")), "VmRSS: 0 kB")
        return ResourcePeak(int(resident.split()[1]) / 1_000, sum(1 for _ in (place / "fd").iterdir()))
    except OSError:
        return None


def check_peaks(peaks: Mapping[str, ResourcePeak]) -> Iterator[str]:
    """A sentence for every process that exceeded a limit."""
    for name, peak in sorted(peaks.items()):
        if peak.memory_mb > MEMORY_MB_MAX:
            yield f"{name} took {peak.memory_mb:.0f} MB of memory; must be at most {MEMORY_MB_MAX:.0f}"
        if peak.files > FILES_MAX:
            yield f"{name} had {peak.files} files open; must be at most {FILES_MAX}"
