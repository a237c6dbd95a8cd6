"""Who may pass the first in line without making it wait for longer than it was promised."""

from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import merge
from itertools import islice

from schemas.names import Shape
from services.scheduler.queue.expected_end import expected_end_us
from services.scheduler.queue.fit import FitFinder, FitWithVictims
from services.scheduler.queue.order import Rank
from services.scheduler.state import Move, SchedulerState, Slice, occupancy_of, place_of, queue_of
from services.scheduler.structures.occupancy import WHOLE_CUBE, block_mask
from services.scheduler.structures.pod_placement import Fit, VictimNumbers
from services.scheduler.structures.reservations import ReservationTable
from services.scheduler.structures.timeline import FOREVER, BusyInterval, Timeline
from services.scheduler.structures.waiting_lines import Line
from shared.basics.units import US_PER_S
from shared.models.superpod.shapes import cubes_of, is_mesh

CONSERVATIVE_DEPTH = 30
"""How many are promised a start under the conservative policy, as Maui's reservation depth."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A waiting slice gets these cubes, once those who are told to leave have left; of those, meshes that
    move go where `moves` says."""

    row: Slice
    room: Fit
    victims: VictimNumbers
    moves: dict[int, Move] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BackfillContext:
    """The lines of the queue by rank, the first of all, which cannot start now, and the cubes as it sees
    them."""

    ranked: list[tuple[Rank, Line]]
    head: Slice
    timeline: Timeline


BackfillResult = tuple[Offer | None, dict[int, int]]
"""(the first who may pass, if anybody; slice → when it is promised its start)."""


def timeline_of(state: SchedulerState, yielding: dict[int, int]) -> Timeline:
    """Until when every cube is in use, by the estimates of the moment. The slices in `yielding` are not in
    the way of the one who asks; a cube that is out of order, or kept warm, comes back nobody knows when."""
    occupancy, claimed = occupancy_of(state), _claimed_us(state)
    free_us = [state.now_us] * state.cubes
    shared = {*claimed, *state.warm_cubes, *state.unhealthy, *state.drained}
    until_us: dict[int, int] = {}
    for number, cubes in occupancy.held.items():
        if number in yielding:
            continue
        until_us[number] = _until_us(state, number)
        if number in occupancy.meshes:
            shared |= cubes
        else:
            for cube in cubes:
                free_us[cube] = until_us[number]
    parts: dict[int, tuple[BusyInterval, ...]] = {}
    for cube in shared:
        held: list[BusyInterval] = list(claimed.get(cube, ()))
        if cube in state.warm_cubes or not occupancy.allowed[cube]:
            held.append((WHOLE_CUBE, FOREVER))
        for number in occupancy.holders[cube]:
            if number in until_us:
                held.append((occupancy.meshes.get(number, WHOLE_CUBE), until_us[number]))
        parts[cube] = tuple(held)
    return Timeline(state.now_us, free_us, parts)


def _until_us(state: SchedulerState, number: int) -> int:
    """A stay that should be over lasts a moment longer: nobody else can start right now."""
    ends_us = state.slices[number].ends_us
    return FOREVER if ends_us is None else max(ends_us, state.now_us + 1)


def _claimed_us(state: SchedulerState) -> dict[int, list[BusyInterval]]:
    found: dict[int, list[BusyInterval]] = {}
    for number, claim in state.claims.items():
        row = state.slices[number]
        mask = WHOLE_CUBE if claim.corner is None else block_mask(claim.corner, row.shape)
        left_us = expected_end_us(state, row, claim.until_us)
        for cube in claim.cubes:
            found.setdefault(cube, []).append((mask, FOREVER if left_us is None else left_us))
    for number, move in state.moves.items():
        mask = WHOLE_CUBE if move.corner is None else block_mask(move.corner, state.slices[number].shape)
        found.setdefault(move.spare, []).append((mask, _until_us(state, number)))
    return found


def ends_us(state: SchedulerState, row: Slice, *, forced: bool) -> int:
    """When a waiting slice that gets cubes now leaves by its estimate; later by the grace of those who have
    to leave for it, if there are any."""
    placed_us = state.now_us + (state.config.grace_s * US_PER_S if forced else 0)
    left_us = expected_end_us(state, row, placed_us)
    return FOREVER if left_us is None else left_us


def easy_backfill(state: SchedulerState, line: BackfillContext, rooms: FitFinder) -> BackfillResult:
    """Only the first in line is promised anything: whoever fits now passes it if its start by the timeline
    stays as it is (EASY)."""
    head = line.head
    promised_us = state.placement.start_us(line.timeline, head.shape, rooms.held_back)
    fits: dict[Shape, tuple[FitWithVictims, int]] = {}
    for shape in dict.fromkeys([name[2] for _, name in line.ranked]):
        forced = rooms.for_backfill(shape)
        if forced is not None:
            anybody = _passes(state, line, forced[0], shape, rooms.held_back, promised_us)
            fits[shape] = forced, FOREVER if anybody else promised_us
    found: tuple[Rank, Offer] | None = None
    for rank, name in line.ranked:
        if name[2] not in fits or (found is not None and rank > found[0]):
            continue
        forced, until_us = fits[name[2]]
        row = _first_until(state, name, line.head, until_us, forced=bool(forced[1]))
        if row is not None:
            at = (rank[0], rank[1], place_of(row))
            if found is None or at < found[0]:
                found = at, Offer(row, *forced)
    return (None if found is None else found[1]), _known({line.head.number: promised_us})


