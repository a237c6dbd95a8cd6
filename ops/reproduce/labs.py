"""Lab runs that claims share: each configuration runs once in a process, whoever asks first."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ops.common.configuration import settings
from ops.lab.run import pod_report
from schemas.envelope import Envelope
from schemas.registry import decode
from services.fleet import services_of
from shared.basics.units import US_PER_DAY
from shared.runtimes.lab import Lab, LabRequest

POD = "pod-0"
WORKLOAD_DAYS = 60.0
"""As long as the production pod was watched (NSDI 2024)."""
HARDWARE_DAYS = 3_650.0
DRILL_DAYS = 2.0
SEED = 0
NO_TELEMETRY = "transceivers.telemetry_interval_s=0"
"""Telemetry tells nothing that a claim asks for."""
KEPT = (
    *("CircuitsConnected", "ConnectCircuits", "CubeSwapped", "FaultBegan", "SliceAdmitted", "SliceCompleted"),
    *("SliceDegraded", "SliceEvicted", "SliceRequested", "SliceStalled", "SliceStarted"),
)
"""Types of messages that claims look at."""


@dataclass(frozen=True, slots=True)
class LabRun:
    """What came of a run: the report that `lab run` prints for a pod, and the messages of the kinds kept."""

    days: float
    report: dict[str, Any]
    messages: tuple[Envelope, ...]


@lru_cache(maxsize=8)
def lab_run(days: float, pairs: tuple[str, ...], requests: tuple[LabRequest, ...] = ()) -> LabRun:
    """One superpod for so many days with these settings over the defaults, and with these requests."""
    kept: list[Envelope] = []
    lab = Lab(POD, {POD: settings(list(pairs), seed=SEED)}, services_of, _keeping(kept))
    until_us = round(days * US_PER_DAY)
    lab.run(until_us, requests)
    return LabRun(days, pod_report(lab.site, POD, until_us), tuple(kept))


def workload_run() -> LabRun:
    """Defaults: the production mix, faults and repairs."""
    return lab_run(WORKLOAD_DAYS, (NO_TELEMETRY,))


def hardware_run() -> LabRun:
    """Faults and repairs only, for years."""
    return lab_run(HARDWARE_DAYS, (NO_TELEMETRY, "workload.enabled=false"))


def slow_repair_run() -> LabRun:
    """The same with 3 days to repair anything, and people enough to begin at once."""
    slow = ("repairs.host_repair_h=72", "repairs.link_repair_h=72", "repairs.technicians=1000")
    return lab_run(HARDWARE_DAYS, (NO_TELEMETRY, "workload.enabled=false", *slow))


def drill_run(requests: tuple[LabRequest, ...], offered_load: float) -> LabRun:
    """A pod in which nothing breaks but what is asked for."""
    pairs = (NO_TELEMETRY, "failures.enabled=false", f"workload.offered_load={offered_load}")
    return lab_run(DRILL_DAYS, pairs, requests)


def _keeping(kept: list[Envelope]) -> Callable[[bytes], None]:
    """Takes the lines of the log and decodes those that anybody looks at; most are Ticks."""
    signs = tuple(f'"type":"{name}"'.encode() for name in KEPT)

    def take(lines: bytes) -> None:
        for line in lines.splitlines():
            if any(sign in line for sign in signs):
                kept.append(decode(line))

    return take
