"""The health verdict of a cube: healthy when no host of it is seen down and none of its modules has failed.

A degraded module leaves its cube healthy: its link still works. So do chips that are too hot: they only run
slower.
"""

from schemas.body import Body
from schemas.messages.cubes import CubeHealthy, CubeUnhealthy
from services.cubes.state import CubesState
from shared.models.superpod.wiring import ENDS_PER_CUBE, HOSTS_PER_CUBE, link_end


def reasons(state: CubesState, cube: int) -> tuple[str, ...]:
    """The parts for which the cube is unhealthy: hosts and chips in order, then cables, then link ends in
    order; without power, the cube itself and none of its hosts."""
    parts: list[str] = [state.cube_name(cube)] if state.unpowered[cube] else []
    cut: set[int] = set()
    for number, host in enumerate(state.hosts_of(cube), start=cube * HOSTS_PER_CUBE):
        if host.silent_seen and not state.unpowered[cube]:
            parts.append(state.host_name(number))
        parts += [f"{state.host_name(number)}/chip-{chip}" for chip in host.dead_seen]
        cut.update(host.cut_seen)
    parts += [f"{state.cube_name(cube)}/cable-{cable}" for cable in sorted(cut)]
    for end in range(cube * ENDS_PER_CUBE, (cube + 1) * ENDS_PER_CUBE):
        if state.modules.get(end) == "failed":
            parts.append(link_end(end).name(state.fabric))
    return tuple(parts)


def change_bad_parts(state: CubesState, cube: int, change: int) -> list[Body]:
    """Count a part that went bad (+1) or came back (−1), after the tables have been changed. Says the
    verdict if it is another one."""
    before = int(state.bad_parts[cube])
    state.bad_parts[cube] = before + change
    if (before == 0) == (before + change == 0):
        return []
    state.healthy_cube_us += state.healthy * (state.now_us - state.at_us)
    state.at_us = state.now_us
    if before == 0:
        state.healthy -= 1
        return [CubeUnhealthy(cube=cube, reasons=reasons(state, cube))]
    state.healthy += 1
    return [CubeHealthy(cube=cube)]


def touch(state: CubesState, cube: int) -> None:
    """The cube's document has changed, and with it perhaps the summary."""
    state.changed_us[cube] = state.now_us
    state.changed_documents.add(("cubes", state.cube_name(cube)))
    state.changed_documents.add(("summaries", f"{state.fabric}/cubes"))
