"""What happens when the scheduler is due, and when that is."""

from schemas.envelope import Envelope
from schemas.sequencer import Tick
from services.scheduler.cycle import cycle
from services.scheduler.estimates import double_overrun, overruns_us
from services.scheduler.health import clear_suspects
from services.scheduler.lifecycle import evict
from services.scheduler.notices import end_graces, graces_end_us
from services.scheduler.state import SchedulerState, Slice
from shared.basics.units import US_PER_S
from shared.engine.service import Output


def due(state: SchedulerState) -> int | None:
    """When the slice that is recovering longest is given up, a grace is over, an estimate is, one that waits
    may make others leave, or a suspected cube has been looked at."""
    times = [stall.since_us + _patience_us(state) for stall in state.stalls.values()]
    times += state.suspects.values()
    others = (graces_end_us(state), overruns_us(state), state.wakes_us)
    return min([*times, *[at_us for at_us in others if at_us is not None]], default=None)


def on_tick(state: SchedulerState, _tick: Tick, _message: Envelope) -> list[Output]:
    """Double the estimates that are over, and take the cubes of those whose grace is. Give up slices that
    found no spare in time, one by one: the cubes of one may save the next. Then look at the queue."""
    said: list[Output] = double_overrun(state)
    said += end_graces(state)
    clear_suspects(state)
    while state.stalls:
        since_us, number = min([(stall.since_us, number) for number, stall in state.stalls.items()])
        if since_us + _patience_us(state) > state.now_us:
            break
        row = state.slices[number]
        said += evict(state, row, _eviction_reason(state, row), state.stalls[number].cause)
        said += cycle(state)
    return said + cycle(state)


def _eviction_reason(state: SchedulerState, row: Slice) -> str:
    failed = ", ".join(f"{state.fabric}/cube-{c}" for c in row.cubes if c in state.unhealthy)
    within = f"within {state.config.recovery_patience_s} s"
    if state.placement.can_move(row.cubes):
        why = f"no healthy idle cube took its place {within}"
    else:
        why = f"did not return {within}, and the slice cannot leave it"
    return f"{failed} failed and {why} (scheduler.recovery_patience_s)"


def _patience_us(state: SchedulerState) -> int:
    return state.config.recovery_patience_s * US_PER_S
