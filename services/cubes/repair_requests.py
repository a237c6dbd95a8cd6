"""Repair requests: one for each part while its fault lasts, withdrawn when it works again.

If a part recovers and fails again between two heartbeats, it is requested again, because a repair may have
caused the recovery. Nothing is known of the chips and cables of a silent host. A cable's repair is requested
if the hosts at both ends miss its link, so that it is not a chip. One repair covers both power and cooling of
a cube. Nothing is requested while only a domain of the building is out, which the building's own staff
restores.
"""

from schemas.body import Body
from schemas.messages.cubes import RepairRequested, RepairWithdrawn
from services.cubes.state import WORKING_HOST, CubesState, Host
from shared.models.superpod.cables import cable_hosts, cables_of_host
from shared.models.superpod.wiring import HOSTS_PER_CUBE


def request_host_repair(state: CubesState, number: int) -> list[Body]:
    """Request the repair of a silent host, unless the cube's power is or may be the cause."""
    cube = number // HOSTS_PER_CUBE
    host, name = state.hosts.get(number, WORKING_HOST), state.host_name(number)
    if not host.silent_seen:
        return withdraw_request(state, name)
    silence = state.silences.get(cube)
    is_deferred = silence is not None and any(number == deferred for deferred, _ in silence.deferred)
    if is_deferred or state.unpowered[cube] or state.repairs_open.get(name) == "open":
        return []
    state.repairs_open[name] = "open"
    return [RepairRequested(kind="host", target=name)]


def request_component_repairs(state: CubesState, number: int) -> list[Body]:
    """Request the repair of dead chips and lost cables of a host that reports."""
    host, name = state.hosts.get(number, WORKING_HOST), state.host_name(number)
    if host.silent_seen:
        return []
    emitted: list[Body] = []
    for chip, faults in enumerate(host.chip_faults):
        target = f"{name}/chip-{chip}"
        if not faults:
            emitted += withdraw_request(state, target)
        elif state.repairs_open.get(target) != "open":
            state.repairs_open[target] = "open"
            emitted.append(RepairRequested(kind="chip", target=target))
    return emitted + _request_cable_repairs(state, number, host)


def _request_cable_repairs(state: CubesState, number: int, host: Host) -> list[Body]:
    if not host.cut_seen and not state.repairs_open:
        return []
    cube, index = divmod(number, HOSTS_PER_CUBE)
    emitted: list[Body] = []
    for cable in cables_of_host(index):
        target = f"{state.cube_name(cube)}/cable-{cable}"
        if cable not in host.cut_seen:
            emitted += withdraw_request(state, target)
        elif _both_hosts_miss(state, cube, cable) and state.repairs_open.get(target) != "open":
            state.repairs_open[target] = "open"
            emitted.append(RepairRequested(kind="cable", target=target))
    return emitted


def _both_hosts_miss(state: CubesState, cube: int, cable: int) -> bool:
    ends = (state.hosts.get(cube * HOSTS_PER_CUBE + host, WORKING_HOST) for host in cable_hosts(cable))
    return all(cable in end.cut_seen for end in ends)


def request_cube_repair(state: CubesState, number: int) -> list[Body]:
    """Request the repair of a cube's power or cooling, if this host's last heartbeat shows the fault."""
    cube = number // HOSTS_PER_CUBE
    host, target = state.hosts.get(number, WORKING_HOST), state.cube_name(cube)
    is_dark = bool(state.unpowered[cube])
    is_building_outage = cube in state.outages.values() and cube not in state.cube_faults
    if is_building_outage or not (is_dark or state.is_hot(cube)):
        return withdraw_request(state, target)
    is_shown = host.silent_seen if is_dark else host.hot_seen
    if not is_shown or state.repairs_open.get(target) == "open":
        return []
    state.repairs_open[target] = "open"
    return [RepairRequested(kind="cube-power" if is_dark else "cooling", target=target)]


def withdraw_request(state: CubesState, target: str) -> list[Body]:
    """Withdraw the request of a part that works or is not the cause; emits nothing without a request."""
    return [] if state.repairs_open.pop(target, None) is None else [RepairWithdrawn(target=target)]
