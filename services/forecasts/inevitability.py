"""Finds the time from which a past event was likely: runs futures from several points before it, each with
other random draws, and counts those in which the event happens again."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from schemas.api.changes import TimedRequest
from schemas.envelope import Envelope
from services.fabric_kinds import services_of
from services.what_if.run_copy import drive, plant_of_fabric, timed_requests
from shared.basics.units import US_PER_MIN
from shared.engine.site import Site
from shared.models.plant.naming import mentioned_names, mentions_by_field
from shared.models.statistics.means import Interval
from shared.models.statistics.proportions import wilson_share
from shared.runtimes.process_pool import WorkerPool
from shared.storage.snapshots.site_snapshot import SiteSnapshot, from_bytes

LAST_US = US_PER_MIN
"""Time between the last start point and the event."""
LIKELY = 0.5
"""Share of futures above which an event counts as inevitable."""


@dataclass(frozen=True, slots=True)
class PastEvent:
    """A message of this type about this object of a fabric."""

    at_us: int
    fabric: str
    type: str
    about: str


@dataclass(frozen=True, slots=True)
class StartPoint:
    """A time before the event from which futures start, and the operators' requests from then on."""

    before_us: int
    snapshot_bytes: bytes
    from_us: int
    requests: tuple[TimedRequest, ...]


@dataclass(frozen=True, slots=True)
class StartPointResult:
    """The number of `futures` from a start point, `before_us` before the event; the number in which the
    `same` event happened in time; the number in which one of its type did (`any`); and both shares."""

    before_us: int
    futures: int
    same: int
    any: int
    recurred_share: Interval
    type_share: Interval


def start_spans_us(back_us: int, count: int) -> list[int]:
    """`count` spans before the event, from the longest to a minute, in a geometric sequence."""
    if count == 1:
        return [back_us]
    shrinks = (LAST_US / back_us) ** (1 / (count - 1))
    spans = [
        max(LAST_US, round(back_us * shrinks**place / US_PER_MIN) * US_PER_MIN) for place in range(count)
    ]
    return list(dict.fromkeys([back_us, *spans[1:]]))


def try_start_points(
    event: PastEvent, starts: Sequence[StartPoint], futures: int, within_us: int, workers: WorkerPool
) -> list[StartPointResult]:
    """Run futures from each start point; the results are in the same order."""
    cases = [(start, salt) for start in starts for salt in range(1, futures + 1)]
    found = list(workers.each(partial(_recurs_in_case, event, event.at_us + within_us), cases))
    return [
        _start_point_result(start, found[place * futures : (place + 1) * futures])
        for place, start in enumerate(starts)
    ]


def _start_point_result(start: StartPoint, found: Sequence[tuple[bool, bool]]) -> StartPointResult:
    same, some = sum(one for one, _ in found), sum(one for _, one in found)
    times = len(found)
    return StartPointResult(
        start.before_us, times, same, some, wilson_share(same, times), wilson_share(some, times)
    )


def earliest_inevitable(rows: Sequence[StartPointResult]) -> StartPointResult | None:
    """The earliest start point from which on the event surely happens again in more than half of the futures;
    None if there is none."""
    found = None
    for row in reversed(rows):
        if row.recurred_share.low <= LIKELY:
            break
        found = row
    return found


def _recurs_in_case(event: PastEvent, until_us: int, case: tuple[StartPoint, int]) -> tuple[bool, bool]:
    start, salt = case
    return recurs(event, start, until_us, salt)


def recurs(event: PastEvent, start: StartPoint, until_us: int, salt: int) -> tuple[bool, bool]:
    """Whether the same event happens in one future until then, and whether one of its type does."""
    snapshot: SiteSnapshot = from_bytes(start.snapshot_bytes)
    site = snapshot.restored(services_of)
    watch = _EventWatcher(site, event)
    requests = timed_requests(site, start.from_us, start.requests, salt)
    drive(site, requests, until_us, (watch,), watch.is_over)
    return watch.same, watch.any


class _EventWatcher:
    """Watches a future for an event."""

    def __init__(self, site: Site, event: PastEvent) -> None:
        self.same = False
        self.any = False
        self._event = event
        self._plant = plant_of_fabric(site, event.fabric)

    def is_over(self) -> bool:
        return self.same

    def see(self, cascade: Sequence[Envelope]) -> None:
        """Take the messages of a cascade."""
        for message in cascade:
            if message.type == self._event.type and message.fabric == self._event.fabric:
                self.any = True
                body = message.body
                fields = mentions_by_field(type(body), body.__dict__, self._plant, message.fabric)
                self.same = self.same or self._event.about in mentioned_names(fields)
