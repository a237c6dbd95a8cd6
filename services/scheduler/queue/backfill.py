"""Backfill policies: which slices may pass the first in line without delaying a promised start.

The line is not by age alone: `order.py` ranks by tier, quota, priority and then age. Filler takes idle cubes
after all others (`services/scheduler/cycle.py`).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import merge
from itertools import islice

from schemas.names import Shape
from services.scheduler.queue.expected_end import expected_end_us
from services.scheduler.queue.order import Rank
from services.scheduler.queue.placement_lookup import FitFinder, FitWithVictims
from services.scheduler.state import (
    SchedulerState,
    claimed_slices,
    moving_slices,
    occupancy_of,
    place_in_line,
    queue_of,
)
from services.scheduler.structures.occupancy import WHOLE_CUBE, block_mask
from services.scheduler.structures.pod_placement import Fit, VictimNumbers
from services.scheduler.structures.reservations import ReservationTable
from services.scheduler.structures.slice_record import Move, Slice
from services.scheduler.structures.timeline import FOREVER, BusyInterval, Timeline
from services.scheduler.structures.waiting_lines import Line
from shared.basics.units import US_PER_S
from shared.models.superpod.shapes import cubes_of, is_mesh

CONSERVATIVE_DEPTH = 30
"""Number of slices that get a promised start under the conservative policy (Maui's reservation depth)."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A waiting slice with the cubes that it gets once the victims have left. `moves` gives the destination
    of victims that are meshes and only move. With `exactly_there` it gets these cubes and no better ones."""

    row: Slice
    room: Fit
    victims: VictimNumbers
    moves: dict[int, Move] = field(default_factory=dict)
    exactly_there: bool = False


@dataclass(frozen=True, slots=True)
class BackfillContext:
    """The ranked lines of the queue, the first slice in line (which cannot start now), and its timeline of
    the cubes."""

    ranked: list[tuple[Rank, Line]]
    head: Slice
    timeline: Timeline


BackfillResult = tuple[Offer | None, dict[int, int]]
"""(the first slice that may pass, or None; slice → its promised start)."""


def timeline_of(state: SchedulerState, yielding: dict[int, int]) -> Timeline:
    """When every cube comes free, by the current estimates.

    The slices in `yielding` are ignored, because they make room. A cube that is out of use or kept warm never
    comes free, except that the end of a planned drain may be known.
    """
    occupancy, claimed = occupancy_of(state), _claimed_us(state)
    free_us = [state.now_us] * state.cubes
    shared = {*claimed, *state.warm_cubes, *state.unhealthy, *state.drained, *state.drain_windows}
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
            held.append((WHOLE_CUBE, _out_until_us(state, cube)))
        for number in occupancy.holders[cube]:
            if number in until_us:
                held.append((occupancy.meshes.get(number, WHOLE_CUBE), until_us[number]))
        parts[cube] = tuple(held)
    return Timeline(state.now_us, free_us, parts)


def _out_until_us(state: SchedulerState, cube: int) -> int:
    """Until when a cube is not offered: the end of its drain, or of the one that is planned for it."""
    if cube in state.warm_cubes or cube in state.unhealthy:
        return FOREVER
    if cube in state.drained:
        until_us = state.drained_until.get(cube)
    else:
        _, until_us = state.drain_windows.get(cube, (0, None))
    return FOREVER if until_us is None else max(until_us, state.now_us + 1)


def _until_us(state: SchedulerState, number: int) -> int:
    """The expected end of a slice. An overrun slice ends 1 µs from now, so that no other slice can start
    right now."""
    ends_us = state.slices[number].ends_us
    return FOREVER if ends_us is None else max(ends_us, state.now_us + 1)


def _claimed_us(state: SchedulerState) -> dict[int, list[BusyInterval]]:
    claimed: dict[int, list[BusyInterval]] = {}
    for row, claim in claimed_slices(state):
        mask = WHOLE_CUBE if claim.corner is None else block_mask(claim.corner, row.shape)
        left_us = expected_end_us(state, row, claim.until_us)
        for cube in claim.cubes:
            claimed.setdefault(cube, []).append((mask, FOREVER if left_us is None else left_us))
    for row, _, move in moving_slices(state):
        mask = WHOLE_CUBE if move.corner is None else block_mask(move.corner, row.shape)
        claimed.setdefault(move.spare, []).append((mask, _until_us(state, row.number)))
    return claimed


def ends_us(state: SchedulerState, row: Slice, *, forced: bool) -> int:
    """When a waiting slice that gets cubes now is expected to leave; with victims, one grace period later."""
    placed_us = state.now_us + (state.config.grace_s * US_PER_S if forced else 0)
    left_us = expected_end_us(state, row, placed_us)
    return FOREVER if left_us is None else left_us


def easy_backfill(state: SchedulerState, line: BackfillContext, fit_finder: FitFinder) -> BackfillResult:
    """EASY: only the first slice in line has a promise. A slice that fits now may pass if that promise stays
    the same."""
    head = line.head
    promised_us = state.placement.start_us(line.timeline, head.shape, fit_finder.held_back)
    fits: dict[Shape, tuple[FitWithVictims, int]] = {}
    for shape in dict.fromkeys([name[2] for _, name in line.ranked]):
        forced = fit_finder.for_backfill(shape)
        if forced is not None:
            fits_any_length = _delays_no_promise(
                state, line, forced[0], shape, fit_finder.held_back, promised_us
            )
            fits[shape] = forced, FOREVER if fits_any_length else promised_us
    best: tuple[Rank, Offer] | None = None
    for rank, name in line.ranked:
        if name[2] not in fits or (best is not None and rank > best[0]):
            continue
        forced, until_us = fits[name[2]]
        row = _first_until(state, name, line.head, until_us, forced=bool(forced[1]))
        if row is not None:
            at = (rank[0], rank[1], place_in_line(row))
            if best is None or at < best[0]:
                best = at, Offer(row, *forced)
    return (None if best is None else best[1]), _known({line.head.number: promised_us})


def conservative_backfill(
    state: SchedulerState, line: BackfillContext, fit_finder: FitFinder
) -> BackfillResult:
    """The first CONSERVATIVE_DEPTH slices in line get a promised start, in order, each as early as possible
    without delaying an earlier one. A slice that can start now does so; nothing behind it passes.

    If the estimates are true, whole cubes are available when promised. A mesh is promised a whole cube, so it
    may start earlier in part of one. Any slice may start earlier if another leaves early; then earlier slices
    move up first, which can push later ones back.
    """
    plan = _plan(state, fit_finder)
    promises: dict[int, int] = {}
    for row in slices_in_order(state, line.ranked, CONSERVATIVE_DEPTH):
        move = _start_now(state, row, fit_finder, plan) if row is not line.head else None
        if move is not None:
            return move, _known(promises)
        _reserve(state, row, plan, fit_finder.held_back, promises)
    return None, _known(promises)


def conservative_starts(
    state: SchedulerState, ranked: list[tuple[Rank, Line]], number: int, depth: int
) -> dict[int, int]:
    """Slice → its start in the conservative plan, for this slice and all slices ahead of it, where known.
    Slices behind the first `depth` are not planned. No slice is started."""
    fit_finder = FitFinder(state)
    plan = _plan(state, fit_finder)
    starts: dict[int, int] = {}
    for row in slices_in_order(state, ranked, depth):
        _reserve(state, row, plan, fit_finder.held_back, starts)
        if row.number == number:
            break
    return _known(starts)


def no_backfill(state: SchedulerState, line: BackfillContext, fit_finder: FitFinder) -> BackfillResult:
    """No slice passes the first in line. If its start is unknown, EASY applies, so that it does not block the
    pod."""
    promised_us = state.placement.start_us(line.timeline, line.head.shape, fit_finder.held_back)
    if promised_us >= FOREVER:
        return easy_backfill(state, line, fit_finder)
    return None, _known({line.head.number: promised_us})


BACKFILLS: dict[str, Callable[[SchedulerState, BackfillContext, FitFinder], BackfillResult]] = {
    "easy": easy_backfill,
    "conservative": conservative_backfill,
    "none": no_backfill,
}
"""`scheduler.backfill` → the policy."""


def _known(promises: dict[int, int]) -> dict[int, int]:
    return {number: at_us for number, at_us in promises.items() if at_us < FOREVER}


def _plan(state: SchedulerState, fit_finder: FitFinder) -> ReservationTable:
    """A reservation table with the slices that have cubes now and no reservations."""
    return ReservationTable(state.now_us, timeline_of(state, fit_finder.fillers).free_us)


def _reserve(
    state: SchedulerState, row: Slice, plan: ReservationTable, held_back: int, starts: dict[int, int]
) -> None:
    """Reserve the earliest start of a slice that delays no earlier reservation, if one is known."""
    room = _first_reservation(state, row, plan, held_back)
    if room is not None:
        cubes, at_us = room
        starts[row.number] = at_us
        lasts_us = ends_us(state, row, forced=False) - state.now_us
        plan.reserve(cubes, at_us, min(at_us + lasts_us, FOREVER))


def slices_in_order(state: SchedulerState, ranked: list[tuple[Rank, Line]], depth: int) -> list[Slice]:
    """The first `depth` slices in line."""
    lines = queue_of(state).lines
    places = merge(*([(rank[:-1], place) for place in lines[name][:depth]] for rank, name in ranked))
    return [state.slices[place[1]] for _, place in islice(places, depth)]


def _start_now(
    state: SchedulerState, row: Slice, fit_finder: FitFinder, plan: ReservationTable
) -> Offer | None:
    """Where a slice behind the first can start now, if none of its cubes is reserved before it ends."""
    for forced in (False, True):
        until_us = ends_us(state, row, forced=forced)
        found = fit_finder.for_backfill(row.shape) if is_mesh(row.shape) else None
        if found is None or plan.is_booked(found[0][0][0], until_us):
            free = plan.free(0, until_us)
            if free.bit_count() < cubes_of(row.shape) + fit_finder.held_back:
                continue
            found = fit_finder.on_filler_cubes(row.shape, free)
        if found is not None and (forced or not found[1]):
            return Offer(row, *found)
    return None


def _first_reservation(
    state: SchedulerState, row: Slice, plan: ReservationTable, held_back: int
) -> tuple[int, int] | None:
    """(cubes as a bit mask, start) of the earliest start that delays no reservation; None if none is known. A
    mesh reserves a whole cube."""
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
    """The first slice of a line, except the head of the queue, that leaves by `until_us` if it gets cubes
    now."""
    for _, number in queue_of(state).lines[name]:
        row = state.slices[number]
        if number != head.number and ends_us(state, row, forced=forced) <= until_us:
            return row
    return None


def _delays_no_promise(
    state: SchedulerState, line: BackfillContext, room: Fit, shape: Shape, held_back: int, promised_us: int
) -> bool:
    """Whether a slice may use this room forever without delaying the first in line."""
    cubes, corner = room
    mask = WHOLE_CUBE if corner is None else block_mask(corner, shape)
    after = line.timeline.with_slice(cubes, mask, FOREVER)
    return state.placement.start_us(after, line.head.shape, held_back) <= promised_us
