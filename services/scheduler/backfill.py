"""Who may pass the first in line without making it wait for longer than it was promised."""

from dataclasses import dataclass

from services.scheduler.occupancy import WHOLE_CUBE, block_mask
from services.scheduler.order import Rank
from services.scheduler.placement import Leavers, Room
from services.scheduler.promise import FOREVER, Stay, Timeline
from services.scheduler.queue import Line
from services.scheduler.room import Rooms
from services.scheduler.state import SchedulerState, Slice, occupancy_of, queue_of


@dataclass(frozen=True, slots=True)
class Move:
    """A waiting slice gets these cubes, once those who are told to leave have left."""

    row: Slice
    room: Room
    victims: Leavers


def timeline_of(state: SchedulerState, yielding: dict[int, int]) -> Timeline:
    """Until when every cube is in use, by the estimates of the moment. The slices in `yielding` are not in
    the way of the one who asks; a cube that is out of order comes back nobody knows when."""
    occupancy, claimed = occupancy_of(state), _claimed_us(state)
    stays: list[tuple[Stay, ...]] = []
    for cube, holders in enumerate(occupancy.holders):
        held: list[Stay] = list(claimed.get(cube, ()))
        if not occupancy.allowed[cube]:
            held.append((WHOLE_CUBE, FOREVER))
        for number in holders:
            if number not in yielding:
                held.append((occupancy.meshes.get(number, WHOLE_CUBE), _until_us(state, number)))
        stays.append(tuple(held))
    return Timeline(state.now_us, stays)


def _until_us(state: SchedulerState, number: int) -> int:
    """A stay that should be over lasts a moment longer: nobody else can start right now."""
    ends_us = state.slices[number].ends_us
    return FOREVER if ends_us is None else max(ends_us, state.now_us + 1)


def _claimed_us(state: SchedulerState) -> dict[int, list[Stay]]:
    found: dict[int, list[Stay]] = {}
    for number, claim in state.claims.items():
        row = state.slices[number]
        mask = WHOLE_CUBE if claim.corner is None else block_mask(claim.corner, row.shape)
        for cube in claim.cubes:
            found.setdefault(cube, []).append((mask, ends_us(state, row)))
    return found


def ends_us(state: SchedulerState, row: Slice) -> int:
    """When a waiting slice that starts now leaves by its estimate: its time on cubes, and the grace of those
    who may have to leave for it."""
    if row.estimate_us is None:
        return FOREVER
    return state.now_us + row.estimate_us + state.config.grace_s * 1_000_000


def easy_backfill(
    state: SchedulerState, ranked: list[tuple[Rank, Line]], rooms: Rooms, head: Slice, timeline: Timeline
) -> tuple[Move | None, int]:
    """(The first who may pass, or None; the promised start of the first in line, FOREVER if nobody knows).

    Only the first in line is promised anything: whoever fits now passes it if its start by the timeline stays
    as it is.
    """
    promised_us = state.placement.start_us(timeline, head.shape, rooms.held_back)
    found: tuple[Rank, Move] | None = None
    for rank, line in ranked:
        if found is not None and rank > found[0]:
            break
        forced = rooms.for_passing(line[2])
        if forced is None:
            continue
        until_us = (
            FOREVER if _passes(state, timeline, head, forced[0], line, rooms.held_back) else promised_us
        )
        for place in queue_of(state).lines[line]:
            row = state.slices[place[1]]
            if row.number != head.number and ends_us(state, row) <= until_us:
                at = (rank[0], rank[1], place)
                if found is None or at < found[0]:
                    found = at, Move(row, *forced)
                break
    return (None if found is None else found[1]), promised_us


def _passes(
    state: SchedulerState, timeline: Timeline, head: Slice, room: Room, line: Line, held_back: int
) -> bool:
    """Whether a slice may have this room for ever without a later start of the first in line."""
    cubes, corner = room
    mask = WHOLE_CUBE if corner is None else block_mask(corner, line[2])
    start_us = state.placement.start_us
    after = timeline.with_slice(cubes, mask, FOREVER)
    return start_us(after, head.shape, held_back) <= start_us(timeline, head.shape, held_back)
