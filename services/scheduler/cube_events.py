"""Cubes that fail, recover, are drained or undrained, as monitoring or a job reports it.

Recovery decides for all slices that fail together (`recovery`). If the cube recovers first, its slice
continues there. A cube with only a failed transceiver module still computes; its slices notice the failure
through their links.
"""

from schemas.envelope import Envelope
from schemas.messages.cubes import (
    CubeDrained,
    CubeHealthy,
    CubeUndrained,
    CubeUnhealthy,
    DrainPlanned,
    HostDown,
    PlannedDrainCancelled,
)
from schemas.messages.jobs import JobFailed
from schemas.names import number_of
from services.scheduler.cycle import cycle
from services.scheduler.recovery.recovery import decision_time_us, interrupt
from services.scheduler.state import SchedulerState, is_in_use, occupancy_of
from shared.engine.service import Output

_INNER_PART_PREFIXES = ("host-", "cable-")
"""Name prefixes of parts inside a cube: a host or its chips, or a cable between trays. Any other part is a
module."""


def on_cube_unhealthy(state: SchedulerState, body: CubeUnhealthy, message: Envelope) -> list[Output]:
    """Place nothing new on the cube. Its slices get the first claim on spares."""
    cube = body.cube
    if cube in state.unhealthy:
        state.suspects.pop(cube, None)
        return []
    if not any(word in reason for reason in body.reasons for word in _INNER_PART_PREFIXES):
        state.module_failed_cubes[cube] = message.id
    return _take_out_of_use(state, cube, message.id)


def on_host_down(state: SchedulerState, body: HostDown, message: Envelope) -> list[Output]:
    """Interrupt the slices of a cube that had only a failed module and kept computing until now."""
    if state.module_failed_cubes.pop(body.cube, None) is None:
        return []
    return _interrupt_slices_on(state, body.cube, message.id)


def on_job_failed(state: SchedulerState, body: JobFailed, message: Envelope) -> list[Output]:
    """Take a cube out of use when a job reports a bad part before monitoring does. The next heartbeats
    confirm or clear it."""
    cube = number_of(body.part.removeprefix(f"{state.fabric}/").split("/")[0])
    row = state.slices.get(number_of(body.slice))
    if row is None or cube not in row.cubes or cube in state.unhealthy:
        return []
    state.suspects[cube] = state.now_us + state.expected_durations.heartbeat_us + 1
    return _take_out_of_use(state, cube, message.id)


def on_cube_healthy(state: SchedulerState, body: CubeHealthy, _message: Envelope) -> list[Output]:
    """Allow placement on the cube again. A slice that is recovering on it continues there."""
    return cycle(state) if _put_back_into_use(state, body.cube) else []


def clear_suspects(state: SchedulerState) -> None:
    """Put suspected cubes back into use if all their heartbeats arrived."""
    for cube in sorted(state.suspects):
        if state.suspects[cube] <= state.now_us:
            _put_back_into_use(state, cube)


def _take_out_of_use(state: SchedulerState, cube: int, cause: str) -> list[Output]:
    state.unhealthy[cube] = cause
    occupancy_of(state).allow(cube, False)
    return cycle(state) if cube in state.module_failed_cubes else _interrupt_slices_on(state, cube, cause)


def _interrupt_slices_on(state: SchedulerState, cube: int, cause: str) -> list[Output]:
    emitted: list[Output] = []
    for number in occupancy_of(state).holders[cube]:
        part = f"{state.fabric}/cube-{cube}"
        emitted += interrupt(state, state.slices[number], part, cause, decision_time_us(state))
    return emitted + cycle(state)


def _put_back_into_use(state: SchedulerState, cube: int) -> bool:
    """Mark the cube as healthy; return whether it was out of use for its health."""
    state.suspects.pop(cube, None)
    state.module_failed_cubes.pop(cube, None)
    if state.unhealthy.pop(cube, None) is None:
        return False
    occupancy_of(state).allow(cube, is_in_use(state, cube))
    return True


def on_cube_drained(state: SchedulerState, body: CubeDrained, message: Envelope) -> list[Output]:
    """Place nothing new on the cube. Its slices write a checkpoint and move when a spare is available."""
    cube = body.cube
    state.drain_windows.pop(cube, None)
    state.drained_until.pop(cube, None)
    if body.until_us is not None:
        state.drained_until[cube] = body.until_us
    if cube in state.drained:
        return []
    state.drained[cube] = message.id
    occupancy_of(state).allow(cube, False)
    return cycle(state)


def on_cube_undrained(state: SchedulerState, body: CubeUndrained, _message: Envelope) -> list[Output]:
    """Allow placement on the cube again, if it is healthy."""
    cube = body.cube
    state.drained_until.pop(cube, None)
    if state.drained.pop(cube, None) is None:
        return []
    occupancy_of(state).allow(cube, is_in_use(state, cube))
    return cycle(state)


def on_drain_planned(state: SchedulerState, body: DrainPlanned, _message: Envelope) -> list[Output]:
    """Keep the cube free of slices that would still run when its drain begins."""
    state.drain_windows[body.cube] = (body.from_us, body.until_us)
    occupancy_of(state).allow(body.cube, False)
    return cycle(state)


def on_planned_drain_cancelled(
    state: SchedulerState, body: PlannedDrainCancelled, _message: Envelope
) -> list[Output]:
    """Allow placement on the cube again, if it is in use."""
    if state.drain_windows.pop(body.cube, None) is None:
        return []
    occupancy_of(state).allow(body.cube, is_in_use(state, body.cube))
    return cycle(state)
