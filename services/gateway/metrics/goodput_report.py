"""Goodput reports: where the chip-time of fabrics went, until now or between two times. The rows by pod,
owner, slice or tier sum exactly to chips × time."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from schemas.api.goodput_report import GoodputReport, GoodputRow, GroupBy
from schemas.documents.pods import JobDocument
from schemas.messages.jobs import UsageReported
from schemas.messages.scheduler import CapacityReported
from schemas.names import Tier
from schemas.resource_kinds import SLICES
from services.gateway.fabrics import (
    commissioned_fabrics,
    default_fabric,
    fabric_view,
    has_resource,
    retired_us,
    site_of,
)
from services.gateway.log.history import parse_time
from services.gateway.resources.service_summaries import pod_summaries
from services.gateway.resources.status_documents import natural_sort_key, read_all
from services.gateway.runtime_ports import TwinPorts
from shared.basics.errors import InvalidInput, OperationFailed
from shared.basics.spelling import truncated
from shared.basics.time_format import format_time
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
    sum_by_category,
    sum_usage,
)
from shared.storage.log.log_reader import LogQuery

READ_TRIES = 50
"""Attempts to read documents of one consistent time: services commit one after another."""
SPANS_MAX = 200
REPORTS = ("UsageReported", "CapacityReported")
FULL_REPORT_EVERY = 24
"""Every this many reports, one has owners and slices too."""
FULL_REPORT_ONLY = ("owner", "slice")
"""Groupings of the past that only such a report can answer."""
NO_SLICE = "(no slice)"
ENDED_BEFORE = "(ended before)"


def goodput_report(
    twin: TwinPorts, by: GroupBy, fabric: str | None = None, since: str | None = None, spans: int = 0
) -> GoodputReport:
    """The report until now, of one fabric; with `by` pod and no fabric, of all pods.

    `since` starts it at the last report before that time. There is one report per hour, and one with owners
    and slices per day. `spans` also divides it into at most this many spans of equal length.
    """
    pods_of_report = _pods_of_report(twin, by, fabric)
    begin_us = None if since is None else parse_time(twin, "since", since)[0]
    if since is not None and begin_us is not None:
        pods_of_report = _pods_since(twin, pods_of_report, since, begin_us)
    if spans and len(pods_of_report) > 1:
        raise InvalidInput(f"spans {spans}: needs a fabric; must be one of {', '.join(pods_of_report)}")
    chip_times: dict[str, ChipTime] = {}
    parts: list[ChipTime] = []
    for name in pods_of_report:
        whole = chip_time_now(twin, name)
        whole = whole if by in FULL_REPORT_ONLY else by_tiers(whole)
        before = whole.at_start
        if begin_us is not None:
            before = chip_time_before(twin, name, whole, begin_us, whole=by in FULL_REPORT_ONLY)
        chip_times[name] = chip_time_between(before, whole)
        parts = _parts(twin, name, before, whole, spans) if spans else []
    return _report(by, chip_times, parts)


def _pods_of_report(twin: TwinPorts, by: GroupBy, fabric: str | None) -> list[str]:
    """The pods of the report; raise InvalidInput for a network, which has no chips."""
    pods = [name for name in commissioned_fabrics(twin) if has_resource(twin, name, SLICES)]
    if fabric is None and by == "pod" and pods:
        return pods
    name = default_fabric(twin, fabric, among=pods)
    if name not in pods:
        hint = f"must be one of {', '.join(pods)}" if pods else "there is no pod"
        noun = fabric_view(twin, name).noun
        raise InvalidInput(f"fabric {name}: is a {noun}, which has no chips; {hint}")
    return [name]


def _pods_since(twin: TwinPorts, pods: Sequence[str], since: str, since_us: int) -> list[str]:
    """The pods that had not retired at the start of the report; raise InvalidInput if all had."""
    ended = {name: us for name in pods if (us := retired_us(twin, name)) is not None and us <= since_us}
    if len(ended) == len(pods):
        times = " and ".join(f"{name} retired at {format_time(us)}" for name, us in ended.items())
        raise InvalidInput(f"since {truncated(repr(since))}: {times}; must be a time before that")
    return [name for name in pods if name not in ended]


def chip_time_now(twin: TwinPorts, fabric: str) -> ChipTime:
    """The chip-time of a fabric from its commissioning until now, or until it retired."""
    for _ in range(READ_TRIES):
        now_us = retired_us(twin, fabric)
        if now_us is None:
            now_us = twin.clock.show().now_us
        summaries = pod_summaries(twin, fabric)
        rows = read_all(twin, fabric, "jobs", JobDocument)
        # If a fabric is ahead of the twin's clock (another fabric lags), its integrals are too.
        at_us = max([now_us, summaries.scheduler.at_us, *(row.since_us for row in rows)])
        uses = {row.name: job_use(row) for row in rows}
        since_us, ended = summaries.workload.commissioned_us, ended_use(summaries.jobs)
        chip_time = chip_time_until(since_us, at_us, summaries.scheduler, ended, uses)
        if sum(chip_time.chip_us.values()) == chip_time.total_chip_us:
            return chip_time
    raise OperationFailed(f"{fabric}: changed while its summaries were read; try again")


def chip_time_before(
    twin: TwinPorts, fabric: str, now: ChipTime, moment_us: int, *, whole: bool = False
) -> ChipTime:
    """The chip-time of a fabric at the last report before `moment_us`; at its commissioning if there is none.
    `whole`: a report with owners and slices."""
    site = site_of(twin, fabric)
    query = LogQuery(fabric=fabric, types=REPORTS, end=twin.log.position_at(site, moment_us + 1))
    most = len(REPORTS) * (FULL_REPORT_EVERY + 1 if whole else 2)
    reports = [message for _, message in twin.log.find(site, query, most, newest=True)]
    for usage, capacity in reversed(list(pairwise(reports))):
        used, unused = usage.body, capacity.body
        if not isinstance(used, UsageReported) or not isinstance(unused, CapacityReported):
            continue
        if used.owners is not None or not whole:
            chip_time = reported_chip_time(fabric, now, usage.at_us, used, unused)
            return chip_time if whole else by_tiers(chip_time)
    return now.at_start


def _parts(twin: TwinPorts, fabric: str, begin: ChipTime, end: ChipTime, spans: int) -> list[ChipTime]:
    """The chip-time of each of the spans. Spans between the same two reports are merged."""
    span_us = end.until_us - begin.until_us
    marks = [begin.until_us + span_us * n // spans for n in range(1, spans)]
    readings = [begin, *(chip_time_before(twin, fabric, end, mark_us) for mark_us in marks), end]
    return chip_time_spans([reading for reading in readings if reading.until_us >= begin.until_us])


# --- rows ---------------------------------------------------------------------------------------------------


def _report(by: GroupBy, chip_times: Mapping[str, ChipTime], parts: Sequence[ChipTime]) -> GoodputReport:
    every = list(chip_times.values())
    rows = [row for fabric, chip_time in chip_times.items() for row in _rows(by, fabric, chip_time)]
    total, usable = (
        sum([getattr(chip_time, name) for chip_time in every]) for name in ("total_chip_us", "usable_chip_us")
    )
    by_tier = {tier: sum([sum(chip_time.used_by(tier).values()) for chip_time in every]) for tier in TIERS}
    used_us = sum(by_tier.values())
    chip_us = sum_by_category([chip_time.chip_us for chip_time in every])
    return GoodputReport(
        by=by,
        since_us=min([chip_time.since_us for chip_time in every]),
        until_us=max([chip_time.until_us for chip_time in every]),
        total_chip_us=total,
        chip_us=chip_us,
        utilisation=used_us / usable if usable else None,
        utilisation_by_tier={tier: us / usable for tier, us in by_tier.items()} if usable else None,
        productive_share=chip_us["productive"] / usable if usable else None,
        scheduling_goodput=used_us / total if total else None,
        runtime_goodput=chip_us["productive"] / used_us if used_us else None,
        rows=tuple(rows),
        spans=tuple([goodput_span(part) for part in parts]),
    )


def _rows(by: GroupBy, fabric: str, chip_time: ChipTime) -> list[GoodputRow]:
    """The rows of one fabric; together they are all of its chip-time."""
    if by == "pod":
        return [_row(fabric, chip_time.chip_us)]
    if by == "tier":
        rows = [_row(tier, chip_time.used_by(tier), tier=tier) for tier in TIERS]
    elif by == "owner":
        rows = [
            _row(owner, chip_time.used[owner, tier].by_category(), owner, tier)
            for owner, tier in sorted(chip_time.used)
        ]
    else:
        known = chip_time.slices
        rows = [
            _row(name, known[name].used.by_category(), *known[name].group)
            for name in sorted(known, key=natural_sort_key)
        ]
        forgotten = sum_usage(chip_time.used.values()).minus(sum_usage([one.used for one in known.values()]))
        rows.append(_row(ENDED_BEFORE, forgotten.by_category()))
    return [*rows, _row(NO_SLICE, dict(chip_time.free))]


def _row(name: str, chip_us: ChipUs, owner: str | None = None, tier: Tier | None = None) -> GoodputRow:
    total = sum(chip_us.values())
    return GoodputRow(name=name, owner=owner, tier=tier, total_chip_us=total, chip_us=chip_us)
