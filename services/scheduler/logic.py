"""What happens when the scheduler is due, and when that is."""

from schemas.envelope import Envelope
from schemas.sequencer import Tick
from services.scheduler.cycle import cycle, is_settled
from services.scheduler.health import clear_suspects
from services.scheduler.links import end_preflights, preflights_end_us
from services.scheduler.multislice.holding import end_backoffs, end_holds, members_due_us
from services.scheduler.queue.estimates import double_overrun, overruns_us
from services.scheduler.recovery.backing_off import end_rests, rests_end_us
from services.scheduler.recovery.moves import end_moves, moves_end_us
from services.scheduler.recovery.notices import end_graces, graces_end_us
from services.scheduler.recovery.recovery import decided_us
from services.scheduler.state import SchedulerState
from shared.engine.service import Output


def due(state: SchedulerState) -> int | None:
    """When there is something to decide, or a preflight is over."""
    times = (_decides_us(state), preflights_end_us(state))
    return min([at_us for at_us in times if at_us is not None], default=None)


def _decides_us(state: SchedulerState) -> int | None:
    """When it is decided what becomes of a slice that was hit, a grace or an estimate is over, a suspected
    cube has been looked at, or one that waits may make others leave."""
    times = (
        decided_us(state),
        graces_end_us(state),
        moves_end_us(state),
        overruns_us(state),
        min(state.suspects.values(), default=None),
        state.wakes_us,
        members_due_us(state),
        rests_end_us(state),
    )
    return min([at_us for at_us in times if at_us is not None], default=None)


def on_tick(state: SchedulerState, _tick: Tick, _message: Envelope) -> list[Output]:
    """Double the estimates that are over, start what passed its preflight, and take the cubes of those whose
    grace is over. Then look at those that were hit, and at the queue."""
    decides_us = _decides_us(state)
    if is_settled(state) and (decides_us is None or decides_us > state.now_us):
        return end_preflights(state)  # who starts leaves no room to anybody
    said: list[Output] = double_overrun(state)
    clear_suspects(state)
    said += end_preflights(state)
    said += end_graces(state)
    said += end_moves(state)
    said += end_holds(state)
    end_backoffs(state)
    end_rests(state)
    return said + cycle(state)
