"""Warm spares: healthy, idle, checked cubes that can replace a failed cube at once."""

from services.scheduler.state import WHOLE_CUBE_SHAPE, SchedulerState, occupancy_of


def keep_warm_spares(state: SchedulerState) -> None:
    """Keep `hot_spares` idle cubes warm, highest numbers first. Release cubes that failed, are drained, or
    exceed that number."""
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
    del state.warm_cubes[cube]
    occupancy_of(state).release((cube,), WHOLE_CUBE_SHAPE, None)
