"""The speed of a slice whose traffic is rerouted around links that are down."""

from schemas.messages.scheduler import FULL_SPEED
from services.scheduler.state import SchedulerState, faults_of
from services.scheduler.structures.slice_record import Slice
from shared.models.superpod.wiring import link_end
from shared.models.topology.reroute import WHOLE_PPM, kept_ppm, speed_ppm


def rerouted_speed(state: SchedulerState, row: Slice) -> int:
    """The speed of a slice on cubes with its links that are down, in parts per million of full speed; 0 if
    there is no route."""
    if not row.links_down or row.corner is not None:
        return FULL_SPEED
    kept = kept_ppm(row.shape, row.twisted, faults_of(state, row).remaining_ppm)
    return speed_ppm(kept, round(state.config.communication_share * WHOLE_PPM))


def slice_speed(state: SchedulerState, row: Slice) -> int:
    """The speed of a running slice. It is at least 1 ppm, for a slice that failed fixed fibres have cut in
    two."""
    return max(rerouted_speed(state, row), 1)


def failed_part(state: SchedulerState, row: Slice) -> str:
    """The part to blame for the links of a slice that are down: an OCS, else a driver board, else a link end.
    A board affects only one end of a link, so all ends are checked."""
    down = faults_of(state, row).down
    if not down:
        raise ValueError(f"no link of slice {row.number} is down")
    if state.ocs_down or state.driver_boards_down:
        for end in map(link_end, down):
            if end.ocs in state.ocs_down:
                return f"{state.fabric}/ocs-{end.ocs}"
            for board, cubes in state.driver_boards_down.items():
                if f"/ocs-{end.ocs}/" in board and end.cube in cubes:
                    return board
    return link_end(down[0]).name(state.fabric)
