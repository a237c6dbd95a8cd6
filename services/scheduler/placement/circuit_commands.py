"""Circuit commands of slices. Circuits of a slice that ends stay in place, so that a slice that needs them
again finds them.

All six faces of a cube belong to the slice that uses it. So a leftover circuit at such a cube is either
wanted or in the way, and none leads to another slice.
"""

from collections.abc import Iterable

from schemas.messages.scheduler import ConnectCircuits, DisconnectCircuits, LeaveCircuits, SchedulerBody
from schemas.names import Join
from services.scheduler.state import SchedulerState


def connect_joins(state: SchedulerState, name: str, joins: tuple[Join, ...]) -> list[SchedulerBody]:
    """Make joins for a slice, and disconnect leftover circuits on the same ports."""
    wanted = set(joins)
    norths = {(dimension, north) for dimension, north, _ in joins}
    souths = {(dimension, south) for dimension, _, south in joins}
    touching = [
        join
        for join in leftover_circuits(state)
        if (join[0], join[1]) in norths or (join[0], join[2]) in souths
    ]
    in_the_way = tuple([join for join in touching if join not in wanted])
    _forget(state, touching)
    emitted: list[SchedulerBody] = [DisconnectCircuits(slice=name, joins=in_the_way)] if in_the_way else []
    return [*emitted, ConnectCircuits(slice=name, joins=joins)]


def disconnect_cube(state: SchedulerState, name: str, cube: int) -> list[SchedulerBody]:
    """Disconnect leftover circuits between a cube and other cubes, because meshes will use the cube."""
    leading_away = [join for join in leftover_circuits(state) if cube in join[1:] and join[1] != join[2]]
    _forget(state, leading_away)
    return [DisconnectCircuits(slice=name, joins=tuple(leading_away))] if leading_away else []


def leave_circuits(state: SchedulerState, name: str, joins: tuple[Join, ...]) -> LeaveCircuits:
    """Keep the circuits of a slice that ends until other circuits need their ports."""
    for dimension, north, south in joins:
        state.leftover_circuits[3 * north + dimension] = south
    return LeaveCircuits(slice=name, joins=joins)


def leftover_circuits(state: SchedulerState) -> list[Join]:
    """The circuits that exist but that no slice uses, in order."""
    return sorted((key % 3, key // 3, south) for key, south in state.leftover_circuits.items())


def _forget(state: SchedulerState, joins: Iterable[Join]) -> None:
    for dimension, north, _ in joins:
        del state.leftover_circuits[3 * north + dimension]
