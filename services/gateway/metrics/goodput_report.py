"""Where the chip-time of fabrics went, up to now or between two moments: rows by pod, owner, slice or tier
that sum to chips × time exactly."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from schemas.api.goodput_report import GoodputReport, GoodputRow, GroupBy
from schemas.documents.pods import JobDocument
from schemas.messages.jobs import UsageReported
from schemas.messages.scheduler import CapacityReported
from schemas.names import Tier
from services.gateway.fabrics import commissioned_fabrics, default_fabric, fabric_network, retired_us, site_of
from services.gateway.log.history import parse_time
from services.gateway.ports import TwinPorts
from services.gateway.resources.service_summaries import pod_summaries
from services.gateway.resources.status_documents import natural_sort_key, read_all
from shared.basics.errors import InvalidInput, OperationFailed
from shared.models.jobs.goodput_accounting import (
    TIERS,
    ChipTime,
    ChipUs,
    by_tiers,
    chip_time_between,
    chip_time_spans,
    chip_time_until,
    ended_use,
    goodput_span,
    job_use,
    reported_chip_time,
    sum_by_place,
    sum_ledgers,
)
from shared.storage.log.log_reader import LogQuery

READ_TRIES = 50
"""Times that documents are read until all are of one moment: services commit one after the other."""
SPANS_MAX = 200
REPORTS = ("UsageReported", "CapacityReported")
FULL_REPORT_EVERY = 24
"""Reports of which one tells of owners and slices, too."""
FULL_REPORT_ONLY = ("owner", "slice")
"""What only such a report can say of an earlier moment."""
NO_SLICE = "(no slice)"
ENDED_BEFORE = "(ended before)"


def goodput_report(
    twin: TwinPorts, by: GroupBy, fabric: str | None = None, since: str | None = None, spans: int = 0
) -> GoodputReport:
    """All of it up to now: of one fabric, or with `by` pod and none named of all. From `since` on, or the
    report before it, which there is once an hour, by owner and slice once a day; in so many `spans` of equal
    length, or fewer."""
    named = _named(twin, by, fabric)
    begin_us = None if since is None else parse_time(twin, "since", since)[0]
    if spans and len(named) > 1:
        raise InvalidInput(
            f"spans {spans}: only of one fabric; allowed with fabric, one of {', '.join(named)}"
        )
    books: dict[str, ChipTime] = {}
    parts: list[ChipTime] = []
    for name in named:
        whole = chip_time_now(twin, name)
        whole = whole if by in FULL_REPORT_ONLY else by_tiers(whole)
        before = whole.at_start
        if begin_us is not None:
            before = chip_time_before(twin, name, whole, begin_us, whole=by in FULL_REPORT_ONLY)
        books[name] = chip_time_between(before, whole)
        parts = _parts(twin, name, before, whole, spans) if spans else []
    return _report(by, books, parts)


def _named(twin: TwinPorts, by: GroupBy, fabric: str | None) -> list[str]:
    """The pods that are meant; InvalidInput for a network, whose time is nobody's."""
    pods = [name for name in commissioned_fabrics(twin) if fabric_network(twin, name) is None]
    if fabric is None and by == "pod" and pods:
        return pods
    one = default_fabric(twin, fabric)
    if fabric_network(twin, one) is not None:
        there = f"allowed are {', '.join(pods)}" if pods else "there is no pod"
        raise InvalidInput(f"fabric {one}: a datacenter network, which has no chips; {there}")
    return [one]


def chip_time_now(twin: TwinPorts, fabric: str) -> ChipTime:
    """The books of a fabric from its commissioning up to now, or to its end."""
    for _ in range(READ_TRIES):
        now_us = retired_us(twin, fabric)
        if now_us is None:
            now_us = twin.clock.show().now_us
        found = pod_summaries(twin, fabric)
        rows = read_all(twin, fabric, "jobs", JobDocument)
        # A fabric that is ahead of the twin's clock (another one lags) has integrals beyond it.
        at_us = max([now_us, found.scheduler.at_us, *(row.since_us for row in rows)])
        uses = {row.name: job_use(row) for row in rows}
        since_us, ended = found.workload.commissioned_us, ended_use(found.jobs)
        books = chip_time_until(since_us, at_us, found.scheduler, ended, uses)
        if sum(books.chip_us.values()) == books.total_chip_us:
            return books
    raise OperationFailed(f"{fabric}: it changes faster than its books can be read; ask again")


