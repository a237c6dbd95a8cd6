"""The recovery time of the twin after a burst of faults: a thread that reads Redis, and the answers to the
operators.

*Live* means that every fabric's time advances, and that every gateway has answered a request that was first
sent after the last fault of the burst was over. The time of a fabric advances if its services take Ticks. If
nothing of it is due, as of a network between two frames of its telemetry, it advances with its site, whose
order lets nothing overtake what is due.
"""

import http.client
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from shared.basics.errors import LightwaveError
from tests.soak.fabric_progress import FabricProgress, standing
from tests.soak.fault_plan import PlannedFault

POLL_S = 0.1
TICKS = 2
"""Time advances again after this number of further Ticks: the first may have been on the log before."""


@dataclass(slots=True)
class InjectedFault:
    """A fault that was carried out. `since_s` is the time at which the last one of its burst was over,
    `ticks` the first that were read after it, `awaited` what had not recovered at the last look, `recovered`
    after how many seconds each fabric and gateway had, and `recovery_s` the time until all had."""

    fault: PlannedFault
    at_s: float
    since_s: float | None = None
    ticks: Mapping[str, FabricProgress] | None = None
    awaited: tuple[str, ...] = ()
    recovered: dict[str, float] = field(default_factory=dict)
    recovery_s: float | None = None

    def is_over(self, seconds: float) -> bool:
        """Whether it has been over for longer than that."""
        return self.since_s is not None and time.monotonic() - self.since_s > seconds


@dataclass(frozen=True, slots=True)
class RecoveryProbe:
    """The inputs of a meter. `ticks` raises OSError, ValueError, HTTPException or LightwaveError while it
    cannot read. `answered` is, for each gateway, the time at which the newest request that it has answered
    was first sent."""

    ticks: Callable[[], Mapping[str, FabricProgress]]
    answered: Callable[[], Mapping[str, float]]


class RecoveryMeter(threading.Thread):
    """Looks until `stop`."""

    def __init__(self, probe: RecoveryProbe) -> None:
        super().__init__(name="meter", daemon=True)
        self.injected: list[InjectedFault] = []
        self._probe = probe
        self._last: dict[str, FabricProgress] = {}
        self._moved_s = time.monotonic()
        self._stop_expected = False
        self._lock = threading.Lock()
        self._stopping = threading.Event()

    def stop(self) -> None:
        self._stopping.set()
        self.join()

    def begin(self, fault: PlannedFault) -> None:
        """A fault will be carried out."""
        with self._lock:
            self.injected.append(InjectedFault(fault, time.monotonic()))

    def end(self) -> None:
        """All faults that were begun are over: from now on the twin can go on."""
        now_s = time.monotonic()
        for injected in self.waiting():
            injected.since_s = now_s

    def stalled_s(self) -> float:
        """How long no pod's time has advanced, or not every pod's; 0 during a planned stop."""
        with self._lock:
            return 0.0 if self._stop_expected else time.monotonic() - self._moved_s

    def expect_stop(self, expected: bool) -> None:
        """A planned stop of the twin begins (True), or it is over: stalled time counts from now."""
        with self._lock:
            self._stop_expected, self._moved_s = expected, time.monotonic()

    def waiting(self) -> list[InjectedFault]:
        """Faults after which the twin is not live yet."""
        with self._lock:
            return [injected for injected in self.injected if injected.recovery_s is None]

    def run(self) -> None:
        base: dict[str, FabricProgress] = {}
        while not self._stopping.wait(POLL_S):
            ticks = _or_none(self._probe.ticks)
            if ticks is not None:
                with self._lock:
                    self._last = {**ticks}
                    if not standing(base, ticks, 1):
                        base, self._moved_s = dict(self._last), time.monotonic()
            self._update_recovery(ticks)

    def _update_recovery(self, ticks: Mapping[str, FabricProgress] | None) -> None:
        for injected in self.waiting():
            if injected.since_s is None:
                continue
            awaited = (*_stalled_fabrics(injected, ticks), *self._silent_gateways(injected.since_s))
            took_s = time.monotonic() - injected.since_s
            for name in {*injected.awaited} - {*awaited}:
                injected.recovered[name] = took_s
            injected.awaited = awaited or injected.awaited
            if not awaited:
                injected.recovery_s = took_s

    def _silent_gateways(self, since_s: float) -> list[str]:
        """Gateways that have answered nothing new since."""
        return [name for name, first_s in self._probe.answered().items() if first_s <= since_s]


def _stalled_fabrics(injected: InjectedFault, ticks: Mapping[str, FabricProgress] | None) -> list[str]:
    """Fabrics whose time has not advanced since."""
    if ticks is None:
        return ["redis"]
    if injected.ticks is None:
        injected.ticks = dict(ticks)
    return standing(injected.ticks, ticks, TICKS)


def _or_none(look: Callable[[], Any]) -> Any:
    try:
        return look()
    except (OSError, ValueError, http.client.HTTPException, LightwaveError):
        return None


def check_recovery(injected: Iterable[InjectedFault], recovery_s_max: float) -> Iterator[str]:
    """A sentence for every fault after which the twin did not recover within this number of seconds."""
    for one in injected:
        if one.recovery_s is None or one.recovery_s > recovery_s_max:
            took = "never" if one.recovery_s is None else f"only {one.recovery_s:.0f} s"
            yield (
                f"fault {one.fault.number} ({one.fault.fault_action.action} "
                f"{one.fault.target.name}): live again "
                f"{took} after the end of burst {one.fault.burst}; must be at most {recovery_s_max:.0f} s; "
                f"awaited last: {', '.join(one.awaited)}"
            )


def recovery_summary(injected: Iterable[InjectedFault]) -> dict[str, dict[str, dict[str, float]]]:
    """Kind of target → action → {count, least_s, median_s, most_s} of the seconds until the twin was live."""
    found: dict[str, dict[str, list[float]]] = {}
    for one in injected:
        if one.recovery_s is not None:
            fault_action = one.fault.fault_action
            found.setdefault(fault_action.kind, {}).setdefault(fault_action.action, []).append(one.recovery_s)
    return {
        kind: {
            action: {
                "count": len(seconds),
                "least_s": round(min(seconds), 2),
                "median_s": round(median(seconds), 2),
                "most_s": round(max(seconds), 2),
            }
            for action, seconds in sorted(actions.items())
        }
        for kind, actions in sorted(found.items())
    }
