"""The work that a trace requests from a pod during a run."""

from collections.abc import Iterable
from dataclasses import dataclass

from schemas.config.workload import TraceRow
from shared.basics.units import US_PER_DAY
from shared.models.superpod.shapes import chips_of


@dataclass(frozen=True, slots=True)
class TraceWork:
    """Rows without filler that are submitted during a run, and what they request until its end."""

    rows: int = 0
    chip_days: float = 0.0

    def with_row(self, row: TraceRow, end_us: int) -> "TraceWork":
        """With another row, in a run that ends at `end_us`. What it would do after the end does not count."""
        if row.submit_us > end_us or row.tier == "filler":
            return self
        lasts_us = min(row.duration_us, end_us - row.submit_us)
        return TraceWork(self.rows + 1, self.chip_days + chips_of(row.shape) * lasts_us / US_PER_DAY)


def trace_work(rows: Iterable[TraceRow], end_us: int) -> TraceWork:
    """The work of all these rows."""
    found = TraceWork()
    for row in rows:
        found = found.with_row(row, end_us)
    return found
