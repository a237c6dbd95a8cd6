"""Hourly usage reports, so that the log has the usage at each of these times."""

from collections.abc import Mapping, Sequence

from schemas.messages.jobs import ChipTimeByCategory, OwnerUse, SliceUse, TierUse, UsageReported
from services.jobs.state import JobsState
from shared.basics.units import US_PER_HOUR
from shared.models.jobs.goodput_accounting import TIERS, Group, JobUse, sum_by_group, sum_usage
from shared.models.jobs.goodput_categories import UsageByCategory

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
    rows = [((usage.owner, usage.tier), usage.used) for _, usage in sorted(state.usage_by_owner.items())]
    rows += [(use.group, used[number]) for number, use in uses.items()]
    if state.reports % FULL_REPORT_EVERY:
        return [UsageReported(tiers=_tiers(rows), owners=None, slices=None)]
    return [UsageReported(tiers=_tiers(rows), owners=_owners(rows), slices=_slices(uses, used))]


def _tiers(rows: Sequence[tuple[Group, UsageByCategory]]) -> tuple[TierUse, ...]:
    by_tier = {tier: sum_usage([used for (_, job_tier), used in rows if job_tier == tier]) for tier in TIERS}
    return tuple([TierUse(tier=tier, chip_us=chip_time(used)) for tier, used in by_tier.items()])


def _owners(rows: Sequence[tuple[Group, UsageByCategory]]) -> tuple[OwnerUse, ...]:
    used = sum_by_group(rows)
    return tuple(
        [OwnerUse(owner=owner, tier=tier, chip_us=chip_time(usage)) for (owner, tier), usage in used.items()]
    )


def _slices(uses: Mapping[int, JobUse], used: Mapping[int, UsageByCategory]) -> tuple[SliceUse, ...]:
    return tuple(
        [
            SliceUse(number=number, owner=use.group[0], tier=use.group[1], chip_us=chip_time(used[number]))
            for number, use in uses.items()
            if used[number].total
        ]
    )


def chip_time(used: UsageByCategory) -> ChipTimeByCategory:
    """The categories with usage, as messages and documents have them."""
    return tuple([(category, us) for category, us in used.by_category().items() if us])
