"""Cubes that fail, return, are drained and undrained, as monitoring or a job says.

What becomes of the slices on a failed cube is decided for all that fails together (`recovery`). If the cube
itself returns first, its slice goes on where it is. A cube of which only a module has failed computes on: its
slices feel that by their links.
"""

from schemas.envelope import Envelope
from schemas.messages.cubes import CubeDrained, CubeHealthy, CubeUndrained, CubeUnhealthy, HostDown
from schemas.messages.jobs import JobFailed
from schemas.names import number_of
from services.scheduler.cycle import cycle
from services.scheduler.recovery.recovery import decision_time_us, interrupt
from services.scheduler.state import SchedulerState, occupancy_of
from shared.engine.service import Output

_INSIDE = ("host-", "cable-")
"""In the name of a part of a cube: a host or a chip of it, a cable between two; else it is a module."""


def on_cube_unhealthy(state: SchedulerState, body: CubeUnhealthy, message: Envelope) -> list[Output]:
    """Nothing new comes to the cube; the slices on it get first claim on spares."""
    cube = body.cube
    if cube in state.unhealthy:
        state.suspects.pop(cube, None)
        return []
    if not any(word in reason for reason in body.reasons for word in _INSIDE):
        state.module_failed_cubes[cube] = message.id
    return _lose_cube(state, cube, message.id)


def on_host_down(state: SchedulerState, body: HostDown, message: Envelope) -> list[Output]:
    """Worse than a module: a cube that computed on until now does not any more."""
    if state.module_failed_cubes.pop(body.cube, None) is None:
        return []
    return _strike_all(state, body.cube, message.id)


def on_job_failed(state: SchedulerState, body: JobFailed, message: Envelope) -> list[Output]:
    """A job complains of a part before monitoring does: its cube is out of use until the next heartbeats tell
    what is the matter with it."""
    cube = number_of(body.part.removeprefix(f"{state.fabric}/").split("/")[0])
    row = state.slices.get(number_of(body.slice))
    if row is None or cube not in row.cubes or cube in state.unhealthy:
        return []
    state.suspects[cube] = state.now_us + state.expected_durations.heartbeat_us + 1
    return _lose_cube(state, cube, message.id)


def on_cube_healthy(state: SchedulerState, body: CubeHealthy, _message: Envelope) -> list[Output]:
    """The cube may be given away again; a slice that is recovering on it goes on there."""
    return cycle(state) if _return_cube(state, body.cube) else []


def clear_suspects(state: SchedulerState) -> None:
    """Cubes that a job complained of, and of which all heartbeats came as ever, are used again."""
    for cube in sorted(state.suspects):
        if state.suspects[cube] <= state.now_us:
            _return_cube(state, cube)


def _lose_cube(state: SchedulerState, cube: int, cause: str) -> list[Output]:
    state.unhealthy[cube] = cause
    occupancy_of(state).allow(cube, False)
    return cycle(state) if cube in state.module_failed_cubes else _strike_all(state, cube, cause)


def _strike_all(state: SchedulerState, cube: int, cause: str) -> list[Output]:
    emitted: list[Output] = []
    for number in occupancy_of(state).holders[cube]:
        part = f"{state.fabric}/cube-{cube}"
        emitted += interrupt(state, state.slices[number], part, cause, decision_time_us(state))
    return emitted + cycle(state)


def _return_cube(state: SchedulerState, cube: int) -> bool:
    """Whether the cube was out of use for its health until now."""
    state.suspects.pop(cube, None)
    state.module_failed_cubes.pop(cube, None)
    if state.unhealthy.pop(cube, None) is None:
        return False
    occupancy_of(state).allow(cube, cube not in state.drained)
    return True


def on_cube_drained(state: SchedulerState, body: CubeDrained, message: Envelope) -> list[Output]:
    """Nothing new comes to the cube; the slices on it leave it when they can, after a checkpoint."""
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
