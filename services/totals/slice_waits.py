"""How long slices waited for cubes, took to start, and took to recover from faults, read from the log as it
is written."""

from array import array
from collections import defaultdict

from schemas.body import Body, Model
from schemas.messages.scheduler import (
    SliceAdmitted,
    SliceCompleted,
    SliceDegraded,
    SliceEvicted,
    SliceRecovering,
    SliceRefused,
    SliceRequeued,
    SliceRestored,
    SliceStarted,
)
from schemas.messages.workload import SliceRequested
from shared.models.superpod.shapes import chips_of, is_mesh

PERCENTILES = (50, 95)
DURATIONS = ("startups", "recoveries")


class SliceWaitRow(Model):
    """Waits for cubes of the slices of one tier and size; ranks over those that have started or still
    wait."""

    tier: str
    chips: int
    started: int
    waiting: int
    p50_us: int
    p95_us: int
    most_us: int


class SliceWaits:
    """Waits of slices requested after a given time, by fabric, tier and size, and start-ups and recoveries
    after it."""

    def __init__(self, since_us: int) -> None:
        self._since_us = since_us
        self._requested: dict[str, tuple[str, str, int, int]] = {}
        """Slice that waits for its first start → (fabric, tier, chips, request time)."""
        self._waited: dict[tuple[str, str, int], array[int]] = defaultdict(_spans)
        self._began: dict[tuple[str, str], int] = {}
        """(kind of wait, slice) → start time."""
        self._took: dict[tuple[str, str], array[int]] = defaultdict(_spans)
        self._running: dict[str, bool] = {}
        """Started slice → whether a fault has hit it since."""
        self._ran: dict[tuple[str, bool], int] = defaultdict(int)
        """(fabric, whether a fault hit it) → number of ended slices."""

    def see(self, fabric: str, at_us: int, body: Body) -> None:
        """Take the body of a message; bodies of other subjects than slices have no effect."""
        self._follow_durations(fabric, at_us, body)
        self._follow_disruptions(fabric, at_us, body)
        match body:
            case SliceRequested(slice=name) if at_us > self._since_us:
                self._requested[name] = fabric, body.tier, chips_of(body.shape), at_us
            case SliceStarted(slice=name) if name in self._requested:
                requested_fabric, tier, chips, requested_us = self._requested.pop(name)
                self._waited[requested_fabric, tier, chips].append(at_us - requested_us)
            case SliceRefused(slice=name) | SliceEvicted(slice=name) | SliceCompleted(slice=name):
                self._requested.pop(name, None)

    def _follow_durations(self, fabric: str, at_us: int, body: Body) -> None:
        match body:
            case SliceAdmitted(slice=name) if at_us > self._since_us and not is_mesh(body.shape):
                self._began["startups", name] = at_us
            case SliceRecovering(slice=name) if at_us > self._since_us:
                self._began.setdefault(("recoveries", name), at_us)
            case SliceStarted(slice=name) | SliceRestored(slice=name) | SliceDegraded(slice=name):
                for what in DURATIONS:
                    if (began_us := self._began.pop((what, name), None)) is not None:
                        self._took[what, fabric].append(at_us - began_us)
            case SliceRequeued(slice=name):
                self._began.pop(("startups", name), None)
            case SliceEvicted(slice=name) | SliceCompleted(slice=name):
                for what in DURATIONS:
                    self._began.pop((what, name), None)

    def _follow_disruptions(self, fabric: str, at_us: int, body: Body) -> None:
        match body:
            case SliceStarted(slice=name) if at_us > self._since_us:
                self._running.setdefault(name, False)
            case SliceRecovering(slice=name) if name in self._running:
                self._running[name] = True
            case SliceCompleted(slice=name) | SliceEvicted(slice=name) if name in self._running:
                self._ran[fabric, self._running.pop(name)] += 1

    def disrupted(self, fabric: str) -> dict[str, int]:
        """Number of slices that started and ended, and how many of them a fault hit."""
        calm, hit = self._ran[fabric, False], self._ran[fabric, True]
        return {"ended": calm + hit, "disrupted": hit}

    def spans(self, fabric: str) -> dict[str, dict[str, int | None]]:
        """The times from cubes to running, of slices that need circuits (`startups`), and from a failure
        under a slice to running again, possibly elsewhere or slower (`recoveries`)."""
        found: dict[str, dict[str, int | None]] = {}
        for what in DURATIONS:
            took = sorted(self._took.get((what, fabric), []))
            ranks = {f"p{percent}_us": _rank(took, percent) if took else None for percent in PERCENTILES}
            found[what] = {"count": len(took), **ranks, "most_us": took[-1] if took else None}
        return found

    def lengths(self, fabric: str, at_us: int) -> dict[str, list[int]]:
        """Waits by slice: the waits for cubes (`waits`), the slices that still wait with the
        time so far; `startups` and `recoveries`."""
        waited = [us for key, rows in self._waited.items() if key[0] == fabric for us in rows]
        waiting = [
            at_us - requested_us for of, _, _, requested_us in self._requested.values() if of == fabric
        ]
        return {"waits": [*waited, *waiting]} | {
            what: [*self._took.get((what, fabric), ())] for what in DURATIONS
        }

    def report(self, fabric: str, at_us: int) -> list[SliceWaitRow]:
        """A row per tier and size. A slice that still waits at `at_us` counts with its wait so far. A slice
        that was refused or withdrawn before its start does not count."""
        waiting: dict[tuple[str, str, int], list[int]] = defaultdict(list)
        for of, tier, chips, requested_us in self._requested.values():
            waiting[of, tier, chips].append(at_us - requested_us)
        found = []
        for key in sorted(self._waited.keys() | waiting.keys()):
            if key[0] == fabric:
                started = self._waited.get(key, _spans())
                waits = sorted([*started, *waiting.get(key, [])])
                found.append(
                    SliceWaitRow(
                        tier=key[1],
                        chips=key[2],
                        started=len(started),
                        waiting=len(waits) - len(started),
                        p50_us=_rank(waits, 50),
                        p95_us=_rank(waits, 95),
                        most_us=waits[-1],
                    )
                )
        return found


def _spans() -> "array[int]":
    """Spans in microseconds, one of each slice: 8 bytes a span, because a trace can have millions of rows."""
    return array("q")


def _rank(waits: list[int], percent: int) -> int:
    """The percentile of the waits (nearest rank)."""
    return waits[-(-len(waits) * percent // 100) - 1]
