"""Where the chip-time of fabrics went, up to now or between two moments: rows by pod, owner, slice or tier
that sum to chips × time exactly."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from schemas.api_goodput import By, GoodputReport, GoodputRow
from schemas.documents import JobDocument
from schemas.jobs import UsageReported
from schemas.names import Tier
from schemas.scheduler import CapacityReported
from services.gateway.documents import natural, read_all
from services.gateway.fabrics import commissioned, meant, network_at, retired_us, site_of
from services.gateway.history import moment_of
from services.gateway.ports import TwinPorts
from services.gateway.summaries import summaries_of
from shared.basics.errors import InvalidInput, OperationFailed
from shared.models.jobs.goodput import (
    TIERS,
    Books,
    ChipUs,
    added,
    between,
    books_of,
    by_tiers,
    ended_of,
    reported_books,
    span_of,
    spans_between,
    summed,
    use_of,
)
from shared.storage.log.reader import LogQuery

LOOKS = 50
"""Times that documents are read until all are of one moment: services commit one after the other."""
SPANS_MAX = 200
REPORTS = ("UsageReported", "CapacityReported")
WHOLE_EVERY = 24
"""Reports of which one tells of owners and slices, too."""
WHOLE = ("owner", "slice")
"""What only such a report can say of an earlier moment."""
NO_SLICE = "(no slice)"
ENDED_BEFORE = "(ended before)"


def goodput(
    twin: TwinPorts, by: By, fabric: str | None = None, since: str | None = None, spans: int = 0
) -> GoodputReport:
    """All of it up to now: of one fabric, or with `by` pod and none named of all. From `since` on, or the
    report before it, which there is once an hour, by owner and slice once a day; in so many `spans` of equal
    length, or fewer."""
    named = _named(twin, by, fabric)
    begin_us = None if since is None else moment_of(twin, "since", since)[0]
    if spans and len(named) > 1:
        raise InvalidInput(
            f"spans {spans}: only of one fabric; allowed with fabric, one of {', '.join(named)}"
        )
    books: dict[str, Books] = {}
    parts: list[Books] = []
    for name in named:
        whole = books_now(twin, name)
        whole = whole if by in WHOLE else by_tiers(whole)
        before = whole.begun
        if begin_us is not None:
            before = books_before(twin, name, whole, begin_us, whole=by in WHOLE)
        books[name] = between(before, whole)
        parts = _parts(twin, name, before, whole, spans) if spans else []
    return _report(by, books, parts)


def _named(twin: TwinPorts, by: By, fabric: str | None) -> list[str]:
    """The pods that are meant; InvalidInput for a network, whose time is nobody's."""
    pods = [name for name in commissioned(twin) if network_at(twin, name) is None]
    if fabric is None and by == "pod" and pods:
        return pods
    one = meant(twin, fabric)
    if network_at(twin, one) is not None:
        there = f"allowed are {', '.join(pods)}" if pods else "there is no pod"
        raise InvalidInput(f"fabric {one}: a datacenter network, which has no chips; {there}")
    return [one]


def books_now(twin: TwinPorts, fabric: str) -> Books:
    """The books of a fabric from its commissioning up to now, or to its end."""
    for _ in range(LOOKS):
        now_us = retired_us(twin, fabric)
        if now_us is None:
            now_us = twin.clock.show().now_us
        found = summaries_of(twin, fabric)
        rows = read_all(twin, fabric, "jobs", JobDocument)
        # A fabric that is ahead of the twin's clock (another one lags) has integrals beyond it.
        at_us = max([now_us, found.scheduler.at_us, *(row.since_us for row in rows)])
        uses = {row.name: use_of(row) for row in rows}
        since_us, ended = found.workload.commissioned_us, ended_of(found.jobs)
        books = books_of(since_us, at_us, found.scheduler, ended, uses)
        if sum(books.chip_us.values()) == books.total_chip_us:
            return books
    raise OperationFailed(f"{fabric}: it changes faster than its books can be read; ask again")


def books_before(twin: TwinPorts, fabric: str, now: Books, moment_us: int, *, whole: bool = False) -> Books:
    """The books of a fabric as of the last report up to a moment, a `whole` one if it has to tell of owners
    and slices; as of its beginning, if there is none."""
    site = site_of(twin, fabric)
    query = LogQuery(fabric=fabric, types=REPORTS, end=twin.log.position_at(site, moment_us + 1))
    most = len(REPORTS) * (WHOLE_EVERY + 1 if whole else 2)
    told = [message for _, message in twin.log.find(site, query, most, newest=True)]
    for usage, capacity in reversed(list(pairwise(told))):
        said, rest = usage.body, capacity.body
        if not isinstance(said, UsageReported) or not isinstance(rest, CapacityReported):
            continue
        if said.owners is not None or not whole:
            books = reported_books(fabric, now, usage.at_us, said, rest)
            return books if whole else by_tiers(books)
    return now.begun


def _parts(twin: TwinPorts, fabric: str, begin: Books, end: Books, spans: int) -> list[Books]:
    """What came of each of so many spans of about one length; those between the same two reports are one."""
    span_us = end.until_us - begin.until_us
    marks = [begin.until_us + span_us * n // spans for n in range(1, spans)]
    stands = [begin, *(books_before(twin, fabric, end, mark_us) for mark_us in marks), end]
    return spans_between([stand for stand in stands if stand.until_us >= begin.until_us])


# --- rows ---------------------------------------------------------------------------------------------------


def _report(by: By, books: Mapping[str, Books], parts: Sequence[Books]) -> GoodputReport:
    every = list(books.values())
    rows = [row for fabric, one in books.items() for row in _rows(by, fabric, one)]
    total, usable = (
        sum([getattr(one, name) for one in every]) for name in ("total_chip_us", "usable_chip_us")
    )
    by_tier = {tier: sum([sum(one.used_by(tier).values()) for one in every]) for tier in TIERS}
    had = sum(by_tier.values())
    chip_us = added([one.chip_us for one in every])
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
        spans=tuple([span_of(part) for part in parts]),
    )


def _rows(by: By, fabric: str, books: Books) -> list[GoodputRow]:
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
            _row(name, known[name].used.by_place(), *known[name].group) for name in sorted(known, key=natural)
        ]
        forgotten = summed(books.used.values()).minus(summed([book.used for book in known.values()]))
        rows.append(_row(ENDED_BEFORE, forgotten.by_place()))
    return [*rows, _row(NO_SLICE, dict(books.free))]


def _row(name: str, chip_us: ChipUs, owner: str | None = None, tier: Tier | None = None) -> GoodputRow:
    total = sum(chip_us.values())
    return GoodputRow(name=name, owner=owner, tier=tier, total_chip_us=total, chip_us=chip_us)
