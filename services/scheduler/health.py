"""Cubes that fail, return, are drained and undrained.

A slice leaves a failed cube if it can: another takes its place, or it stalls until one can, or it is evicted
when `recovery_patience_s` is over. If the failed cube itself returns first, the slice goes on where it is. A
drained cube in use is left when a spare is idle; until then the slice runs on.
"""

from dataclasses import replace

from schemas.cubes import CubeDrained, CubeHealthy, CubeUndrained, CubeUnhealthy
from schemas.envelope import Envelope
from schemas.jobs import JobFailed
from schemas.names import number_of
from schemas.scheduler import SliceRecovering
from services.scheduler.cycle import cycle
from services.scheduler.lifecycle import put, slice_name
from services.scheduler.state import SchedulerState, Stall, occupancy_of
from shared.engine.service import Output


def on_cube_unhealthy(state: SchedulerState, body: CubeUnhealthy, message: Envelope) -> list[Output]:
    """Nothing new comes to the cube; the slices on it get first claim on spares."""
    state.suspects.pop(body.cube, None)
    return _lose_cube(state, body.cube, message.id)


def on_job_failed(state: SchedulerState, body: JobFailed, message: Envelope) -> list[Output]:
    """A job complains of a part before monitoring does: its cube is out of use until the next heartbeats tell
    what is the matter with it."""
    cube = number_of(body.part.removeprefix(f"{state.fabric}/").split("/")[0])
    row = state.slices.get(number_of(body.slice))
    if row is None or cube not in row.cubes or cube in state.unhealthy:
        return []
    state.suspects[cube] = state.now_us + state.spans.heartbeat_us + 1
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
    if cube in state.unhealthy:
        return []
    state.unhealthy[cube] = cause
    occupancy_of(state).allow(cube, False)
    struck = occupancy_of(state).holders[cube]
    for number in struck:
        state.stalls.setdefault(number, Stall(state.now_us, cause))
    said = cycle(state)
    for number in struck:
        row = state.slices[number]
        if cube in row.cubes:
            why = "no healthy idle cube can take its place yet"
            if not state.placement.can_move(row.cubes):
                why = "the slice cannot leave it"
            reason = f"{state.fabric}/cube-{cube} failed and {why}"
            put(state, replace(row, state="recovering", changed_us=state.now_us, reason=reason))
            said.append(SliceRecovering(slice=slice_name(state, number), cube=cube))
    return said


def _return_cube(state: SchedulerState, cube: int) -> bool:
    """Whether the cube was out of use for its health until now."""
    state.suspects.pop(cube, None)
    if state.unhealthy.pop(cube, None) is None:
        return False
    occupancy_of(state).allow(cube, cube not in state.drained)
    return True


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
