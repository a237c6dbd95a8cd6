"""How long a slice has its cubes, by the estimate of its owner."""

from services.scheduler.state import SchedulerState
from services.scheduler.structures.expected_durations import expected_switching_us
from services.scheduler.structures.slice_record import Slice
from shared.basics.units import US_PER_S
from shared.models.superpod.shapes import cubes_of, is_mesh


def expected_end_us(state: SchedulerState, row: Slice, placed_us: int) -> int | None:
    """When a slice leaves cubes that it gets at `placed_us`; None if unknown."""
    if row.estimate_us is None:
        return None
    return placed_us + _preparation_us(state, row) + remaining_run_us(row, row.estimate_us)


def remaining_run_us(row: Slice, estimate_us: int) -> int:
    """How long a slice runs from its next start. Work kept in a checkpoint is not done again."""
    kept_us = 0 if row.progress is None else row.progress.kept_us
    return max(estimate_us - kept_us, 1)


def _preparation_us(state: SchedulerState, row: Slice) -> int:
    """From getting cubes to the start: the time to make and check circuits. 0 for a mesh, which uses none."""
    if is_mesh(row.shape):
        return 0
    return (
        expected_switching_us(state.expected_durations.ocs, cubes_of(row.shape))
        + state.config.preflight_s * US_PER_S
    )
