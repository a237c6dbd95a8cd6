"""Drains that operators plan, with a beginning and usually an end.

A cube has at most one planned drain. It begins at its time, whatever runs on the cube then, as a drain that
an operator requests at that moment; the scheduler keeps the cube free of slices that would still run. If the
cube is drained when it begins, without a known end, the plan is dropped: the cube stays drained. If the cube
is drained with an end, both drains count: the later end is kept. A drain that an operator requests without a
plan sets the end of the operators' drain under way; one that a drill orders can only move it later.
"""

from schemas.body import Body
from schemas.envelope import Envelope
from schemas.messages.cubes import CubeDrained, DrainPlanned, DrainRefused, PlannedDrainCancelled
from schemas.messages.drills import DrillOrder
from schemas.messages.operator import DrainCube
from services.cubes.cube_health import touch
from services.cubes.state import CubesState, DrainWindow, PlannedDrain
from shared.basics.time_format import format_time
from shared.engine.service import CausedBy, Output


def plan_window(
    state: CubesState, cube: int, body: DrainCube, message: Envelope
) -> list[Output] | DrainRefused:
    """Plan a drain of a cube, or begin it if its time has come. Nothing changes if the same one is planned
    or under way. Refuse a second one, one that is over, and one of a cube that is drained without a known
    end."""
    from_us = state.now_us if body.from_us is None else max(body.from_us, state.now_us)
    start_us = state.now_us if body.from_us is None else body.from_us
    until_us = None if body.duration_us is None else start_us + body.duration_us
    if _is_known(state, cube, start_us, until_us):
        return []
    problem = _problem(state, cube, until_us)
    if problem is not None:
        return DrainRefused(target=body.cube, reason=f"cube: {body.cube!r} {problem}")
    window = DrainWindow(from_us, until_us, message.id)
    if from_us <= state.now_us:
        return [_begin(state, cube, window, sets_end=not _is_for_a_while(message))]
    state.windows[cube] = window
    touch(state, cube)
    return [DrainPlanned(cube=cube, from_us=from_us, until_us=until_us)]


def _is_for_a_while(message: Envelope) -> bool:
    """Whether a drill requests the drain, whose end must not shorten one that is under way. Its undo may."""
    return isinstance(message.body, DrillOrder) and not message.body.is_undo


def _is_known(state: CubesState, cube: int, start_us: int, until_us: int | None) -> bool:
    """Whether the same drain is planned, or under way: one that has begun is known by its end alone."""
    planned, under_way = state.windows.get(cube), state.planned_drains.get(cube)
    if planned is not None and (planned.from_us, planned.until_us) == (start_us, until_us):
        return True
    if not state.drained[cube] or start_us > state.now_us:
        return False
    if under_way is None:
        return until_us is None
    return under_way.why == "window" and under_way.until_us == until_us


def _problem(state: CubesState, cube: int, until_us: int | None) -> str | None:
    """Why a drain that ends at `until_us` cannot be planned for a cube; None if it can be."""
    planned = state.windows.get(cube)
    if planned is not None:
        end = "without an end" if planned.until_us is None else f"to {format_time(planned.until_us)}"
        return (
            f"has a planned drain from {format_time(planned.from_us)} {end}; must have one at a time, and "
            "`undrain` cancels it"
        )
    if until_us is not None and until_us <= state.now_us:
        return f"would be drained until {format_time(until_us)}, which is past; must end later"
    if state.drained[cube] and cube not in state.planned_drains:
        return "is drained already, without an end; must be in use to plan a drain"
    return None


def begin_windows(state: CubesState) -> list[Output]:
    """Begin the planned drains whose time has come."""
    due = sorted(
        (window.from_us, cube) for cube, window in state.windows.items() if window.from_us <= state.now_us
    )
    emitted: list[Output] = []
    for _, cube in due:
        window = state.windows[cube]
        if state.drained[cube] and cube not in state.planned_drains:
            emitted += [CausedBy(window.cause, body) for body in cancel_window(state, cube)]
        else:
            del state.windows[cube]
            emitted.append(CausedBy(window.cause, _begin(state, cube, window)))
    return emitted


def cancel_window(state: CubesState, cube: int) -> list[Body]:
    """Drop the drain that is planned for a cube, if there is one."""
    window = state.windows.pop(cube, None)
    if window is None:
        return []
    touch(state, cube)
    return [PlannedDrainCancelled(cube=cube, from_us=window.from_us)]


def _begin(state: CubesState, cube: int, window: DrainWindow, *, sets_end: bool = False) -> CubeDrained:
    """Drain the cube. A drain under way is taken over with the later end of the two. With `sets_end` the end
    of operators' drains is replaced, but never that of planned work, which may need all of its time."""
    under_way = state.planned_drains.pop(cube, None)
    until_us = window.until_us
    if until_us is not None:
        if under_way is not None and not (sets_end and under_way.why == "window"):
            until_us = max(until_us, under_way.until_us)
        state.planned_drains[cube] = PlannedDrain(until_us, "window")
    state.drained[cube] = True
    touch(state, cube)
    was_until_us = None if under_way is None or under_way.until_us == until_us else under_way.until_us
    return CubeDrained(cube=cube, why="window", until_us=until_us, was_until_us=was_until_us)
