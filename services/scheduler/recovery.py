"""Slices move off failed and drained cubes: any healthy idle cube takes the place of the one left, and only
the circuits that touch it change (Lightwave Fabrics 4.2.2). A slice whose cubes are joined for good stays.
"""

from dataclasses import replace
from typing import Literal

from schemas.names import Join
from schemas.scheduler import ConnectCircuits, CubeSwapped, DisconnectCircuits, SchedulerBody
from services.scheduler.lifecycle import bad_ends_of, put, settle, slice_name, touch_uses
from services.scheduler.state import SchedulerState, Slice, Stall, occupancy_of
from shared.engine.service import CausedBy, Output
from shared.models.superpod.wiring import CHIPS_PER_CUBE, join_ends


def recover_hit(state: SchedulerState) -> list[Output]:
    """Step 1 of the cycle: move recovering slices off their failed cubes, as far as there are spares."""
    said: list[Output] = []
    for number, stall in sorted(state.stalls.items(), key=_longest_hit):
        row = state.slices[number]
        swaps_before = row.swaps
        for cube in row.cubes:
            if cube in state.unhealthy:
                said += _swap(state, state.slices[number], cube, "failed", stall.cause)
        row = state.slices[number]
        if not any(cube in state.unhealthy for cube in row.cubes):
            del state.stalls[number]
            said += settle(state, row, stall.cause if row.swaps > swaps_before else None)
    return said


def _longest_hit(item: tuple[int, Stall]) -> tuple[int, int]:
    number, stall = item
    return stall.since_us, number


def leave_drained(state: SchedulerState) -> list[Output]:
    """Step 2 of the cycle: move slices off drained cubes, as far as step 1 left spares."""
    said: list[Output] = []
    for cube in sorted(state.drained):
        for number in occupancy_of(state).holders[cube]:
            cause = state.drained[cube]
            moved = _swap(state, state.slices[number], cube, "drained", cause)
            if moved:
                said += moved + settle(state, state.slices[number], cause)
    return said


def _swap(
    state: SchedulerState, row: Slice, left: int, reason: Literal["failed", "drained"], cause: str
) -> list[Output]:
    """Put a spare in the place of one cube of a slice; says nothing if there is none."""
    if not state.placement.can_move(row.cubes):
        return []
    occupancy = occupancy_of(state)
    room = occupancy.room_for(min(row.chips, CHIPS_PER_CUBE), whole_cubes=True)
    if room is None:
        return []
    (spare,), corner = room
    occupancy.free(row.number, (left,), row.shape, row.corner)
    occupancy.hold(row.number, (spare,), row.shape, corner)
    touch_uses(state, (left, spare))
    cubes = tuple([spare if cube == left else cube for cube in row.cubes])
    gone = _touching(left, state.placement.joins(row.shape, row.twisted, row.cubes))
    new = _touching(spare, state.placement.joins(row.shape, row.twisted, cubes))
    _forget_ends(state, gone)
    links_down, links_degraded = bad_ends_of(state, row.number)
    moved = replace(
        row,
        changed_us=state.now_us,
        cubes=cubes,
        corner=corner,
        links_down=links_down,
        links_degraded=links_degraded,
        swaps=row.swaps + 1,
    )
    put(state, moved)
    state.swapped += 1
    name = slice_name(state, row.number)
    bodies: list[SchedulerBody] = [
        CubeSwapped(slice=name, left=left, spare=spare, corner=corner, reason=reason)
    ]
    if new:
        awaited = state.awaited.get(row.number, ())
        state.awaited[row.number] = (*(join for join in awaited if join not in gone), *new)
        bodies.append(DisconnectCircuits(slice=name, joins=gone))
        bodies.append(ConnectCircuits(slice=name, joins=new))
    return [CausedBy(cause, body) for body in bodies]


def _touching(cube: int, joins: tuple[Join, ...]) -> tuple[Join, ...]:
    return tuple([join for join in joins if cube in join[1:]])


def _forget_ends(state: SchedulerState, joins: tuple[Join, ...]) -> None:
    """The ends of circuits that are taken away go dark, at the neighbours too: they are no longer bad."""
    if state.bad_ends:
        for ends in join_ends(joins):
            for end in ends.tolist():
                state.bad_ends.pop(end, None)
