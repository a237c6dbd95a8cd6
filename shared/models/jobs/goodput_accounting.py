"""Accounting of every chip of a fabric: chips in slices by what their jobs did, the others by the reason.

All figures are chip-microseconds, each in exactly one category, and sum to chips × time. Both parts have a
closed form between events, so they are available for any time.
`goodput_categories` defines which work is lost and which is uncommitted; `job_progress` applies it to a job.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias, get_args

from schemas.api.goodput_report import GoodputSpan
from schemas.documents.pods import JobDocument, JobsSummary, SchedulerSummary
from schemas.messages.jobs import UsageReported
from schemas.messages.scheduler import CapacityReported
from schemas.names import Tier
from shared.basics.fast_replace import replace
from shared.models.jobs.goodput_categories import UsageByCategory
from shared.models.jobs.job_progress import Progress, progress_at

ALLOCATED = "allocated"
"""The scheduler's category of chips in slices; jobs report what they did with them."""
TIERS: tuple[Tier, ...] = get_args(Tier)
UNUSABLE = ("unhealthy", "drained")
"""The scheduler's categories of chips that no slice could use."""
OTHER_OWNERS = "(others)"
"""Owners beyond `OWNERS_MAX` are booked under this name, which is not a valid owner."""
OWNERS_MAX = 256
"""Pairs of owner and tier that are booked separately in one fabric."""

Group: TypeAlias = tuple[str, Tier]
"""(owner, tier)."""
ChipUs: TypeAlias = dict[str, int]
"""Category → chip-microseconds."""


@dataclass(frozen=True, slots=True)
class JobUse:
    """A slice whose job had the recorded `progress` at `progress.since_us`.

    If it `ended`, its use is already included in its owner's ended slices.
    """

    group: Group
    chips: int
    progress: Progress
    ended: bool = False

    def used(self, at_us: int) -> UsageByCategory:
        """Its use up to a time, if nothing happens until then, in chip-microseconds."""
        progress = self.progress
        progress_now = progress if progress.phase == "queued" else progress_at(progress, at_us)
        return progress_now.usage.times(self.chips)


@dataclass(frozen=True)  # without slots: `fast_replace.replace`
class SliceChipTime:
    """The use of a slice in chip-microseconds; `ended_us` is None while it lives."""

    group: Group
    used: UsageByCategory
    ended_us: int | None = None


@dataclass(frozen=True)  # without slots: `fast_replace.replace`
class ChipTime:
    """A fabric's chip-microseconds between two times.

    `free` is the time outside slices, by category; `used` the time in slices, by (owner, tier); `slices` the
    same for slices still known by name.
    """

    since_us: int
    until_us: int
    chips: int
    free: Mapping[str, int] = field(default_factory=dict)
    used: Mapping[Group, UsageByCategory] = field(default_factory=dict)
    slices: Mapping[str, SliceChipTime] = field(default_factory=dict)

    @property
    def at_start(self) -> "ChipTime":
        """An empty accounting at the start time."""
        return ChipTime(self.since_us, self.since_us, self.chips)

    @property
    def total_chip_us(self) -> int:
        return self.chips * (self.until_us - self.since_us)

    @property
    def chip_us(self) -> ChipUs:
        """All chips, by category."""
        return self.used_by() | dict(self.free)

    def used_by(self, tier: Tier | None = None) -> ChipUs:
        """Time in slices, or in those of one tier, by category."""
        return sum_usage([used for (_, of), used in self.used.items() if tier in (None, of)]).by_category()

    @property
    def usable_chip_us(self) -> int:
        """All time except unhealthy or drained. A chip in a slice is usable whatever its health."""
        return self.total_chip_us - sum([self.free.get(category, 0) for category in UNUSABLE])

    def utilisation(self, tier: Tier | None = None) -> float:
        """Time in slices, or in those of one tier, as a share of usable time."""
        usable = self.usable_chip_us
        return sum(self.used_by(tier).values()) / usable if usable else 0.0


