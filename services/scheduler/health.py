"""Cubes that fail, return, are drained and undrained; and slices that were stalled for too long.

A slice always leaves a failed cube: another takes its place, or it stalls until one can, or it is evicted
when `recovery_patience_s` is over. If the failed cube itself returns first, the slice goes on where it is. A
drained cube in use is left when a spare is idle; until then the slice runs on.
"""

from dataclasses import replace

from schemas.cubes import CubeDrained, CubeHealthy, CubeUndrained, CubeUnhealthy
from schemas.envelope import Envelope
from schemas.scheduler import SliceStalled
from schemas.sequencer import Tick
from services.scheduler.cycle import cycle, kept_until_us
from services.scheduler.lifecycle import evict, put, slice_name
from services.scheduler.state import SchedulerState, Stall, occupancy_of
from shared.basics.units import US_PER_S
from shared.engine.service import Output


def on_cube_unhealthy(state: SchedulerState, body: CubeUnhealthy, message: Envelope) -> list[Output]:
    """Nothing new comes to the cube; the slices on it get first claim on spares."""
    cube = body.cube
    if cube in state.unhealthy:
        return []
    state.unhealthy[cube] = message.id
    occupancy_of(state).allow(cube, False)
    struck = occupancy_of(state).holders[cube]
    for number in struck:
        state.stalls.setdefault(number, Stall(state.now_us, message.id))
    said = cycle(state)
    for number in struck:
        row = state.slices[number]
        if cube in row.cubes:
            reason = f"{state.fabric}/cube-{cube} failed and no healthy idle cube can take its place yet"
            put(state, replace(row, state="stalled", changed_us=state.now_us, reason=reason))
            said.append(SliceStalled(slice=slice_name(state, number), cube=cube))
    return said


def on_cube_healthy(state: SchedulerState, body: CubeHealthy, _message: Envelope) -> list[Output]:
    """The cube may be given away again; a slice that is stalled on it goes on there."""
    cube = body.cube
    if state.unhealthy.pop(cube, None) is None:
        return []
    occupancy_of(state).allow(cube, cube not in state.drained)
    return cycle(state)


def on_cube_drained(state: SchedulerState, body: CubeDrained, message: Envelope) -> list[Output]:
    """Nothing new comes to the cube; the slices on it leave it when they can."""
    cube = body.cube
    if cube in state.drained:
        return []
    state.drained[cube] = message.id
    occupancy_of(state).allow(cube, False)
    return cycle(state)


def on_cube_undrained(state: SchedulerState, body: CubeUndrained, _message: Envelope) -> list[Output]:
    """The cube may be given away again, if it is healthy."""
    cube = body.cube
    if state.drained.pop(cube, None) is None:
        return []
    occupancy_of(state).allow(cube, cube not in state.unhealthy)
    return cycle(state)


def due(state: SchedulerState) -> int | None:
    """When the slice that is stalled longest is given up, or others may pass the first in the queue again."""
    kept_us = kept_until_us(state)
    if not state.stalls:
        return kept_us
    stalled_us = min([stall.since_us for stall in state.stalls.values()]) + _patience_us(state)
    return stalled_us if kept_us is None else min(stalled_us, kept_us)


def on_tick(state: SchedulerState, _tick: Tick, _message: Envelope) -> list[Output]:
    """Give up slices that found no spare in time, one by one: the cubes of one may save the next. Then look
    at the queue, which may go on."""
    said: list[Output] = []
    while state.stalls:
        since_us, number = min([(stall.since_us, number) for number, stall in state.stalls.items()])
        if since_us + _patience_us(state) > state.now_us:
            break
        row = state.slices[number]
        failed = ", ".join(f"{state.fabric}/cube-{c}" for c in row.cubes if c in state.unhealthy)
        patience_s = state.config.recovery_patience_s
        reason = (
            f"{failed} failed and no healthy idle cube took its place within {patience_s} s "
            "(scheduler.recovery_patience_s)"
        )
        said += evict(state, row, reason, state.stalls[number].cause)
        said += cycle(state)
    return said + cycle(state)


def _patience_us(state: SchedulerState) -> int:
    return state.config.recovery_patience_s * US_PER_S
