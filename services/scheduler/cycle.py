"""One scheduling cycle: what to do with the cubes that are idle now, in three numbered steps.

It runs whenever something changed that could make room or need it, and decides on the state as it is at that
moment; running it twice changes nothing more.
"""

from services.scheduler.lifecycle import admit
from services.scheduler.occupancy import Corner
from services.scheduler.recovery import leave_drained, recover_hit
from services.scheduler.state import SchedulerState, Slice, occupancy_of, queue_of
from shared.basics.units import US_PER_HOUR
from shared.engine.service import Output
from shared.models.superpod.backfill import keeping
from shared.models.superpod.wiring import CHIPS_PER_CUBE

NextPlace = tuple[Slice, tuple[int, ...], Corner | None]
"""(slice, cubes, corner): who is admitted next, and where."""


def cycle(state: SchedulerState) -> list[Output]:
    """Give idle cubes to those who need them most; returns what is said."""
    # 1. Slices that lost a cube, longest recovering first: they have work to lose.
    said = recover_hit(state)
    # 2. Slices on drained cubes: somebody waits to work on those.
    said += leave_drained(state)
    # 3. The queue, in its order, as far as it fits.
    while True:
        placement = next_placement(state)
        if placement is None:
            return said
        row, cubes, corner = placement
        queue_of(state).take_first(row.shape)
        said += admit(state, row, cubes, corner)


def next_placement(state: SchedulerState) -> NextPlace | None:
    """The first waiting slice that fits and may be placed, with its (cubes, corner)."""
    queue, occupancy = queue_of(state), occupancy_of(state)
    if not queue.by_shape or not (occupancy.idle or occupancy.partly):
        return None
    head = state.slices[queue.head()[1]]
    kept = is_kept(state, head)
    if kept:
        room = state.placement.room_for(occupancy, head.shape, whole_cubes=True)
        if room is not None:
            return head, *room
    if occupancy.partly or not kept:
        for place, shape in queue.firsts(0 if kept else len(occupancy.idle) * CHIPS_PER_CUBE):
            room = state.placement.room_for(occupancy, shape, whole_cubes=not kept)
            if room is not None:
                return state.slices[place[1]], *room
    return None


def is_kept(state: SchedulerState, head: Slice) -> bool:
    """Whether whole cubes are kept for the first in the queue."""
    return keeping(head.requested_us, _patience_us(state), state.now_us)[0]


def kept_until_us(state: SchedulerState) -> int | None:
    """When others may pass the first in the queue again; None if they may now, or never."""
    queue = queue_of(state)
    if not queue.by_shape:
        return None
    head = state.slices[queue.head()[1]]
    kept, until_us = keeping(head.requested_us, _patience_us(state), state.now_us)
    return until_us if kept else None


def _patience_us(state: SchedulerState) -> int:
    return round(state.config.backfill_patience_h * US_PER_HOUR)
