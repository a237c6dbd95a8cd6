"""Hourly usage reports, so that the log has the usage at each of these times."""

from collections.abc import Mapping, Sequence

from schemas.messages.jobs import ChipTime, OwnerUse, SliceUse, TierUse, UsageReported
from services.jobs.state import JobsState
from shared.basics.units import US_PER_HOUR
from shared.models.jobs.goodput_accounting import TIERS, Group, JobUse, sum_by_group, sum_ledgers
from shared.models.jobs.goodput_categories import Ledger

FULL_REPORT_EVERY = 24
"""Every N-th report is complete; the others have only tiers, to keep the log small."""


def usage_report(state: JobsState) -> list[UsageReported]:
    """The usage report, if it is due."""
    now_us = state.now_us
    if now_us < state.next_report_us:
        return []
    state.next_report_us += US_PER_HOUR
    state.reports += 1
    uses = {
        number: JobUse((job.owner, job.tier), job.chips, job.progress)
        for number, job in sorted(state.jobs.items())
        if job.cubes  # kept while it waits again; without any it has used nothing
    }
    used = {number: use.used(now_us) for number, use in uses.items()}
    rows = [((usage.owner, usage.tier), usage.used) for _, usage in sorted(state.books.items())]
    rows += [(use.group, used[number]) for number, use in uses.items()]
    if state.reports % FULL_REPORT_EVERY:
        return [UsageReported(tiers=_tiers(rows), owners=None, slices=None)]
    return [UsageReported(tiers=_tiers(rows), owners=_owners(rows), slices=_slices(uses, used))]


def _tiers(rows: Sequence[tuple[Group, Ledger]]) -> tuple[TierUse, ...]:
    by_tier = {
        tier: sum_ledgers([used for (_, job_tier), used in rows if job_tier == tier]) for tier in TIERS
    }
    return tuple([TierUse(tier=tier, chip_us=chip_time(used)) for tier, used in by_tier.items()])


def _owners(rows: Sequence[tuple[Group, Ledger]]) -> tuple[OwnerUse, ...]:
    used = sum_by_group(rows)
    return tuple(
        [
            OwnerUse(owner=owner, tier=tier, chip_us=chip_time(ledger))
            for (owner, tier), ledger in used.items()
        ]
    )


def _slices(uses: Mapping[int, JobUse], used: Mapping[int, Ledger]) -> tuple[SliceUse, ...]:
    return tuple(
        [
            SliceUse(number=number, owner=use.group[0], tier=use.group[1], chip_us=chip_time(used[number]))
            for number, use in uses.items()
            if used[number].total
        ]
    )


def chip_time(used: Ledger) -> ChipTime:
    """The non-zero entries of a ledger, as messages and documents have them."""
    return tuple([(place, us) for place, us in used.by_place().items() if us])
