"""Scheduler timers: when the scheduler wakes next, and what it then does."""

from schemas.envelope import Envelope
from schemas.messages.scheduler import SliceOverran
from schemas.messages.sequencer import Tick
from services.scheduler.cube_events import clear_suspects
from services.scheduler.cycle import cycle, is_settled
from services.scheduler.lifecycle import slice_name, store_slice
from services.scheduler.link_events import end_preflights, preflights_end_us
from services.scheduler.multislice.gang_hold import end_backoffs, end_holds, members_due_us
from services.scheduler.queue.preflight_backoff import end_preflight_backoffs, preflight_backoffs_end_us
from services.scheduler.queue.start_pause import end_start_pause, start_pause_ends_us
from services.scheduler.recovery.drain_moves import end_moves, moves_end_us
from services.scheduler.recovery.preemption_notices import evict_overdue, graces_end_us
from services.scheduler.recovery.recovery import next_decision_us
from services.scheduler.state import SchedulerState, occupancy_of, placed_slices
from shared.basics.fast_replace import replace
from shared.engine.service import CausedBy, Output


def next_overrun_us(state: SchedulerState) -> int | None:
    """The earliest time at which a slice overruns its estimate. A slice that ends exactly on time does not
    overrun."""
    ends = [state.slices[number].ends_us for number in occupancy_of(state).held]
    return min([ends_us + 1 for ends_us in ends if ends_us is not None], default=None)


def double_overrun_estimates(state: SchedulerState) -> list[Output]:
    """Double the estimate of every slice that overran, until its expected end lies in the future, and emit
    SliceOverran."""
    emitted: list[Output] = []
    for row in placed_slices(state):
        if row.ends_us is None or row.ends_us >= state.now_us:
            continue
        estimate_us, ends_us = row.estimate_us or 1, row.ends_us
        while ends_us < state.now_us:
            ends_us += estimate_us
            estimate_us *= 2
        store_slice(state, replace(row, estimate_us=estimate_us, ends_us=ends_us))
        body = SliceOverran(slice=slice_name(state, row.number), estimate_us=estimate_us, ends_us=ends_us)
        emitted.append(CausedBy(row.request, body))
    return emitted


def due(state: SchedulerState) -> int | None:
    """The next time at which the scheduler must act: a decision is due, or a preflight ends."""
    times = (_next_cycle_us(state), preflights_end_us(state))
    return min([at_us for at_us in times if at_us is not None], default=None)


def _next_cycle_us(state: SchedulerState) -> int | None:
    """The next time at which a decision is due.

    Candidates: a recovery decision, the end of a grace period, move, estimate, hold, backoff or pause of
    starts, the health check of a suspected cube, or the time at which the first slice in line may preempt
    more slices.
    """
    times = (
        next_decision_us(state),
        graces_end_us(state),
        moves_end_us(state),
        next_overrun_us(state),
        min(state.suspects.values(), default=None),
        state.next_preemption_us,
        members_due_us(state),
        preflight_backoffs_end_us(state),
        start_pause_ends_us(state),
    )
    return min([at_us for at_us in times if at_us is not None], default=None)


def on_tick(state: SchedulerState, _tick: Tick, _message: Envelope) -> list[Output]:
    """Handle everything that is due.

    Double the expired estimates, start the slices that passed their preflight, and evict slices whose grace
    period has expired. Then run recovery and the queue.
    """
    due_us = _next_cycle_us(state)
    if is_settled(state) and (due_us is None or due_us > state.now_us):
        return end_preflights(state)  # a slice that starts frees no cubes
    emitted: list[Output] = double_overrun_estimates(state)
    clear_suspects(state)
    emitted += end_preflights(state)
    emitted += evict_overdue(state)
    emitted += end_moves(state)
    emitted += end_holds(state)
    end_backoffs(state)
    end_preflight_backoffs(state)
    end_start_pause(state)
    return emitted + cycle(state)