def sum_by_category(rows: Iterable[Mapping[str, int]]) -> ChipUs:
    """The sum of all rows by category."""
    found: ChipUs = {}
    for row in rows:
        for category, us in row.items():
            found[category] = found.get(category, 0) + us
    return found


def sum_usage(usages: Iterable[UsageByCategory]) -> UsageByCategory:
    return UsageByCategory(*map(sum, zip(*[usage.figures for usage in usages], strict=True)))


def sum_by_group(rows: Iterable[tuple[Group, UsageByCategory]]) -> dict[Group, UsageByCategory]:
    """The sums of all rows of each group, in order of first occurrence."""
    found: dict[Group, list[UsageByCategory]] = {}
    for group, usage in rows:
        found.setdefault(group, []).append(usage)
    return {group: usages[0] if len(usages) == 1 else sum_usage(usages) for group, usages in found.items()}


# --- up to a time ---------------------------------------------------------------------------------------


def integral(chip_us: Mapping[str, int], chips_by_category: Mapping[str, int], span_us: int) -> ChipUs:
    """Chip-microseconds by category after a span in which nothing changed."""
    return {category: us + chips_by_category[category] * span_us for category, us in chip_us.items()}


def allocated_share(by_category: Mapping[str, int]) -> float:
    """Share of the healthy, undrained chips that slices have or had, by the scheduler's categories."""
    usable = sum([count for category, count in by_category.items() if category not in UNUSABLE])
    return by_category[ALLOCATED] / usable if usable else 0.0


NO_USE = UsageByCategory()


def job_use(job: JobDocument) -> JobUse:
    """The use of the slice of a `jobs` document."""
    progress = Progress(
        terms=job.terms,
        since_us=job.since_us,
        phase=job.phase,
        speed_ppm=job.speed_ppm,
        spent_us=job.spent_us,
        kept_us=job.kept_us,
        uncommitted_us=job.uncommitted_us,
        leaving=job.leaving,
        starts=job.starts,
        usage=UsageByCategory(**job.used_us),
    )
    return JobUse((job.owner, job.tier), job.chips, progress, job.ended)


def chip_time_until(
    since_us: int,
    at_us: int,
    scheduler: SchedulerSummary,
    ended: Mapping[Group, UsageByCategory],
    uses: Mapping[str, JobUse],
) -> ChipTime:
    """The accounting of a fabric from its commissioning up to a time.

    `ended` is the use of ended slices by (owner, tier). `uses` has the living slices by name, and may have
    ended ones.
    """
    slices, running = dict[str, SliceChipTime](), list[tuple[Group, UsageByCategory]]()
    for name, use in uses.items():
        used = use.used(at_us)
        slices[name] = SliceChipTime(use.group, used, use.progress.since_us if use.ended else None)
        if not use.ended:
            running.append((use.group, used))
    return ChipTime(
        since_us=since_us,
        until_us=at_us,
        chips=scheduler.chips,
        free=_free(integral(scheduler.chip_us, scheduler.chips_by_category, at_us - scheduler.at_us)),
        used=sum_by_group([*ended.items(), *running]),
        slices=slices,
    )


def ended_use(jobs: JobsSummary) -> dict[Group, UsageByCategory]:
    """The use of ended slices, from the summary of `jobs`."""
    return {(use.owner, use.tier): UsageByCategory(**dict(use.chip_us)) for use in jobs.ended}


def reported_chip_time(
    fabric: str, now: ChipTime, at_us: int, usage: UsageReported, capacity: CapacityReported
) -> ChipTime:
    """The accounting of the fabric of `now` up to the time of two reports.

    By tier alone if the reports have no more detail.
    """
    owners, slices = usage.owners, usage.slices or ()
    used: dict[Group, UsageByCategory] = {
        ("", use.tier): UsageByCategory(**dict(use.chip_us)) for use in usage.tiers
    }
    if owners is not None:
        used = {(use.owner, use.tier): UsageByCategory(**dict(use.chip_us)) for use in owners}
    return replace(
        now,
        until_us=at_us,
        free=_free(dict(capacity.chip_us)),
        used=used,
        slices={
            f"{fabric}/slice-{use.number}": SliceChipTime(
                (use.owner, use.tier), UsageByCategory(**dict(use.chip_us))
            )
            for use in slices
        },
    )


