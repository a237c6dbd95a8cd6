"""Detects power loss: if all hosts of a cube are silent, the cube has lost its power.

The repair of a silent host is requested when another host of its cube reports after it: then the cube has
power, and the host itself is the cause. Hosts report one after the other, so this takes a sixteenth of the
heartbeat interval on average and never more than the interval. If no host reports, the power's repair is
requested and none of a host. When power has come back, the other hosts have one interval to report again.
"""

from dataclasses import replace

from schemas.body import Body
from schemas.messages.cubes import CubePowerLost, CubePowerRegained
from services.cubes.cube_health import touch
from services.cubes.heartbeat_times import next_heartbeat_us
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
    if all(host.silent_seen for host in state.hosts_of(cube)):
        silence = state.silences.pop(cube, None)
        requested = None if silence is None else silence.first
        state.unpowered[cube] = True
        touch(state, cube)
        withdrawn = [] if requested is None else withdraw_request(state, state.host_name(requested))
        return [CubePowerLost(cube=cube), *withdrawn]
    silence = state.silences.get(cube)
    if silence is None or silence.until_us < state.now_us:
        silence = HostSilence(number, state.now_us)
    until_us = silence.until_us if silence.first is None else _next_report_us(state, cube)
    state.silences[cube] = replace(silence, until_us=until_us, deferred=(*silence.deferred, (number, cause)))
    return []


def _next_report_us(state: CubesState, cube: int) -> int:
    """The time of the next heartbeat of a host of the cube that is not silent."""
    first = cube * HOSTS_PER_CUBE
    return min(
        next_heartbeat_us(state, first + index)
        for index, host in enumerate(state.hosts_of(cube))
        if not host.silent_seen
    )


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
    until_us = state.now_us + state.config.heartbeat_s * US_PER_S
    state.silences[cube] = HostSilence(None, until_us, tuple((other, cause) for other in silent))
    touch(state, cube)
    return [CubePowerRegained(cube=cube), *withdraw_request(state, state.cube_name(cube))]
