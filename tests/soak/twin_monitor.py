"""What the twin says of itself all the while, what its processes take, and whether its clock jumps: a thread
that looks at them.
"""

import contextlib
import http.client
import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from shared.basics.errors import LightwaveError
from shared.basics.units import US_PER_S

POLL_S = 2.0
ANSWER_S_MAX = 5.0
PROBES = ("/livez", "/readyz", "/healthz")
HEALTHY, UNHEALTHY = 200, 503
MEMORY_MB_MAX = 600.0
"""Resident, of one process; docs/benchmarks.md has what they take."""
FILES_MAX = 300
"""Open ones of one process, connections among them."""
JUMP_S_MAX = 15.0
"""Of wall time, that may be made up at once: after 10 s in which all stand still the clock waits for them."""


@dataclass(slots=True)
class ResourcePeak:
    """The most that a process was seen to take."""

    memory_mb: float = 0.0
    files: int = 0


@dataclass(frozen=True, slots=True)
class TwinAccess:
    """What a watch looks at. `urls` is name → where its probes are; those of `gateways`
    speak for the whole twin, others for themselves; `pids` name → its process, `still_s` how long time stands
    still, and `blind_s` after how long of it nobody may say any more that all is well; `now_us` how far the
    furthest fabric has come, at `speed` or less; they may raise as a twin's parts do that are struck. `told`
    asks one URL: (status, body)."""

    urls: Callable[[], Mapping[str, str]]
    gateways: Collection[str]
    pids: Callable[[], Mapping[str, int | None]]
    stalled_s: Callable[[], float]
    healthy_stall_s_max: float
    now_us: Callable[[], int]
    speed: float
    fetch_status: Callable[[str], tuple[int, bytes]]


class TwinMonitor(threading.Thread):
    """Looks until `stop`. `problems` are what must not be, each once; `peaks` is name → what it took."""

    def __init__(self, access: TwinAccess, wall_s: Callable[[], float] = time.monotonic) -> None:
        super().__init__(name="watch", daemon=True)
        self.problems: list[str] = []
        self.peaks: dict[str, ResourcePeak] = {}
        self._access = access
        self._wall_s = wall_s
        self._furthest: tuple[int, float] | None = None
        """The furthest time seen, which a Redis that is struck may forget; and when it was last looked."""
        self._stopping = threading.Event()

    def stop(self) -> None:
        self._stopping.set()
        self.join()

    def run(self) -> None:
        while not self._stopping.wait(POLL_S):
            self.poll()

    def poll(self) -> None:
        """Once."""
        self._record_resources()
        for poll in (self._probe_all, self._check_clock):
            with contextlib.suppress(OSError, ValueError, http.client.HTTPException, LightwaveError):
                poll()  # unless Redis or a gateway is struck just now

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
                    break  # it does not run, or stands still
                whole = name in self._access.gateways
                stalled_s = min(before_s, self._access.stalled_s()) if whole else 0.0
                for problem in probe_problems(
                    probe, status, body, stalled_s, self._access.healthy_stall_s_max
                ):
                    self._note(f"{name}: {probe} {problem}")

    def _check_clock(self) -> None:
        now_us, at_s = self._access.now_us(), self._wall_s()
        furthest_us, before_s = self._furthest or (now_us, at_s)
        advanced_s, since_s = (now_us - furthest_us) / US_PER_S, at_s - before_s
        if advanced_s > self._access.speed * (since_s + JUMP_S_MAX):
            self._note(
                f"time jumped by {advanced_s:.0f} s within {since_s:.1f} s at × {self._access.speed:g}"
            )
        self._furthest = (max(now_us, furthest_us), at_s)

    def _record_resources(self) -> None:
        for name, pid in self._access.pids().items():
            if pid is not None and (taken := resources_of(pid)) is not None:
                peak = self.peaks.setdefault(name, ResourcePeak())
                peak.memory_mb = max(peak.memory_mb, taken.memory_mb)
                peak.files = max(peak.files, taken.files)


def probe_problems(
    probe: str, status: int, body: bytes, stalled_s: float, healthy_stall_s_max: float
) -> Iterator[str]:
    """What is wrong with the answer to a probe, while time stands still for so long: all is well for no more
    than `blind_s`."""
    if status not in (HEALTHY, UNHEALTHY):
        yield f"was answered with {status}"
    elif probe == "/livez" and status != HEALTHY:
        yield f"was answered with {status}, though it answers"
    elif status == UNHEALTHY and not reasons(body):
        yield "was answered with 503, and without a reason"
    elif probe == "/healthz" and status == HEALTHY and stalled_s > healthy_stall_s_max:
        yield f"says that all is well, while time stands still for more than {healthy_stall_s_max:.0f} s"


def first_unhealthy(urls: Mapping[str, str], ask: Callable[[str], tuple[int, bytes]]) -> str | None:
    """Who does not say at every probe that it is well, and why; None if all do."""
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
    """Why it is not well, as the answer to a probe says."""
    try:
        found = json.loads(body)["problems"]
    except (ValueError, KeyError, TypeError):
        return []
    return [str(one) for one in found]


def fetch_status(url: str) -> tuple[int, bytes]:
    """(status, body) of an answer, whatever it is; OSError or HTTPException if there is none."""
    try:
        with urllib.request.urlopen(url, timeout=ANSWER_S_MAX) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def resources_of(pid: int) -> ResourcePeak | None:
    """What a process takes now; None if it has ended."""
    place = Path("/proc") / str(pid)
    try:
        lines = (place / "status").read_text().splitlines()
        resident = next((line for line in lines if line.startswith("VmRSS:")), "VmRSS: 0 kB")
        return ResourcePeak(int(resident.split()[1]) / 1_000, sum(1 for _ in (place / "fd").iterdir()))
    except OSError:
        return None


def check_peaks(peaks: Mapping[str, ResourcePeak]) -> Iterator[str]:
    """A sentence for every process that took too much."""
    for name, peak in sorted(peaks.items()):
        if peak.memory_mb > MEMORY_MB_MAX:
            yield f"{name} took {peak.memory_mb:.0f} MB of memory; must be at most {MEMORY_MB_MAX:.0f}"
        if peak.files > FILES_MAX:
            yield f"{name} had {peak.files} files open; must be at most {FILES_MAX}"
