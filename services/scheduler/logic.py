"""What happens when the scheduler is due, and when that is."""

from schemas.envelope import Envelope
from schemas.messages.scheduler import SliceOverran
from schemas.messages.sequencer import Tick
from services.scheduler.cube_events import clear_suspects
from services.scheduler.cycle import cycle, is_settled
from services.scheduler.lifecycle import slice_name, store_slice
from services.scheduler.link_events import end_preflights, preflights_end_us
from services.scheduler.multislice.gang_hold import end_backoffs, end_holds, members_due_us
from services.scheduler.queue.preflight_backoff import end_preflight_backoffs, preflight_backoffs_end_us
from services.scheduler.recovery.drain_moves import end_moves, moves_end_us
from services.scheduler.recovery.preemption_notices import evict_overdue, graces_end_us
from services.scheduler.recovery.recovery import next_decision_us
from services.scheduler.state import SchedulerState, occupancy_of, placed_slices
from shared.basics.fast_replace import replace
from shared.engine.service import CausedBy, Output

# How long slices have their cubes: what their owners thought, until that proves too short.


def next_overrun_us(state: SchedulerState) -> int | None:
    """When the next slice has its cubes for longer than was estimated: one that ends just then has not."""
    ends = [state.slices[number].ends_us for number in occupancy_of(state).held]
    return min([ends_us + 1 for ends_us in ends if ends_us is not None], default=None)


def double_overrun_estimates(state: SchedulerState) -> list[Output]:
    """The estimate of every slice that should have left by now becomes twice as long, as often as it takes,
    and the slip is said."""
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
    """When there is something to decide, or a preflight is over."""
    times = (_decides_us(state), preflights_end_us(state))
    return min([at_us for at_us in times if at_us is not None], default=None)


def _decides_us(state: SchedulerState) -> int | None:
    """When it is decided what becomes of a slice that was hit, a grace or an estimate is over, a suspected
    cube has been looked at, or one that waits may make others leave."""
    times = (
        next_decision_us(state),
        graces_end_us(state),
        moves_end_us(state),
        next_overrun_us(state),
        min(state.suspects.values(), default=None),
        state.wakes_us,
        members_due_us(state),
        preflight_backoffs_end_us(state),
    )
    return min([at_us for at_us in times if at_us is not None], default=None)


def on_tick(state: SchedulerState, _tick: Tick, _message: Envelope) -> list[Output]:
    """Double the estimates that are over, start what passed its preflight, and take the cubes of those whose
    grace is over. Then look at those that were hit, and at the queue."""
    decides_us = _decides_us(state)
    if is_settled(state) and (decides_us is None or decides_us > state.now_us):
        return end_preflights(state)  # who starts leaves no room to anybody
    emitted: list[Output] = double_overrun_estimates(state)
    clear_suspects(state)
    emitted += end_preflights(state)
    emitted += evict_overdue(state)
    emitted += end_moves(state)
    emitted += end_holds(state)
    end_backoffs(state)
    end_preflight_backoffs(state)
    return emitted + cycle(state)
