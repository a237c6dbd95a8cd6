"""One scheduling cycle: what to do with the cubes that are idle now, in numbered steps.

It runs whenever something changed that could make room or need it, and decides on the state as it is at that
moment; running it twice changes nothing more.
"""

from dataclasses import dataclass

from services.scheduler.lifecycle import admit
from services.scheduler.multislice.gang_hold import hold_cubes
from services.scheduler.placement.cube_ranking import best_cubes
from services.scheduler.queue.backfill import BACKFILLS, BackfillContext, Offer, timeline_of
from services.scheduler.queue.compaction import compaction
from services.scheduler.queue.fit import FitFinder
from services.scheduler.queue.order import fair_share_order, filler_order
from services.scheduler.queue.preemption import strength_of
from services.scheduler.recovery.drain_moves import move_off_drained_cubes
from services.scheduler.recovery.preemption_notices import claim_cubes, serve_claims, start_compaction
from services.scheduler.recovery.recovery import recover_interrupted
from services.scheduler.state import (
    SchedulerState,
    invalidate_wait_summary,
    line_of,
    occupancy_of,
    place_of,
    queue_of,
)
from shared.basics.units import US_PER_S
from shared.engine.service import Output


@dataclass(frozen=True, slots=True)
class CycleDecision:
    """What to do next: the move, None if there is none; what is then promised to whom (slice → when it
    starts at the latest); and when somebody who waits may do more than now."""

    move: Offer | None
    promises: dict[int, int]
    wakes_us: int | None = None


def cycle(state: SchedulerState) -> list[Output]:
    """Give idle cubes to those who need them most; returns what is said."""
    # 1. Slices that were hit, all in one plan: they have work to lose.
    emitted = recover_interrupted(state)
    # 2. Slices on drained cubes, for somebody waits to work on those; and the cubes that are kept warm.
    emitted += move_off_drained_cubes(state)
    # 3. Those for whom others have left.
    emitted += serve_claims(state)
    while True:
        # 4. The first in line: its place, or the promise of one. 5. Whoever may pass it without a delay.
        decision = next_firm(state)
        if decision.move is None:
            break
        emitted += _make(state, decision.move)
    _keep_promises(state, decision)
    return emitted + place_filler(state)


def is_settled(state: SchedulerState) -> bool:
    """Whether the last cycle has left nothing that time alone, or filler, could change: no slice stalls, as
    many cubes are warm as there are to be, and nobody was promised a start by now."""
    if state.interruptions or len(state.warm_cubes) < state.config.hot_spares:
        return False
    return all(at_us > state.now_us for at_us in state.promises.values())


def place_filler(state: SchedulerState) -> list[Output]:
    """The end of the cycle; where all is settled, it is all that filler needs which has come."""
    emitted: list[Output] = []
    # 6. Filler, in the holes that are left.
    while (move := next_filler(state)) is not None:
        emitted += _make(state, move)
    # 7. Meshes that were hit, where one of those has opened a cube. Then from the beginning, for whoever goes
    # back to the queue by that leaves room.
    recovered = recover_interrupted(state)
    invalidate_wait_summary(state)
    return emitted + recovered + cycle(state) if recovered else emitted


def next_firm(state: SchedulerState) -> CycleDecision:
    """Of production and research: the first in line if it can have cubes, else the first who may pass it."""
    ranked = fair_share_order(state)
    if not ranked:
        return CycleDecision(None, {})
    rooms = FitFinder(state)
    head = state.slices[ranked[0][0][2][1]]
    strength = strength_of(state, head, rooms.held)
    yielding = rooms.fillers | strength.weaker
    forced = rooms.with_preemption(head.shape, yielding)
    if forced is not None:
        return CycleDecision(Offer(head, *forced), {})
    line = BackfillContext(ranked, head, timeline_of(state, yielding))
    found = compaction(state, head, yielding, rooms.held_back)
    if found is not None and not _starts_in_a_grace(state, line, rooms.held_back):
        return CycleDecision(Offer(head, found.room, found.leavers, found.moves), {})
    passer, promises = BACKFILLS[state.config.backfill](state, line, rooms)
    return CycleDecision(passer, promises, None if strength.grows is None else strength.grows[0])


def _starts_in_a_grace(state: SchedulerState, line: BackfillContext, held_back: int) -> bool:
    """Whether the first in line has its cubes by itself before meshes that are told to move must have done
    so: a claim on other cubes would then only break its promise."""
    start_us = state.placement.start_us(line.timeline, line.head.shape, held_back)
    return start_us <= state.now_us + state.config.grace_s * US_PER_S


def next_filler(state: SchedulerState) -> Offer | None:
    """The first filler that fits on idle cubes."""
    occupancy = occupancy_of(state)
    if not (occupancy.idle or occupancy.partly):
        return None
    for line in filler_order(state):
        room = state.placement.find_fit(occupancy, line[2], whole_cubes=True)
        if room is not None:
            return Offer(state.slices[queue_of(state).lines[line][0][1]], room, ())
    return None


def _make(state: SchedulerState, move: Offer) -> list[Output]:
    row, (cubes, corner) = move.row, move.room
    if move.victims:
        emitted = start_compaction(state, row, move.moves)
        return emitted + claim_cubes(state, row, cubes, corner, move.victims)
    if corner is None and not state.placement.links_are_fixed and state.config.backfill != "conservative":
        cubes = best_cubes(state, row)  # any idle cubes do; a plan has those that it has
    if row.number in state.members:
        return claim_cubes(state, row, cubes, corner, ()) + hold_cubes(state, row)
    queue_of(state).remove(line_of(row), place_of(row))
    return admit(state, row, cubes, corner)


def _keep_promises(state: SchedulerState, decision: CycleDecision) -> None:
    state.promises = decision.promises
    state.wakes_us = decision.wakes_us