def chip_time_before(
    twin: TwinPorts, fabric: str, now: ChipTime, moment_us: int, *, whole: bool = False
) -> ChipTime:
    """The books of a fabric as of the last report up to a moment, a `whole` one if it has to tell of owners
    and slices; as of its beginning, if there is none."""
    site = site_of(twin, fabric)
    query = LogQuery(fabric=fabric, types=REPORTS, end=twin.log.position_at(site, moment_us + 1))
    most = len(REPORTS) * (FULL_REPORT_EVERY + 1 if whole else 2)
    told = [message for _, message in twin.log.find(site, query, most, newest=True)]
    for usage, capacity in reversed(list(pairwise(told))):
        said, rest = usage.body, capacity.body
        if not isinstance(said, UsageReported) or not isinstance(rest, CapacityReported):
            continue
        if said.owners is not None or not whole:
            books = reported_chip_time(fabric, now, usage.at_us, said, rest)
            return books if whole else by_tiers(books)
    return now.at_start


def _parts(twin: TwinPorts, fabric: str, begin: ChipTime, end: ChipTime, spans: int) -> list[ChipTime]:
    """What came of each of so many spans of about one length; those between the same two reports are one."""
    span_us = end.until_us - begin.until_us
    marks = [begin.until_us + span_us * n // spans for n in range(1, spans)]
    stands = [begin, *(chip_time_before(twin, fabric, end, mark_us) for mark_us in marks), end]
    return chip_time_spans([stand for stand in stands if stand.until_us >= begin.until_us])


# --- rows ---------------------------------------------------------------------------------------------------


def _report(by: GroupBy, books: Mapping[str, ChipTime], parts: Sequence[ChipTime]) -> GoodputReport:
    every = list(books.values())
    rows = [row for fabric, one in books.items() for row in _rows(by, fabric, one)]
    total, usable = (
        sum([getattr(one, name) for one in every]) for name in ("total_chip_us", "usable_chip_us")
    )
    by_tier = {tier: sum([sum(one.used_by(tier).values()) for one in every]) for tier in TIERS}
    had = sum(by_tier.values())
    chip_us = sum_by_place([one.chip_us for one in every])
    return GoodputReport(
        by=by,
        since_us=min([one.since_us for one in every]),
        until_us=max([one.until_us for one in every]),
        total_chip_us=total,
        chip_us=chip_us,
        utilisation=had / usable if usable else None,
        utilisation_by_tier={tier: us / usable for tier, us in by_tier.items()} if usable else None,
        scheduling_goodput=had / total if total else None,
        runtime_goodput=chip_us["productive"] / had if had else None,
        rows=tuple(rows),
        spans=tuple([goodput_span(part) for part in parts]),
    )


def _rows(by: GroupBy, fabric: str, books: ChipTime) -> list[GoodputRow]:
    """Rows of one fabric that together are all of its chip-time."""
    if by == "pod":
        return [_row(fabric, books.chip_us)]
    if by == "tier":
        rows = [_row(tier, books.used_by(tier), tier=tier) for tier in TIERS]
    elif by == "owner":
        rows = [
            _row(owner, books.used[owner, tier].by_place(), owner, tier) for owner, tier in sorted(books.used)
        ]
    else:
        known = books.slices
        rows = [
            _row(name, known[name].used.by_place(), *known[name].group)
            for name in sorted(known, key=natural_sort_key)
        ]
        forgotten = sum_ledgers(books.used.values()).minus(
            sum_ledgers([book.used for book in known.values()])
        )
        rows.append(_row(ENDED_BEFORE, forgotten.by_place()))
    return [*rows, _row(NO_SLICE, dict(books.free))]


def _row(name: str, chip_us: ChipUs, owner: str | None = None, tier: Tier | None = None) -> GoodputRow:
    total = sum(chip_us.values())
    return GoodputRow(name=name, owner=owner, tier=tier, total_chip_us=total, chip_us=chip_us)
