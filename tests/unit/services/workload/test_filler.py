"""Waiting filler: always enough that the largest size that fits can be placed, and no more."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.config.workload import WorkloadConfig
from services.workload.filler import filler_backlog, filler_shape
from shared.models.superpod.shapes import check_shape, cubes_of

FILLED = WorkloadConfig(filler=True)


def test_without_filler_no_filler_waits() -> None:
    assert filler_backlog(WorkloadConfig(filler=False), 64) == {}
    assert filler_backlog(WorkloadConfig(filler=True, filler_cubes_min=8), 4) == {}


def test_the_default_pod_has_eight_of_the_largest_and_one_of_each_other() -> None:
    assert filler_backlog(FILLED, 64) == {8: 8, 4: 1, 2: 1}


@given(st.integers(1, 16), st.integers(1, 40), st.integers(4, 144), st.data())
def test_the_largest_that_fits_never_runs_out_in_any_hole(
    least: int, most: int, cubes: int, data: st.DataObject
) -> None:
    """Placed by brute force: the largest size that fits into the remaining cubes, until none does."""
    least, most = min(least, most), max(least, most)
    waiting = filler_backlog(
        WorkloadConfig(filler=True, filler_cubes_min=least, filler_cubes_max=most), cubes
    )
    left = hole = data.draw(st.integers(0, cubes))
    while fits := [size for size in waiting if size <= left]:
        waiting[max(fits)] -= 1
        left -= max(fits)
        assert min(waiting.values()) >= 0, hole
    assert list(waiting) == sorted(waiting, reverse=True)


@pytest.mark.parametrize("cubes", [1, 2, 4, 8, 16, 3])
def test_filler_has_a_legal_shape_of_its_size(cubes: int) -> None:
    shape = filler_shape(cubes)
    check_shape(shape, False, cubes)
    assert cubes_of(shape) == cubes
