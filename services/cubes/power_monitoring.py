"""Detects power loss: if all hosts of a cube are silent, the cube has lost its power.

The first silent host's repair is requested at once. Requests for hosts that follow within one heartbeat
interval are deferred to its end, when every host has reported or missed. Then their repairs are requested, or
that of the cube's power if all hosts are silent.
"""

from dataclasses import replace

from schemas.body import Body
from schemas.messages.cubes import CubePowerLost, CubePowerRegained
from services.cubes.cube_health import touch
from services.cubes.repair_requests import request_host_repair, withdraw_request
from services.cubes.state import CubesState, HostSilence
from shared.basics.units import US_PER_S
from shared.engine.service import CausedBy, Output
from shared.models.superpod.wiring import HOSTS_PER_CUBE


def next_deferred_us(state: CubesState) -> int | None:
    """The time of the next deferred repair requests."""
    return min((s.until_us for s in state.silences.values() if s.deferred), default=None)


def request_deferred_repairs(state: CubesState) -> list[Output]:
    """Request the deferred repairs of silent hosts in cubes where other hosts still report."""
    waits = [(silence.until_us, cube) for cube, silence in state.silences.items() if silence.deferred]
    due = sorted((until_us, cube) for until_us, cube in waits if until_us <= state.now_us)
    emitted: list[Output] = []
    for _, cube in due:
        for number, cause in state.silences.pop(cube).deferred:
            emitted += [CausedBy(cause, body) for body in request_host_repair(state, number)]
    return emitted


def on_host_silent(state: CubesState, number: int, cause: str) -> list[Body]:
    """Record that a host has missed its heartbeat."""
    cube = number // HOSTS_PER_CUBE
    silence = state.silences.get(cube)
    if silence is None or silence.until_us < state.now_us:
        silence = HostSilence(number, _until_us(state))
    else:
        silence = replace(silence, deferred=(*silence.deferred, (number, cause)))
    state.silences[cube] = silence
    if not all(host.silent_seen for host in state.hosts_of(cube)):
        return []
    del state.silences[cube]
    state.unpowered[cube] = True
    touch(state, cube)
    return [CubePowerLost(cube=cube), *withdraw_request(state, state.host_name(silence.first))]


def on_host_recovered(state: CubesState, number: int, cause: str) -> list[Body]:
    """Record that a silent host reports again.

    In a cube without power the other hosts have one interval to come back. After it, what is still wrong with
    the cube is requested again.
    """
    cube = number // HOSTS_PER_CUBE
    if not state.unpowered[cube]:
        if not any(host.silent_seen for host in state.hosts_of(cube)):
            state.silences.pop(cube, None)
        return []
    first = cube * HOSTS_PER_CUBE
    silent = [first + index for index, host in enumerate(state.hosts_of(cube)) if host.silent_seen]
    state.unpowered[cube] = False
    state.silences[cube] = HostSilence(number, _until_us(state), tuple((other, cause) for other in silent))
    touch(state, cube)
    return [CubePowerRegained(cube=cube), *withdraw_request(state, state.cube_name(cube))]


def _until_us(state: CubesState) -> int:
    return state.now_us + state.config.heartbeat_s * US_PER_S
