"""Requests for repair: once for every part while its trouble lasts, and taken back when it works again.

A part that worked and broke anew between two heartbeats is asked for again: its repair may have been what
made it work. Of the chips and cables of a silent host nothing is known. A cable is asked for when the hosts
at both its ends miss its link, so that it is not the chip at one of them. Of a cube's power and cooling there
is one repair, which mends both; while only a domain of the building is the matter, which its own monitoring
tells and its own people bring back, nobody is asked.
"""

from schemas.body import Body
from schemas.messages.cubes import RepairRequested, RepairWithdrawn
from services.cubes.state import WORKING_HOST, CubesState, Host
from shared.models.superpod.cables import cable_hosts, cables_of_host
from shared.models.superpod.wiring import HOSTS_PER_CUBE


def request_host_repair(state: CubesState, number: int) -> list[Body]:
    """For a silent host, unless its cube's power may be or is the matter."""
    cube = number // HOSTS_PER_CUBE
    host, name = state.hosts.get(number, WORKING_HOST), state.host_name(number)
    if not host.silent_seen:
        return withdraw_request(state, name)
    silence = state.silences.get(cube)
    is_put_off = silence is not None and any(number == deferred for deferred, _ in silence.deferred)
    if is_put_off or state.unpowered[cube] or state.repairs_open.get(name) == "open":
        return []
    state.repairs_open[name] = "open"
    return [RepairRequested(kind="host", target=name)]


def request_component_repairs(state: CubesState, number: int) -> list[Body]:
    """For the dead chips and lost cables of a host that is heard."""
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
    """For the power or the cooling of a cube, by what the last heartbeat of this host of it showed."""
    cube = number // HOSTS_PER_CUBE
    host, target = state.hosts.get(number, WORKING_HOST), state.cube_name(cube)
    is_dark = bool(state.unpowered[cube])
    is_of_building = cube in state.outages.values() and cube not in state.cube_faults
    if is_of_building or not (is_dark or state.is_hot(cube)):
        return withdraw_request(state, target)
    shows_it = host.silent_seen if is_dark else host.hot_seen
    if not shows_it or state.repairs_open.get(target) == "open":
        return []
    state.repairs_open[target] = "open"
    return [RepairRequested(kind="cube-power" if is_dark else "cooling", target=target)]


def withdraw_request(state: CubesState, target: str) -> list[Body]:
    """The part works, or is not what is the matter; no news if nobody has asked for it."""
    return [] if state.repairs_open.pop(target, None) is None else [RepairWithdrawn(target=target)]
