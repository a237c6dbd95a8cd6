"""Status documents of the cubes, one each, and a summary."""

from collections.abc import Iterator

from schemas.documents.pods import CubeDocument, CubesSummary, HostStatus
from schemas.names import number_of
from services.cubes.cube_health import reasons
from services.cubes.state import WORKING_HOST, CubesState
from shared.engine.service import DocumentKey
from shared.models.superpod.wiring import HOSTS_PER_CUBE


def document_keys(state: CubesState) -> Iterator[DocumentKey]:
    for cube in range(state.cubes):
        yield "cubes", state.cube_name(cube)
    yield "summaries", f"{state.fabric}/cubes"


def document(state: CubesState, key: DocumentKey) -> CubeDocument | CubesSummary:
    kind, name = key
    if kind == "summaries":
        return CubesSummary(
            name=name,
            at_us=state.at_us,
            cubes=state.cubes,
            healthy=state.healthy,
            drained=int(state.drained.sum()),
            hosts_down=state.hosts_down,
            healthy_cube_us=state.healthy_cube_us,
        )
    cube = number_of(name)
    window, planned = state.windows.get(cube), state.planned_drains.get(cube)
    is_drained, ending = bool(state.drained[cube]), planned or window
    until_us = None if ending is None or (is_drained and planned is None) else ending.until_us
    return CubeDocument(
        name=name,
        health="unhealthy" if state.bad_parts[cube] else "healthy",
        reasons=reasons(state, cube),
        drained=is_drained,
        powered=not state.unpowered[cube],
        throttled=state.is_hot(cube),
        hosts=tuple(_host_status(state, cube, host) for host in range(HOSTS_PER_CUBE)),
        changed_us=int(state.changed_us[cube]),
        drain_from_us=window.from_us if window and not is_drained else None,
        drain_until_us=until_us,
        next_drain_from_us=window.from_us if window and is_drained else None,
        next_drain_until_us=window.until_us if window and is_drained else None,
    )


def _host_status(state: CubesState, cube: int, host: int) -> HostStatus:
    trouble = state.hosts.get(cube * HOSTS_PER_CUBE + host, WORKING_HOST).trouble_seen
    return HostStatus(host=host, state="down" if trouble else "up", reason=trouble)
