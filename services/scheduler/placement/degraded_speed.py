"""The speed of a slice whose traffic is rerouted around links that are down."""

from collections import Counter
from collections.abc import Iterable

from schemas.messages.scheduler import FULL_SPEED
from services.scheduler.state import SchedulerState, occupancy_of
from services.scheduler.structures.slice_record import Slice
from shared.models.superpod.shapes import cube_grid
from shared.models.superpod.wiring import DIMENSIONS, ENDS_PER_CUBE, FACE_LINKS, link_end
from shared.models.topology.reroute import WHOLE_PPM, kept_ppm, speed_ppm


def rerouted_speed(state: SchedulerState, row: Slice) -> int:
    """The speed of a slice on cubes with its links that are down, in parts per million of full speed; 0 if
    there is no route."""
    if not row.links_down or row.corner is not None:
        return FULL_SPEED
    kept = kept_ppm(row.shape, row.twisted, _remaining_link_ppm(state, row))
    return speed_ppm(kept, round(state.config.communication_share * WHOLE_PPM))


def slice_speed(state: SchedulerState, row: Slice) -> int:
    """The speed of a running slice. It is at least 1 ppm, for a slice that failed fixed fibres have cut in
    two."""
    return max(rerouted_speed(state, row), 1)


def _remaining_link_ppm(state: SchedulerState, row: Slice) -> tuple[int, int, int]:
    """By dimension, the share of links that is left in the plane that lost most, in parts per million."""
    grid = cube_grid(row.shape)
    places = {cube: place for place, cube in enumerate(row.cubes)}
    links_down: Counter[tuple[int, int]] = Counter()
    for number in down_ends(state, row):
        cube, rest = divmod(number, ENDS_PER_CUBE)
        dimension, is_minus = divmod(rest // FACE_LINKS, 2)
        if not is_minus:
            x, rest = divmod(places[cube], grid[1] * grid[2])
            links_down[dimension, (x, *divmod(rest, grid[2]))[dimension]] += 1
    remaining = [WHOLE_PPM] * DIMENSIONS
    for (dimension, _), links in sorted(links_down.items()):
        plane = FACE_LINKS * len(row.cubes) // grid[dimension]
        remaining[dimension] = min(remaining[dimension], WHOLE_PPM - WHOLE_PPM * links // plane)
    return remaining[0], remaining[1], remaining[2]


def down_ends(state: SchedulerState, row: Slice) -> list[int]:
    """The link ends of a slice that are down, ascending."""
    occupancy, slice_at, bad = occupancy_of(state), state.placement.slice_at, state.bad_ends
    cubes = {*row.cubes}
    ends: Iterable[int] = bad
    if len(bad) > ENDS_PER_CUBE * len(cubes):  # most belong to other slices
        ends = (end for cube in cubes for end in range(cube * ENDS_PER_CUBE, (cube + 1) * ENDS_PER_CUBE))
    down = [end for end in ends if end // ENDS_PER_CUBE in cubes and bad.get(end) == "down"]
    return sorted([end for end in down if slice_at(occupancy, end) == row.number])


def failed_part(state: SchedulerState, row: Slice) -> str:
    """The part to blame for the links of a slice that are down: an OCS, else a driver board, else a link end.
    A board affects only one end of a link, so all ends are checked."""
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
