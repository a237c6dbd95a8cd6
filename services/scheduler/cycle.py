"""One scheduling cycle: assigns the idle cubes, in numbered steps.

A cycle runs whenever capacity or demand may have changed. It depends only on the current state, so a second
run right after the first changes nothing.
`timers.py` says when the scheduler acts by itself, `service.py` which messages it reacts to.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from services.scheduler.lifecycle import admit
from services.scheduler.multislice.gang_hold import hold_cubes
from services.scheduler.placement.cube_ranking import best_cubes
from services.scheduler.queue.backfill import (
    BACKFILLS,
    BackfillContext,
    Offer,
    slices_in_order,
    timeline_of,
)
from services.scheduler.queue.compaction import compaction
from services.scheduler.queue.drain_windows import (
    CLOSING_DEPTH,
    first_on_closing_cubes,
    fit_with_closing_cubes,
    waiting_filler,
)
from services.scheduler.queue.order import fair_share_order, filler_order
from services.scheduler.queue.placement_lookup import FitFinder
from services.scheduler.queue.preemption import strength_of
from services.scheduler.queue.start_pause import settle_attempt
from services.scheduler.recovery.drain_moves import move_off_drained_cubes
from services.scheduler.recovery.preemption_notices import claim_cubes, serve_claims, start_compaction
from services.scheduler.recovery.recovery import recover_interrupted
from services.scheduler.state import (
    SchedulerState,
    invalidate_wait_summary,
    line_of,
    occupancy_of,
    place_in_line,
    queue_of,
    slices_in,
)
from services.scheduler.structures.slice_record import Slice
from shared.basics.units import US_PER_S
from shared.engine.service import Output


@dataclass(frozen=True, slots=True)
class CycleDecision:
    """The next step of the cycle."""

    offer: Offer | None
    """The slice to place and where; None if no slice can be placed."""
    promises: dict[int, int]
    """Slice → latest start that is promised to it."""
    next_preemption_us: int | None = None
    """When a waiting slice may preempt more slices than now; None if never."""


def cycle(state: SchedulerState) -> list[Output]:
    """Assign idle cubes to slices in order of need; return the emitted messages."""
    settle_attempt(state)
    # 1. Interrupted slices, all in one plan: they have work to lose.
    emitted = recover_interrupted(state)
    # 2. Slices on drained cubes, because repairs wait for those cubes; then the warm spares.
    emitted += move_off_drained_cubes(state)
    # 3. Slices with a claim whose victims have left.
    emitted += serve_claims(state)
    while True:
        # 4. The first slice in line gets its place or a promise. 5. Slices that delay no promise may pass it.
        decision = next_firm(state)
        if decision.offer is None:
            break
        emitted += _place(state, decision.offer)
    _keep_promises(state, decision)
    return emitted + place_filler(state)


def is_settled(state: SchedulerState) -> bool:
    """Whether only time or filler can change the result of the last cycle.

    True if no slice is interrupted, all warm spares are in place, and no promised start is due.
    """
    if slices_in(state, "recovering") or len(state.warm_cubes) < state.config.hot_spares:
        return False
    return all(at_us > state.now_us for at_us in state.promises.values())


def place_filler(state: SchedulerState) -> list[Output]:
    """The last steps of the cycle. If the state is settled, a new filler request needs only these."""
    emitted: list[Output] = []
    # 6. Filler, on what is left.
    while (offer := next_filler(state)) is not None:
        emitted += _place(state, offer)
    # 7. Interrupted meshes again, if filler has just opened a cube for one. A slice that goes back to the
    # queue leaves room, so the cycle then starts again.
    recovered = recover_interrupted(state)
    invalidate_wait_summary(state)
    return emitted + recovered + cycle(state) if recovered else emitted


def next_firm(state: SchedulerState) -> CycleDecision:
    """The next production or research slice to place: the first in line if it fits, else the first that may
    pass it."""
    ranked = fair_share_order(state)
    if not ranked:
        return CycleDecision(None, {})
    fits = FitFinder(state)
    head = state.slices[ranked[0][0][2][1]]
    strength = strength_of(state, head, fits.held)
    yielding = fits.fillers | strength.weaker
    fit = fits.with_preemption(head.shape, yielding)
    if fit is not None:
        return CycleDecision(Offer(head, *fit), {})
    if state.drain_windows and (room := fit_with_closing_cubes(state, head, fits.held_back)) is not None:
        return CycleDecision(Offer(head, room, (), exactly_there=True), {})
    line = BackfillContext(ranked, head, timeline_of(state, yielding))
    compacted = compaction(state, head, yielding, fits.held_back)
    if compacted is not None and not _starts_in_a_grace(state, line, fits.held_back):
        return CycleDecision(Offer(head, compacted.room, compacted.leavers, compacted.moves), {})
    passer, promises = BACKFILLS[state.config.backfill](state, line, fits)
    if passer is None and state.drain_windows and state.config.backfill != "none":
        waiting = slices_in_order(state, ranked, CLOSING_DEPTH)
        passer = _offer_on_closing_cubes(state, iter(waiting))
    return CycleDecision(passer, promises, None if strength.grows is None else strength.grows[0])


def _starts_in_a_grace(state: SchedulerState, line: BackfillContext, held_back: int) -> bool:
    """Whether the first slice in line can start without compaction within one grace period. A claim on other
    cubes would then only delay it."""
    start_us = state.placement.start_us(line.timeline, line.head.shape, held_back)
    return start_us <= state.now_us + state.config.grace_s * US_PER_S


def next_filler(state: SchedulerState) -> Offer | None:
    """The first filler slice that fits on idle cubes, else on closing ones."""
    occupancy = occupancy_of(state)
    if not (occupancy.idle or occupancy.partly or state.drain_windows):
        return None
    for line in filler_order(state):
        room = state.placement.find_fit(occupancy, line[2], whole_cubes=True)
        if room is not None:
            return Offer(state.slices[queue_of(state).lines[line][0][1]], room, ())
    return _offer_on_closing_cubes(state, waiting_filler(state)) if state.drain_windows else None


def _offer_on_closing_cubes(state: SchedulerState, waiting: Iterator[Slice]) -> Offer | None:
    """The first waiting slice that ends before the planned drains of the cubes where it fits."""
    found = first_on_closing_cubes(state, waiting)
    return None if found is None else Offer(found[0], found[1], (), exactly_there=True)


def _place(state: SchedulerState, offer: Offer) -> list[Output]:
    row, (cubes, corner) = offer.row, offer.room
    if offer.victims:
        emitted = start_compaction(state, row, offer.moves)
        return emitted + claim_cubes(state, row, cubes, corner, offer.victims)
    any_will_do = not state.placement.links_are_fixed and state.config.backfill != "conservative"
    if corner is None and any_will_do and not offer.exactly_there:
        cubes = best_cubes(state, row)  # any idle cubes will do, except in the conservative plan
    if row.member is not None:
        emitted = claim_cubes(state, row, cubes, corner, ())
        return emitted + hold_cubes(state, state.slices[row.number])
    queue_of(state).remove(line_of(row), place_in_line(row))
    return admit(state, row, cubes, corner)


def _keep_promises(state: SchedulerState, decision: CycleDecision) -> None:
    state.promises = decision.promises
    state.next_preemption_us = decision.next_preemption_us
