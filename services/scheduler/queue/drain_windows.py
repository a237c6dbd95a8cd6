"""Cubes that will be drained at a planned time, and the slices that still fit before it.

Until its drain begins, such a *closing* cube is not offered to slices in general: no spare, no victim, no
promise counts on it. A slice whose estimated end is before the drain may still start there.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import TypeVar

from schemas.names import Shape
from services.scheduler.queue.expected_end import expected_end_us
from services.scheduler.state import SchedulerState, occupancy_of, queue_of
from services.scheduler.structures.pod_placement import Fit, VictimNumbers
from services.scheduler.structures.slice_record import Slice
from shared.models.superpod.shapes import cubes_of

FoundT = TypeVar("FoundT")

CLOSING_DEPTH = 100
"""Maximum number of waiting slices that are tried on closing cubes in one step."""


def closing_cubes(state: SchedulerState, row: Slice) -> int:
    """The closing cubes on which a slice that is placed now ends in time, by its estimate, as a bit mask."""
    ends_us = expected_end_us(state, row, state.now_us)
    if ends_us is None or row.member is not None:  # slices of a job in several pods start when all are ready
        return 0
    return sum(
        [
            1 << cube
            for cube, (from_us, _) in state.drain_windows.items()
            if ends_us <= from_us and cube not in state.unhealthy and cube not in state.drained
        ]
    )


def fit_with_closing_cubes(state: SchedulerState, row: Slice, spare: int) -> Fit | None:
    """Where a slice fits now on idle cubes and closing ones, if `spare` cubes are left over; None if there is
    no room."""
    closing = closing_cubes(state, row)
    if not closing:
        return None

    def find() -> Fit | None:
        occupancy = occupancy_of(state)
        whole = cubes_of(row.shape) + spare <= len(occupancy.idle)
        return state.placement.find_fit(occupancy, row.shape, whole_cubes=whole)

    return _with_opened(state, closing, find)


def first_on_closing_cubes(state: SchedulerState, waiting: Iterator[Slice]) -> tuple[Slice, Fit] | None:
    """The first of the waiting slices that fits on closing cubes alone. It delays no other slice, because no
    promise counts on these cubes before their drains end."""
    for row in islice(waiting, CLOSING_DEPTH):
        closing = closing_cubes(state, row)
        if not closing:
            continue
        found = _with_opened(state, closing, partial(_fit_among, state, row.shape, closing))
        if found is not None and not found[1]:
            return row, found[0]
    return None


def _fit_among(state: SchedulerState, shape: Shape, closing: int) -> tuple[Fit, VictimNumbers] | None:
    return state.placement.fit_by_preemption(occupancy_of(state), shape, {}, among=closing)


def waiting_filler(state: SchedulerState) -> Iterator[Slice]:
    """The waiting filler, line by line."""
    queue = queue_of(state)
    for line in queue.filler():
        for place in queue.lines[line]:
            yield state.slices[place[1]]


def _with_opened(state: SchedulerState, closing: int, find: Callable[[], FoundT]) -> FoundT:
    """What `find` finds while these closing cubes are offered."""
    occupancy = occupancy_of(state)
    cubes = [cube for cube in state.drain_windows if closing >> cube & 1]
    for cube in cubes:
        occupancy.allow(cube, True)
    try:
        return find()
    finally:
        for cube in cubes:
            occupancy.allow(cube, False)
