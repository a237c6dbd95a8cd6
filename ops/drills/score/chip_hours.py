"""Where the chip-hours that a drill cost went, and what could have saved them.

Every chip-microsecond is in exactly one category of the accounting (docs/reference/accounting.md). So the
work that a drill took is in other categories, which are larger than in the same run without the drill. Only
a parameter that acts on one of these can have helped, and at most by its chip-hours.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ops.drills.score.figures import FULL, Figure
from shared.basics.time_format import format_chip_hours

WORK = ("productive", "uncommitted")
"""Categories of chip-time with work that no fault took."""
MEANINGS: Mapping[str, tuple[str, str | None]] = {
    "startup": ("start-up of slices", "a shorter start-up: --set workload.startup_s=N"),
    "checkpointing": ("checkpoint writes", "faster writes: --set workload.checkpoint_write_s=N"),
    "lost": (
        "steps since the last checkpoint",
        "shorter checkpoint intervals: --set workload.checkpoint_every_s=N",
    ),
    "degraded": ("steps over slower links", "faster repairs of what the drill broke: repairs.*_repair_h"),
    "recovering": (
        "recovery of slices",
        "shorter decisions and preflights: scheduler.decision_s, scheduler.preflight_s",
    ),
    "unhealthy": ("unhealthy cubes", "faster repairs: repairs.host_repair_h, repairs.technicians"),
    "drained": ("drained cubes", "shorter drains, or fewer at once"),
    "held_back": ("cubes kept as spares", "fewer spares: scheduler.hot_spares, scheduler.hold_back_cubes"),
    "idle_wanted": ("idle cubes while slices wait", "`lightwave get slices -o wide` shows why they wait"),
    "idle_unwanted": ("idle cubes that no slice wants", None),
}
"""Category of chip-time → (its meaning, what reduces it; None if nothing does)."""
SHARE_MIN, SHOWN_MAX = 0.1, 3
"""Only categories with this share of the lost chip-hours are named, and at most this many."""


@dataclass(frozen=True, slots=True)
class RunWithout:
    """The same run of the lab without the drill, over the same time: chip-microseconds of productive work
    with and without the drill, and the slices that were evicted without it. `more_us` has the
    chip-microseconds by which the other categories are larger with the drill; negative ones are smaller.
    `total_us` is the time of all chips without the drill."""

    productive_us: int
    productive_us_without: int
    evictions_without: int
    more_us: Mapping[str, int] = field(default_factory=dict)
    total_us: int = 0

    @property
    def work_share(self) -> float:
        """The share of the chip-time that was productive work without the drill."""
        return self.productive_us_without / self.total_us if self.total_us else 0.0

    @property
    def lost_us(self) -> int:
        """The work that the drill cost; negative if there was more with it."""
        return self.productive_us_without - self.productive_us


def chip_hours_figure(without: RunWithout | None) -> Figure:
    """The share of the productive work that the drill left, of that without the drill."""
    name = "chip-hours"
    if without is None:
        return Figure(
            name, None, "not measured: only a run in the lab has a run without the drill to compare"
        )
    lost_us = without.lost_us
    if without.productive_us_without <= 0:
        return Figure(name, None, "not measured: there was no productive work without the drill")
    score = min(FULL, FULL * without.productive_us / without.productive_us_without)
    word = "lost" if lost_us >= 0 else "gained"
    text = (
        f"{format_chip_hours(abs(lost_us))} chip-hours {word} of "
        f"{format_chip_hours(without.productive_us_without)} without the drill"
    )
    return Figure(name, score, text, None, _helps(lost_us, without.more_us) if score < FULL - 1.0 else None)


def _helps(lost_us: int, more_us: Mapping[str, int]) -> str:
    """The categories that took most of the lost chip-hours, each with what reduces it."""
    largest = sorted(more_us.items(), key=lambda pair: -pair[1])[:SHOWN_MAX]
    parts = []
    for category, us in largest:
        if us >= SHARE_MIN * lost_us:
            meaning, helps = MEANINGS[category]
            parts.append(f"{format_chip_hours(us)} in {meaning} ({helps or 'no parameter reduces it'})")
    return ", ".join(parts) or "no category of the accounting took much of it"