def conservative_backfill(state: SchedulerState, line: BackfillContext, rooms: FitFinder) -> BackfillResult:
    """The first CONSERVATIVE_DEPTH in line are promised a start each, in their order: as early as they can
    without delaying those before them. Whoever can start now does; nobody behind them passes.

    If the estimates are true, whole cubes are had when they were promised. A mesh is promised the whole of a
    cube and may start earlier in a part of one, as may all when somebody leaves early; then those before move
    up first, which can move others back.
    """
    plan = _plan(state, rooms)
    promises: dict[int, int] = {}
    for row in _in_order(state, line.ranked, CONSERVATIVE_DEPTH):
        move = _start_now(state, row, rooms, plan) if row is not line.head else None
        if move is not None:
            return move, _known(promises)
        _book(state, row, plan, rooms.held_back, promises)
    return None, _known(promises)


def conservative_starts(
    state: SchedulerState, ranked: list[tuple[Rank, Line]], number: int, depth: int
) -> dict[int, int]:
    """Slice → when it starts by the conservative plan, for this one and all before it in line, as far as that
    is known; those behind the first `depth` have no place in it. Nobody starts now."""
    rooms = FitFinder(state)
    plan = _plan(state, rooms)
    starts: dict[int, int] = {}
    for row in _in_order(state, ranked, depth):
        _book(state, row, plan, rooms.held_back, starts)
        if row.number == number:
            break
    return _known(starts)


def no_backfill(state: SchedulerState, line: BackfillContext, rooms: FitFinder) -> BackfillResult:
    """Nobody passes, unless nobody knows when the first in line can start: it must not hold up a pod."""
    promised_us = state.placement.start_us(line.timeline, line.head.shape, rooms.held_back)
    if promised_us >= FOREVER:
        return easy_backfill(state, line, rooms)
    return None, _known({line.head.number: promised_us})


BACKFILLS: dict[str, Callable[[SchedulerState, BackfillContext, FitFinder], BackfillResult]] = {
    "easy": easy_backfill,
    "conservative": conservative_backfill,
    "none": no_backfill,
}
"""`scheduler.backfill` → the policy."""


def _known(promises: dict[int, int]) -> dict[int, int]:
    return {number: at_us for number, at_us in promises.items() if at_us < FOREVER}


def _plan(state: SchedulerState, rooms: FitFinder) -> ReservationTable:
    """Of those who have cubes now; nobody has booked."""
    return ReservationTable(state.now_us, timeline_of(state, rooms.fillers).free_us)


def _book(
    state: SchedulerState, row: Slice, plan: ReservationTable, held_back: int, starts: dict[int, int]
) -> None:
    """Book the earliest start of a slice that delays nobody who has booked, if one is known."""
    room = _first_booking(state, row, plan, held_back)
    if room is not None:
        cubes, at_us = room
        starts[row.number] = at_us
        lasts_us = ends_us(state, row, forced=False) - state.now_us
        plan.book(cubes, at_us, min(at_us + lasts_us, FOREVER))


def _in_order(state: SchedulerState, ranked: list[tuple[Rank, Line]], depth: int) -> list[Slice]:
    """The first so many in line."""
    lines = queue_of(state).lines
    places = merge(*([(rank[:-1], place) for place in lines[name][:depth]] for rank, name in ranked))
    return [state.slices[place[1]] for _, place in islice(places, depth)]


def _start_now(state: SchedulerState, row: Slice, rooms: FitFinder, plan: ReservationTable) -> Offer | None:
    """Where a slice that is not the first in line can start now, if no cube of it is booked until it ends."""
    for forced in (False, True):
        until_us = ends_us(state, row, forced=forced)
        found = rooms.for_backfill(row.shape) if is_mesh(row.shape) else None
        if found is None or plan.is_booked(found[0][0][0], until_us):
            free = plan.free(0, until_us)
            if free.bit_count() < cubes_of(row.shape) + rooms.held_back:
                continue
            found = rooms.on_filler_cubes(row.shape, free)
        if found is not None and (forced or not found[1]):
            return Offer(row, *found)
    return None


def _first_booking(
    state: SchedulerState, row: Slice, plan: ReservationTable, held_back: int
) -> tuple[int, int] | None:
    """(cubes as a bit mask, when) of the earliest start that delays nobody who has booked; a mesh books the
    whole of a cube. None if none is known."""
    lasts_us = ends_us(state, row, forced=False) - state.now_us
    for at, at_us in enumerate(plan.times):
        free = plan.free(at, at_us + lasts_us)
        if free.bit_count() >= cubes_of(row.shape) + held_back:
            cubes = state.placement.first_cubes(row.shape, free)
            if cubes is not None:
                return sum([1 << cube for cube in cubes]), at_us
    return None


def _first_until(
    state: SchedulerState, name: Line, head: Slice, until_us: int, *, forced: bool
) -> Slice | None:
    """The first of a line, but for the head of all, that leaves by then if it gets cubes now."""
    for _, number in queue_of(state).lines[name]:
        row = state.slices[number]
        if number != head.number and ends_us(state, row, forced=forced) <= until_us:
            return row
    return None


def _passes(
    state: SchedulerState, line: BackfillContext, room: Fit, shape: Shape, held_back: int, promised_us: int
) -> bool:
    """Whether a slice may have this room for ever without a later start of the first in line."""
    cubes, corner = room
    mask = WHOLE_CUBE if corner is None else block_mask(corner, shape)
    after = line.timeline.with_slice(cubes, mask, FOREVER)
    return state.placement.start_us(after, line.head.shape, held_back) <= promised_us
