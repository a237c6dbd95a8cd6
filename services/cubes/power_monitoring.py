"""What monitoring makes of hosts that fall silent together: a cube of which no host is heard has lost its
power.

The repair of the first silent host is asked for at once, as of any. Those that follow within the interval are
put off until its end, when every other host has been heard or missed: then their repairs are asked for, or
that of the cube's power if nobody was heard.
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
    """When hosts whose repair was put off are looked at again."""
    return min((s.until_us for s in state.silences.values() if s.deferred), default=None)


def request_deferred_repairs(state: CubesState) -> list[Output]:
    """Ask for the hosts that are silent while others of their cubes are heard."""
    waits = [(silence.until_us, cube) for cube, silence in state.silences.items() if silence.deferred]
    due = sorted((until_us, cube) for until_us, cube in waits if until_us <= state.now_us)
    emitted: list[Output] = []
    for _, cube in due:
        for number, cause in state.silences.pop(cube).deferred:
            emitted += [CausedBy(cause, body) for body in request_host_repair(state, number)]
    return emitted


def on_host_silent(state: CubesState, number: int, cause: str) -> list[Body]:
    """A host has just missed its heartbeat."""
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


def on_host_heard(state: CubesState, number: int, cause: str) -> list[Body]:
    """A host that was silent is heard. In a cube without power the others have an interval to come back; what
    else is the matter with the cube is asked for anew."""
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
