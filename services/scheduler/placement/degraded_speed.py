"""How fast a slice is whose traffic goes around the links that are down."""

from collections import Counter
from collections.abc import Iterable

from schemas.messages.scheduler import FULL_SPEED
from services.scheduler.state import SchedulerState, Slice, occupancy_of
from shared.models.superpod.shapes import cube_grid
from shared.models.superpod.wiring import DIMENSIONS, ENDS_PER_CUBE, FACE_LINKS, link_end
from shared.models.topology.reroute import WHOLE_PPM, kept_ppm, speed_ppm


def rerouted_speed(state: SchedulerState, row: Slice) -> int:
    """Parts per million of full speed that a slice on cubes has left with the links that are down; 0 where
    no way leads around."""
    if not row.links_down or row.corner is not None:
        return FULL_SPEED
    kept = kept_ppm(row.shape, row.twisted, _left_ppm(state, row))
    return speed_ppm(kept, round(state.config.communication_share * WHOLE_PPM))


def slice_speed(state: SchedulerState, row: Slice) -> int:
    """The same of a slice that runs. One that fixed fibres have cut apart crawls."""
    return max(rerouted_speed(state, row), 1)


def _left_ppm(state: SchedulerState, row: Slice) -> tuple[int, int, int]:
    """By dimension, the share of its links that is left in the plane across the slice that has lost most."""
    grid = cube_grid(row.shape)
    places = {cube: place for place, cube in enumerate(row.cubes)}
    gone: Counter[tuple[int, int]] = Counter()
    for number in down_ends(state, row):
        cube, rest = divmod(number, ENDS_PER_CUBE)
        dimension, is_minus = divmod(rest // FACE_LINKS, 2)
        if not is_minus:
            x, rest = divmod(places[cube], grid[1] * grid[2])
            gone[dimension, (x, *divmod(rest, grid[2]))[dimension]] += 1
    left = [WHOLE_PPM] * DIMENSIONS
    for (dimension, _), links in sorted(gone.items()):
        plane = FACE_LINKS * len(row.cubes) // grid[dimension]
        left[dimension] = min(left[dimension], WHOLE_PPM - WHOLE_PPM * links // plane)
    return left[0], left[1], left[2]


def down_ends(state: SchedulerState, row: Slice) -> list[int]:
    """The link ends of a slice that are down, rising."""
    occupancy, slice_at, bad = occupancy_of(state), state.placement.slice_at, state.bad_ends
    cubes = {*row.cubes}
    ends: Iterable[int] = bad
    if len(bad) > ENDS_PER_CUBE * len(cubes):  # most are others'
        ends = (end for cube in cubes for end in range(cube * ENDS_PER_CUBE, (cube + 1) * ENDS_PER_CUBE))
    down = [end for end in ends if end // ENDS_PER_CUBE in cubes and bad.get(end) == "down"]
    return sorted([end for end in down if slice_at(occupancy, end) == row.number])


def failed_part(state: SchedulerState, row: Slice) -> str:
    """The OCS, its driver board or the link end that is to blame first for links of a slice that are down. A
    board takes links by one of their ends, so that it is looked for at all of them."""
    ends = [link_end(number) for number in down_ends(state, row)]
    for end in ends:
        if end.ocs in state.ocs_down:
            return f"{state.fabric}/ocs-{end.ocs}"
        for board, cubes in state.driver_boards_down.items():
            if f"/ocs-{end.ocs}/" in board and end.cube in cubes:
                return board
    for end in ends:
        return end.name(state.fabric)
    raise ValueError(f"no link of slice {row.number} is down")
