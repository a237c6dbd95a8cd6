"""Health of a cube: healthy if it has power and no host, chip, cable or module is seen as failed.

A cube with a degraded module is healthy, because the link still works. So is a throttled cube, which only
runs slower.
"""

from schemas.body import Body
from schemas.messages.cubes import CubeHealthy, CubeUnhealthy
from services.cubes.state import CubesState
from shared.models.superpod.wiring import ENDS_PER_CUBE, HOSTS_PER_CUBE, link_end


def reasons(state: CubesState, cube: int) -> tuple[str, ...]:
    """The parts that make the cube unhealthy, in order: hosts and chips, cables, link ends.

    Without power it is the cube itself, and none of its hosts.
    """
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
    """Count a part that failed (+1) or recovered (−1), after the tables have changed. Emit a changed
    verdict."""
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
    """Mark the documents of the cube and the summary as changed."""
    state.changed_us[cube] = state.now_us
    state.changed_documents.add(("cubes", state.cube_name(cube)))
    state.changed_documents.add(("summaries", f"{state.fabric}/cubes"))
