"""Finds the time from which a past event was likely: runs futures from several points before it, each with
other random draws, and counts those in which the event happens again."""

from collections.abc import Callable, Sequence
from functools import partial

from schemas.api.forecast import InevitabilityResult, PastEvent, ShareReport, StartPoint, StartPointReport
from schemas.envelope import Envelope
from services.fabric_kinds import services_of
from services.what_if.run_copy import drive, plant_of_fabric, timed_requests
from shared.basics.errors import Interrupted
from shared.engine.site import Site
from shared.models.plant.naming import mentioned_names, mentions_by_field
from shared.models.statistics.means import wilson_share
from shared.runtimes.process_pool import WorkerPool, stop_requested
from shared.storage.snapshots.site_snapshot import SiteSnapshot, from_bytes

LIKELY = 0.5
"""Share of futures above which an event counts as inevitable."""


def find_inevitability(
    event: PastEvent,
    starts: Sequence[StartPoint],
    futures: int,
    until_us: int,
    workers: WorkerPool,
    report_progress: Callable[[int], None] = lambda _done: None,
) -> InevitabilityResult:
    """Run `futures` futures from each start point, the earliest first, and count those in which the event
    happens again up to `until_us`. Calls `report_progress` with the number of futures that are done."""
    cases = [(start, salt) for start in starts for salt in range(1, futures + 1)]
    found: list[tuple[bool, bool]] = []
    for recurred in workers.each(partial(_recurs_in_case, event, until_us), cases):
        found.append(recurred)
        report_progress(len(found))
    rows = tuple(
        _start_point_report(start, found[place * futures : (place + 1) * futures])
        for place, start in enumerate(starts)
    )
    first = earliest_inevitable(rows)
    return InevitabilityResult(
        id=event.id,
        type=event.type,
        about=event.about,
        at_us=event.at_us,
        since_us=None if first is None else first.before_us,
        moments=rows,
    )


def _start_point_report(start: StartPoint, found: Sequence[tuple[bool, bool]]) -> StartPointReport:
    same, some = sum(one for one, _ in found), sum(one for _, one in found)
    return StartPointReport(
        before_us=start.before_us,
        futures=len(found),
        same=same,
        any=some,
        recurred_share=share_report(same, len(found)),
        type_share=share_report(some, len(found)),
    )


def share_report(happened: int, times: int) -> ShareReport:
    """The share of `times` futures in which something happened."""
    share = wilson_share(happened, times)
    return ShareReport(
        value=share.value, low=share.low, high=share.high, confidence=share.confidence, runs=share.runs
    )


def earliest_inevitable(rows: Sequence[StartPointReport]) -> StartPointReport | None:
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
    """Whether the same event happens in one future until then, and whether one of its type does. Raise
    Interrupted if the pool of this worker process stops."""
    snapshot: SiteSnapshot = from_bytes(start.snapshot_bytes)
    site = snapshot.restored(services_of)
    watch = _EventWatcher(site, event)
    requests = timed_requests(site, start.from_us, start.requests, salt)
    drive(site, requests, until_us, (watch,), lambda: watch.same or stop_requested())
    if stop_requested() and not watch.same:
        raise Interrupted("the forecast was cancelled")
    return watch.same, watch.any


class _EventWatcher:
    """Watches a future for an event."""

    def __init__(self, site: Site, event: PastEvent) -> None:
        self.same = False
        self.any = False
        self._event = event
        self._plant = plant_of_fabric(site, event.fabric)

    def see(self, cascade: Sequence[Envelope]) -> None:
        """Take the messages of a cascade."""
        for message in cascade:
            if message.type == self._event.type and message.fabric == self._event.fabric:
                self.any = True
                body = message.body
                fields = mentions_by_field(type(body), body.__dict__, self._plant, message.fabric)
                self.same = self.same or self._event.about in mentioned_names(fields)
