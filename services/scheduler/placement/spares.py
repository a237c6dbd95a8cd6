"""Cubes that are kept warm: healthy, idle and checked, to be patched in at once for one that fails."""

from services.scheduler.state import WHOLE, SchedulerState, occupancy_of


def keep_hot(state: SchedulerState) -> None:
    """Keep so many idle cubes warm as there are to be, the last ones; those that fail or are drained are
    none, nor those beyond that number where it has fallen."""
    occupancy = occupancy_of(state)
    for cube in sorted(state.hot):
        if not occupancy.allowed[cube]:
            give_back_hot(state, cube)
    while len(state.hot) > state.config.hot_spares:
        give_back_hot(state, min(state.hot))
    while len(state.hot) < state.config.hot_spares and occupancy.idle:
        cube = occupancy.idle[-1]
        state.hot[cube] = state.now_us
        occupancy.keep((cube,), WHOLE, None)


def give_back_hot(state: SchedulerState, cube: int) -> None:
    """One of them is not kept any more."""
    del state.hot[cube]
    occupancy_of(state).give_back((cube,), WHOLE, None)