def by_tiers(chip_time: ChipTime) -> ChipTime:
    """The same by tier alone."""
    used: dict[Group, UsageByCategory] = {
        ("", tier): UsageByCategory(**chip_time.used_by(tier)) for tier in TIERS
    }
    return replace(chip_time, used=used, slices={})


def _free(chip_us: Mapping[str, int]) -> ChipUs:
    return {category: us for category, us in chip_us.items() if category != ALLOCATED}


# --- between two times ----------------------------------------------------------------------------------


def chip_time_between(before: ChipTime, now: ChipTime) -> ChipTime:
    """The accounting between two times, as known at the later one.

    Work counts by its final outcome. Uncommitted work of the earlier time was done before it. So it is
    subtracted from the work kept since, and, as far as that does not suffice, from the work lost.
    """
    begin_us = before.until_us
    slices: dict[str, SliceChipTime] = {}
    rests: dict[Group, list[UsageByCategory]] = {group: [] for group in now.used}
    """The use of slices known by name, alternating: at the later time, at the earlier time."""
    spent: dict[Group, list[UsageByCategory]] = {group: [] for group in now.used}
    for name, slice_time in now.slices.items():
        if slice_time.ended_us is not None and slice_time.ended_us <= begin_us:
            continue
        old = before.slices[name].used if name in before.slices else NO_USE
        used = _spent(old, slice_time.used)
        slices[name] = SliceChipTime(slice_time.group, used, slice_time.ended_us)
        if slice_time.group in rests:
            rests[slice_time.group] += (slice_time.used, old)
            spent[slice_time.group].append(used)
    all_used = {}
    for group, whole in now.used.items():
        old_whole = before.used.get(group, NO_USE)
        if whole is old_whole and not rests[group]:
            all_used[group] = NO_USE
            continue
        rest = _spent(
            old_whole.minus(sum_usage(rests[group][1::2])), whole.minus(sum_usage(rests[group][::2]))
        )
        all_used[group] = sum_usage([rest, *spent[group]])
    free = {category: us - before.free.get(category, 0) for category, us in now.free.items()}
    return replace(now, since_us=begin_us, free=free, used=all_used, slices=slices)


def _spent(before: UsageByCategory, now: UsageByCategory) -> UsageByCategory:
    kept, open_us, startup, writes, lost, degraded, recovering = before.figures
    productive = now.productive - kept - open_us
    gone = now.lost - lost + min(productive, 0)
    return UsageByCategory(
        max(productive, 0),
        now.uncommitted + min(gone, 0),
        now.startup - startup,
        now.checkpointing - writes,
        max(gone, 0),
        now.degraded - degraded,
        now.recovering - recovering,
    )


def with_uncommitted_kept(chip_time: ChipTime) -> ChipTime:
    """The same for a past time: work without a checkpoint counts as kept."""
    used = {group: usage.after_checkpoint(usage.uncommitted) for group, usage in chip_time.used.items()}
    return replace(chip_time, used=used)


def chip_time_spans(snapshots: Sequence[ChipTime]) -> list[ChipTime]:
    """The accounting of the spans between consecutive times, by tier, as known at the last one.

    Equal times count once.
    """
    by_time = {snapshot.until_us: by_tiers(with_uncommitted_kept(snapshot)) for snapshot in snapshots[:-1]}
    by_time |= {snapshot.until_us: by_tiers(snapshot) for snapshot in snapshots[-1:]}
    return [chip_time_between(before, now) for before, now in pairwise(by_time.values())]


def goodput_span(chip_time: ChipTime) -> GoodputSpan:
    """The same as a row of the HTTP API."""
    return GoodputSpan(
        since_us=chip_time.since_us,
        until_us=chip_time.until_us,
        total_chip_us=chip_time.total_chip_us,
        chip_us=chip_time.chip_us,
        filler_chip_us=chip_time.used_by("filler"),
    )
