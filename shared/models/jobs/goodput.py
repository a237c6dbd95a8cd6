"""What every chip of a fabric was for: those that slices had, by what their jobs did; the rest, by why.

All figures are chip-microseconds, each in exactly one place, and sum to chips × time. Both halves go on in
closed form until something happens, so that they can be told for any moment.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias, get_args

from schemas.documents import JobDocument, JobsSummary, SchedulerSummary
from schemas.names import Tier
from shared.models.jobs.ledger import Ledger
from shared.models.jobs.progress import Progress, at

ALLOCATED = "allocated"
"""Where the scheduler has what slices hold; what they did with it, their jobs tell."""
TIERS: tuple[Tier, ...] = get_args(Tier)
UNUSABLE = ("unhealthy", "drained")
"""Where the scheduler has what no slice could have had."""
OTHERS = "(others)"
"""Under which owners beyond `OWNERS_MAX` are booked; nobody can be called so."""
OWNERS_MAX = 256
"""Pairs of owner and tier that have books of their own in one fabric."""

Group: TypeAlias = tuple[str, Tier]
"""(owner, tier)."""
ChipUs: TypeAlias = dict[str, int]
"""Place → chip-microseconds."""


@dataclass(frozen=True, slots=True)
class SliceUse:
    """A slice whose job stood at `progress.since_us` as that says. What one used that `ended` is with its
    owner's ended ones already."""

    owner: str
    tier: Tier
    chips: int
    progress: Progress
    ended: bool = False

    def used(self, at_us: int) -> Ledger:
        """What it has used up to a moment, if nothing happens until then."""
        return at(self.progress, at_us).ledger.times(self.chips)


@dataclass(frozen=True, slots=True)
class Books:
    """A fabric's chip-microseconds between two moments. `free` is what no slice had, by place; `used` what
    slices had, by (owner, tier); `slices` the same of those that are still known by name."""

    since_us: int
    until_us: int
    chips: int
    free: ChipUs
    used: Mapping[Group, Ledger]
    slices: Mapping[str, tuple[Group, Ledger]] = field(default_factory=dict)

    @property
    def total_chip_us(self) -> int:
        return self.chips * (self.until_us - self.since_us)

    @property
    def chip_us(self) -> ChipUs:
        """By place, of all chips."""
        return summed(self.used.values()).by_place() | self.free

    def utilisation(self, tier: Tier | None = None) -> float:
        """What slices had (of one tier) of the chips that were healthy and not drained. A chip that a slice
        holds counts as such whatever its health."""
        usable = self.total_chip_us - sum([self.free.get(place, 0) for place in UNUSABLE])
        had = sum([used.total for (_, of), used in self.used.items() if tier in (None, of)])
        return had / usable if usable else 0.0


def summed(ledgers: Iterable[Ledger]) -> Ledger:
    found = Ledger()
    for ledger in ledgers:
        found = found.plus(**ledger.by_place())
    return found


def used_at(ended: Mapping[Group, Ledger], uses: Iterable[SliceUse], at_us: int) -> dict[Group, Ledger]:
    """What slices have used up to a moment, by (owner, tier): those that ended, and those that live."""
    used = dict(ended)
    for use in uses:
        if not use.ended:
            group = (use.owner, use.tier)
            used[group] = used.get(group, Ledger()).plus(**use.used(at_us).by_place())
    return used


def integral(chip_us: ChipUs, chips_by_place: Mapping[str, int], span_us: int) -> ChipUs:
    """Chip-microseconds by place after a span in which nothing changed."""
    return {place: us + chips_by_place[place] * span_us for place, us in chip_us.items()}


def use_of(job: JobDocument) -> SliceUse:
    """The slice that a document of `jobs` is about."""
    progress = Progress(
        terms=job.terms,
        since_us=job.since_us,
        phase=job.phase,
        speed_ppm=job.speed_ppm,
        spent_us=job.spent_us,
        kept_us=job.kept_us,
        fresh_us=job.fresh_us,
        leaving=job.leaving,
        starts=job.starts,
        ledger=Ledger(**job.used_us),
    )
    return SliceUse(job.owner, job.tier, job.chips, progress, job.ended)


def books_of(
    since_us: int, at_us: int, scheduler: SchedulerSummary, jobs: JobsSummary, rows: Iterable[JobDocument]
) -> Books:
    """The books of a fabric from its commissioning up to a moment, from documents of one view."""
    free = integral(scheduler.chip_us, scheduler.chips_by_place, at_us - scheduler.at_us)
    del free[ALLOCATED]
    uses = {row.name: use_of(row) for row in rows}
    ended = {(use.owner, use.tier): Ledger(**use.chip_us) for use in jobs.ended}
    return Books(
        since_us=since_us,
        until_us=at_us,
        chips=scheduler.chips,
        free=free,
        used=used_at(ended, uses.values(), at_us),
        slices={name: ((use.owner, use.tier), use.used(at_us)) for name, use in uses.items()},
    )


def between(before: Books, now: Books) -> Books:
    """What happened from one moment to a later one, as it is known at the later.

    Time counts by what has become of it. What no checkpoint kept at the earlier moment had been done before
    it, so it comes off again what was kept since; off what was lost, as far as that does not reach.
    """
    return Books(
        since_us=before.until_us,
        until_us=now.until_us,
        chips=now.chips,
        free={place: us - before.free.get(place, 0) for place, us in now.free.items()},
        used={group: _spent(before.used.get(group), used) for group, used in now.used.items()},
        slices={
            name: (group, _spent(before.slices[name][1] if name in before.slices else None, used))
            for name, (group, used) in now.slices.items()
        },
    )


def _spent(before: Ledger | None, now: Ledger) -> Ledger:
    if before is None:
        return now
    spent = now.plus(**{place: -us for place, us in before.by_place().items()})
    productive = spent.productive - before.uncommitted
    lost = spent.lost + min(productive, 0)
    return replace(
        spent,
        productive=max(productive, 0),
        lost=max(lost, 0),
        uncommitted=now.uncommitted + min(lost, 0),
    )
