"""What the HTTP API tells of goodput: where the chip-time of fabrics went."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.body import Model
from schemas.names import Tier

GroupBy = Literal["pod", "owner", "slice", "tier"]
"""What each row is about."""
CHIP_TIME_CATEGORIES = (
    *("productive", "uncommitted", "startup", "checkpointing", "lost", "degraded", "recovering"),
    *("unhealthy", "drained", "held_back", "idle_wanted", "idle_unwanted"),
)
"""What a chip can be for: what the job of its slice does, or why no slice has it."""
ChipUs = Annotated[
    dict[str, int], Field(json_schema_extra={"propertyNames": {"enum": [*CHIP_TIME_CATEGORIES]}})
]
"""Place → chip-microseconds."""


class GoodputRow(Model):
    """Chip-microseconds by place. The row `(no slice)` is what nobody had, `(ended before)` what slices used
    that are no longer known by name."""

    name: str
    owner: str | None
    tier: Tier | None
    total_chip_us: int
    chip_us: ChipUs


class GoodputSpan(Model):
    """What a span of time came to: `chip_us` all chips, `filler_chip_us` those of it that filler had."""

    since_us: int
    until_us: int
    total_chip_us: int
    chip_us: ChipUs
    filler_chip_us: ChipUs


class GoodputReport(Model):
    """Where chip-time went from `since_us` to `until_us`; of several fabrics, from the first to the last of
    these. Every chip-microsecond is in one place of one row. Utilisation is what slices had of the chips that
    were healthy and not drained; `scheduling_goodput` what slices had of all chips, `runtime_goodput` what of
    that was productive. All are null where there is nothing to divide by.
    """

    by: GroupBy
    since_us: int
    until_us: int
    total_chip_us: int
    chip_us: ChipUs
    utilisation: float | None
    utilisation_by_tier: dict[Tier, float] | None
    scheduling_goodput: float | None
    runtime_goodput: float | None
    rows: tuple[GoodputRow, ...]
    spans: tuple[GoodputSpan, ...]
