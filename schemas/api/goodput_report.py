"""Goodput in the HTTP API: where the chip-time of fabrics went."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.body import Model
from schemas.names import Tier

GroupBy = Literal["pod", "owner", "slice", "tier"]
"""The object that each row is about."""
CHIP_TIME_CATEGORIES = (
    *("productive", "uncommitted", "startup", "checkpointing", "lost", "degraded", "recovering"),
    *("unhealthy", "drained", "held_back", "idle_wanted", "idle_unwanted"),
)
"""Categories of chip-time: what the job of a slice does with its chips, or why chips have no slice."""
ChipUs = Annotated[
    dict[str, int], Field(json_schema_extra={"propertyNames": {"enum": [*CHIP_TIME_CATEGORIES]}})
]
"""Category → chip-microseconds."""


class GoodputRow(Model):
    """Chip-microseconds by category. The row `(no slice)` is chip-time without a slice; `(ended before)` is
    that of ended slices whose names are no longer kept."""

    name: str
    owner: str | None
    tier: Tier | None
    total_chip_us: int
    chip_us: ChipUs


class GoodputSpan(Model):
    """Chip-time in a span of time: of all chips, and the part of it that filler had."""

    since_us: int
    until_us: int
    total_chip_us: int
    chip_us: ChipUs
    filler_chip_us: ChipUs


class GoodputReport(Model):
    """Where chip-time went from `since_us` to `until_us`; for several fabrics, from the earliest start to the
    latest end. Every chip-microsecond is in one category of one row.

    `utilisation` is the chip-time of slices over that of chips that were healthy and not drained, and
    `productive_share` the productive chip-time over the same: what utilisation was worth.
    `scheduling_goodput` is the chip-time of slices over that of all chips, and `runtime_goodput` the
    productive share of the chip-time of slices. All are null if the divisor is 0.
    """

    by: GroupBy
    since_us: int
    until_us: int
    total_chip_us: int
    chip_us: ChipUs
    utilisation: float | None
    utilisation_by_tier: dict[Tier, float] | None
    productive_share: float | None = None
    scheduling_goodput: float | None
    runtime_goodput: float | None
    rows: tuple[GoodputRow, ...]
    spans: tuple[GoodputSpan, ...]
