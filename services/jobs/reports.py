"""What slices have used, told every hour, so that the log can say it of any of these moments later."""

from schemas.jobs import ChipTime, OwnerUse, SliceUse, UsageReported
from services.jobs.state import JobsState
from shared.basics.units import US_PER_HOUR
from shared.models.jobs.goodput import JobUse, used_at
from shared.models.jobs.ledger import Ledger


def reported(state: JobsState) -> list[UsageReported]:
    """The report, if it is time for one."""
    now_us = state.now_us
    if now_us < state.reports_us:
        return []
    state.reports_us += US_PER_HOUR
    uses = {
        number: JobUse((job.owner, job.tier), job.chips, job.progress)
        for number, job in sorted(state.jobs.items())
    }
    ended = {(book.owner, book.tier): book.used for _, book in sorted(state.books.items())}
    owners = [
        OwnerUse(owner=owner, tier=tier, chip_us=told(used))
        for (owner, tier), used in used_at(ended, uses.values(), now_us).items()
    ]
    slices = [
        SliceUse(number=number, owner=use.group[0], tier=use.group[1], chip_us=told(use.used(now_us)))
        for number, use in uses.items()
        if use.progress.ledger.total or use.progress.phase != "queued"
    ]
    return [UsageReported(owners=tuple(owners), slices=tuple(slices))]


def told(used: Ledger) -> ChipTime:
    """As messages and documents have it."""
    return tuple([(place, us) for place, us in used.by_place().items() if us])
