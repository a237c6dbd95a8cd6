"""How long the twin needs to go on after a fault: a thread that looks at Redis and at the gateway, and never
through the processes that are struck.
"""

import http.client
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from ops.soak.plan import Fault
from shared.basics.errors import LightwaveError

LOOK_S = 0.1
TICKS = 2
"""Time advances again when every pod has had so many Ticks more: the first may have stood on the log before.
"""


@dataclass(slots=True)
class Struck:
    """A fault that was carried out. `since_s` is when the twin could begin to go on: the kill or the end of
    the pause. `ticks` is what was first read after that moment, `gateway` the process that answered before.
    """

    fault: Fault
    at_s: float
    since_s: float | None = None
    ticks: Mapping[str, int] | None = None
    gateway: int | None = None
    resumed_s: float | None = None


@dataclass(frozen=True, slots=True)
class Probe:
    """What a meter looks at; each raises OSError, ValueError, HTTPException or LightwaveError while it
    cannot. `gateway` is the process that answers there now."""

    ticks: Callable[[], Mapping[str, int]]
    gateway: Callable[[], int | None]


class Meter(threading.Thread):
    """Looks until `stop`."""

    def __init__(self, probe: Probe) -> None:
        super().__init__(name="meter", daemon=True)
        self.struck: list[Struck] = []
        self._probe = probe
        self._last: dict[str, int] = {}
        self._moved_s = time.monotonic()
        self._lock = threading.Lock()
        self._stopping = threading.Event()

    def stop(self) -> None:
        self._stopping.set()
        self.join()

    def begin(self, fault: Fault, gateway: int | None) -> Struck:
        """A fault is about to be carried out."""
        with self._lock:
            struck = Struck(fault, time.monotonic(), gateway=gateway)
            self.struck.append(struck)
        return struck

    def end(self, struck: Struck) -> None:
        """From now on the twin can go on."""
        struck.since_s = time.monotonic()

    def still_s(self) -> float:
        """How long no pod's time has advanced, or not every pod's."""
        with self._lock:
            return time.monotonic() - self._moved_s

    def waiting(self) -> list[Struck]:
        """Faults from which the twin has not resumed yet."""
        with self._lock:
            return [struck for struck in self.struck if struck.resumed_s is None]

    def run(self) -> None:
        base: dict[str, int] = {}
        while not self._stopping.wait(LOOK_S):
            ticks = _tried(self._probe.ticks)
            if ticks is not None:
                with self._lock:
                    self._last = {name: max(n, self._last.get(name, 0)) for name, n in ticks.items()}
                    if all(n > base.get(name, -1) for name, n in self._last.items()):
                        base, self._moved_s = dict(self._last), time.monotonic()
            self._judge(ticks)

    def _judge(self, ticks: Mapping[str, int] | None) -> None:
        for struck in self.waiting():
            if struck.since_s is None:
                continue
            goes_on = (
                self._answers(struck) if struck.fault.target.kind == "gateway" else _ticks(struck, ticks)
            )
            if goes_on:
                struck.resumed_s = time.monotonic() - struck.since_s

    def _answers(self, struck: Struck) -> bool:
        answering = _tried(self._probe.gateway)
        return answering is not None and (struck.fault.action == "pause" or answering != struck.gateway)


def _ticks(struck: Struck, ticks: Mapping[str, int] | None) -> bool:
    if ticks is None:
        return False
    if struck.ticks is None:
        struck.ticks = dict(ticks)
    return all(n >= struck.ticks.get(name, 0) + TICKS for name, n in ticks.items())


def _tried(look: Callable[[], Any]) -> Any:
    try:
        return look()
    except (OSError, ValueError, http.client.HTTPException, LightwaveError):
        return None


def summary(struck: list[Struck]) -> dict[str, dict[str, dict[str, float]]]:
    """Kind of process → fault → {count, median_s, most_s} of the seconds until the twin went on."""
    found: dict[str, dict[str, list[float]]] = {}
    for one in struck:
        if one.resumed_s is not None:
            found.setdefault(one.fault.target.kind, {}).setdefault(one.fault.action, []).append(one.resumed_s)
    return {
        kind: {
            action: {
                "count": len(seconds),
                "median_s": round(median(seconds), 2),
                "most_s": round(max(seconds), 2),
            }
            for action, seconds in sorted(actions.items())
        }
        for kind, actions in sorted(found.items())
    }
