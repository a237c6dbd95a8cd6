"""What happens when the scheduler is due, and when that is: slices that were recovering for too long, cubes
that only a job has complained of, and a queue whose first has waited for long."""

from schemas.envelope import Envelope
from schemas.sequencer import Tick
from services.scheduler.cycle import cycle, kept_until_us
from services.scheduler.health import clear_suspects
from services.scheduler.lifecycle import evict
from services.scheduler.state import SchedulerState, Slice
from shared.basics.units import US_PER_S
from shared.engine.service import Output


def due(state: SchedulerState) -> int | None:
    """When the slice that is recovering longest is given up, others may pass the first in the queue again, or
    a suspected cube has been looked at."""
    times = list(state.suspects.values())
    kept_us = kept_until_us(state)
    if kept_us is not None:
        times.append(kept_us)
    if state.stalls:
        times.append(min([stall.since_us for stall in state.stalls.values()]) + _patience_us(state))
    return min(times, default=None)


def on_tick(state: SchedulerState, _tick: Tick, _message: Envelope) -> list[Output]:
    """Give up slices that found no spare in time, one by one: the cubes of one may save the next. Then look
    at the queue, which may go on."""
    said: list[Output] = []
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
