"""How long a slice that gets cubes has them, by the estimate of its owner."""

from services.scheduler.state import SchedulerState, Slice
from services.scheduler.structures.expected_durations import expected_switching_us
from shared.basics.units import US_PER_S
from shared.models.superpod.shapes import cubes_of, is_mesh


def expected_end_us(state: SchedulerState, row: Slice, placed_us: int) -> int | None:
    """When a slice leaves cubes that it gets at that time; None if nobody knows."""
    if row.estimate_us is None:
        return None
    return placed_us + _prepared_us(state, row) + remaining_run_us(row, row.estimate_us)


def remaining_run_us(row: Slice, estimate_us: int) -> int:
    """How long it will run from its next start on: what its job has kept is not done again."""
    kept_us = 0 if row.progress is None else row.progress.kept_us
    return max(estimate_us - kept_us, 1)


def _prepared_us(state: SchedulerState, row: Slice) -> int:
    """From cubes to the start: circuits are made and checked, which a mesh does not use."""
    if is_mesh(row.shape):
        return 0
    return (
        expected_switching_us(state.expected_durations.ocs, cubes_of(row.shape))
        + state.config.preflight_s * US_PER_S
    )
