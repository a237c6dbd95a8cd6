"""Cubes that are kept warm: healthy, idle and checked, to be patched in at once for one that fails."""

from services.scheduler.state import WHOLE_CUBE_SHAPE, SchedulerState, occupancy_of


def keep_warm_spares(state: SchedulerState) -> None:
    """Keep so many idle cubes warm as there are to be, the last ones; those that fail or are drained are
    none, nor those beyond that number where it has fallen."""
    occupancy = occupancy_of(state)
    for cube in sorted(state.warm_cubes):
        if not occupancy.allowed[cube]:
            release_warm_spare(state, cube)
    while len(state.warm_cubes) > state.config.hot_spares:
        release_warm_spare(state, min(state.warm_cubes))
    while len(state.warm_cubes) < state.config.hot_spares and occupancy.idle:
        cube = occupancy.idle[-1]
        state.warm_cubes[cube] = state.now_us
        occupancy.keep((cube,), WHOLE_CUBE_SHAPE, None)


def release_warm_spare(state: SchedulerState, cube: int) -> None:
    """One of them is not kept any more."""
    del state.warm_cubes[cube]
    occupancy_of(state).release((cube,), WHOLE_CUBE_SHAPE, None)
