"""The rules of the cubes' monitoring: what is wrong with a host, and with what it can tell of, shows at its
heartbeat, what is wrong with a module at once. What is seen becomes events, the cube's verdict, and requests
for repair.
"""

from dataclasses import replace

from schemas.body import Body
from schemas.cubes import (
    CubeCooled,
    CubeDrained,
    CubeOverheated,
    CubeUndrained,
    DrainRefused,
    HostDown,
    HostUp,
    RepairRequested,
    RepairWithdrawn,
)
from schemas.envelope import Envelope
from schemas.failures import FaultBegan, FaultEnded
from schemas.operator import DrainCube, RekeyDraws, UndrainCube
from schemas.sequencer import Tick
from schemas.transceivers import ModuleReported
from services.cubes import maintenance
from services.cubes.asking import ask_for_cube, ask_for_host, ask_for_insides
from services.cubes.power import look, look_us, on_heard, on_silent
from services.cubes.state import WORKING, CubesState, Heartbeat, Host
from services.cubes.verdict import change_bad_parts, touch
from shared.basics.errors import InvalidInput
from shared.basics.keyed_random import draw_index
from shared.basics.units import US_PER_S
from shared.engine.service import CausedBy, Output
from shared.models.plant import Part
from shared.models.superpod.cables import cable_hosts
from shared.models.superpod.plant import superpod_plant
from shared.models.superpod.wiring import HOSTS_PER_CUBE, link_end

INSIDE_CUBES = ("host", "chip", "cable", "cube-power", "cooling")
"""Kinds of faults that hosts show at their heartbeats."""


def due(state: CubesState) -> int | None:
    """The next heartbeat (or its absence) that may show something new, the end of a wait for others, or what
    is planned next."""
    moments = [heartbeat.at_us for heartbeat in state.heartbeats.values()]
    moments += [at_us for at_us in (look_us(state), maintenance.due_us(state)) if at_us is not None]
    return min(moments, default=None)


def next_heartbeat_us(state: CubesState, number: int) -> int:
    """The host's first heartbeat after now. Every host has a phase of its own."""
    interval_us = state.config.heartbeat_s * US_PER_S
    phase_us = draw_index(state.seed, state.host_name(number), "heartbeat phase", 0, interval_us)
    return state.now_us + interval_us - (state.now_us - phase_us) % interval_us


def on_fault_began(state: CubesState, body: FaultBegan, message: Envelope) -> list[Output]:
    if body.is_of_domain:
        state.outages[body.fault] = superpod_plant(state.cubes).parse(body.target)["cube"]
    return _count(state, body, +1, message.id)


def on_fault_ended(state: CubesState, body: FaultEnded, message: Envelope) -> list[Output]:
    said = _count(state, body, -1, message.id)
    state.outages.pop(body.fault, None)
    return said


def _count(state: CubesState, body: FaultBegan | FaultEnded, change: int, cause: str) -> list[Output]:
    """Hosts, chips or cables are in another condition than before; nobody has seen it yet."""
    kind, target = body.kind, body.target
    if kind not in INSIDE_CUBES:
        return []
    part = superpod_plant(state.cubes).parse(target)
    for number in _hosts_struck(part):
        before = state.hosts.get(number, WORKING)
        after = _changed(before, kind, part, change)
        _put_host(state, number, after)
        _watch(state, number, before, after, cause)
    if part.kind == "cube" and body.fault not in state.outages:
        state.cube_faults[part.number] = state.cube_faults.get(part.number, 0) + change
        if not state.cube_faults[part.number]:
            del state.cube_faults[part.number]
    if target in state.repairs_open and _works(state, part):
        state.repairs_open[target] = "mended"
    return []


def _hosts_struck(part: Part) -> tuple[int, ...]:
    """The numbers of the hosts at whose heartbeats the fault of a part shows."""
    first = part["cube"] * HOSTS_PER_CUBE
    if part.kind == "cube":
        return tuple(range(first, first + HOSTS_PER_CUBE))
    hosts = cable_hosts(part["cable"]) if part.kind == "cable" else (part["host"],)
    return tuple(first + host for host in hosts)


def _changed(host: Host, kind: str, part: Part, change: int) -> Host:
    """The host when a fault of this kind has begun (+1) or ended (−1)."""
    if kind == "host":
        return replace(host, faults=host.faults + change)
    if kind == "cube-power":
        return replace(host, dark=host.dark + change)
    if kind == "cooling":
        return replace(host, hot=host.hot + change)
    if kind == "chip":
        faults = list(host.chip_faults)
        faults[part["chip"]] += change
        return replace(host, chip_faults=tuple(faults))
    cut = list(host.cut_cables)
    if change > 0:
        cut.append(part["cable"])
    else:
        cut.remove(part["cable"])
    return replace(host, cut_cables=tuple(sorted(cut)))


def _works(state: CubesState, part: Part) -> bool:
    """Whether a part has no fault any more."""
    if part.kind == "cube":
        return part.number not in state.cube_faults
    host = state.hosts.get(_hosts_struck(part)[0], WORKING)
    if part.kind == "cable":
        return part["cable"] not in host.cut_cables
    return not (host.chip_faults[part["chip"]] if part.kind == "chip" else host.faults)


def _watch(state: CubesState, number: int, before: Host, after: Host, cause: str) -> None:
    """Look at the host's next heartbeat."""
    heartbeat = state.heartbeats.get(number)
    if heartbeat is None:
        state.heartbeats[number] = Heartbeat(next_heartbeat_us(state, number), cause)
    elif after.shows != before.shows:
        state.heartbeats[number] = replace(heartbeat, cause=cause)


def _put_host(state: CubesState, number: int, host: Host) -> None:
    if host == WORKING:
        state.hosts.pop(number, None)
    else:
        state.hosts[number] = host


def on_tick(state: CubesState, _tick: Tick, _message: Envelope) -> list[Output]:
    """The heartbeats that have come due, in order of time and host; then hosts whose repair was put off; then
    what is planned."""
    come = sorted((h.at_us, number) for number, h in state.heartbeats.items() if h.at_us <= state.now_us)
    said: list[Output] = []
    for _, number in come:
        cause = state.heartbeats.pop(number).cause
        said += [CausedBy(cause, body) for body in _see_host(state, number, cause)]
    return [*said, *look(state), *maintenance.follow_plan(state)]


def _see_host(state: CubesState, number: int, cause: str) -> list[Body]:
    """Take over what the host's heartbeat shows."""
    cube, index = divmod(number, HOSTS_PER_CUBE)
    host = state.hosts.get(number, WORKING)
    silent, dead, cut, hot = host.shows
    was_hot = state.is_hot(cube)
    seen = replace(host, silent_seen=silent, dead_seen=dead, cut_seen=cut, hot_seen=hot)
    was, now = host.trouble_seen, seen.trouble_seen
    said: list[Body] = []
    if seen != host:
        _put_host(state, number, seen)
        touch(state, cube)
    if now != was:
        said.append(
            HostUp(cube=cube, host=index) if now is None else HostDown(cube=cube, host=index, reason=now)
        )
        change = (now is not None) - (was is not None)
        state.hosts_down += change
        said += change_bad_parts(state, cube, change)
    if silent != host.silent_seen:
        said += (on_silent if silent else on_heard)(state, number, cause)
    if state.is_hot(cube) != was_hot:
        said.append(CubeCooled(cube=cube) if was_hot else CubeOverheated(cube=cube))
    said += ask_for_host(state, number) + ask_for_insides(state, number)
    return said + ask_for_cube(state, number)


def on_module_reported(state: CubesState, body: ModuleReported, _message: Envelope) -> list[Output]:
    end = link_end(body.end)
    target = end.name(state.fabric)
    was, now = state.modules.get(body.end, "ok"), body.condition
    if now == was:
        return []
    if now == "ok":
        del state.modules[body.end]
    else:
        state.modules[body.end] = now
    said: list[Output] = []
    said += change_bad_parts(state, end.cube, +1 if now == "failed" else -1)
    touch(state, end.cube)
    if now == "failed":
        said.append(RepairRequested(kind="link", target=target))
    else:
        said.append(RepairWithdrawn(target=target))
    return said


def on_rekey(state: CubesState, body: RekeyDraws, _message: Envelope) -> list[Output]:
    maintenance.draw_anew(state, body.salt)
    return []


def on_drain(state: CubesState, body: DrainCube, _message: Envelope) -> list[Output]:
    name = body.cube
    cube = _find_cube(state, name)
    if isinstance(cube, str):
        return [DrainRefused(target=name, reason=cube)]
    if state.drained[cube] and cube not in state.outings:
        return [DrainRefused(target=name, reason=f"cube {name!r}: is drained already")]
    state.outings.pop(cube, None)
    state.drained[cube] = True
    touch(state, cube)
    return [CubeDrained(cube=cube), *maintenance.roll_out(state)]


def on_undrain(state: CubesState, body: UndrainCube, _message: Envelope) -> list[Output]:
    name = body.cube
    cube = _find_cube(state, name)
    if isinstance(cube, str):
        return [DrainRefused(target=name, reason=cube)]
    if not state.drained[cube]:
        return [DrainRefused(target=name, reason=f"cube {name!r}: is not drained")]
    state.outings.pop(cube, None)
    state.drained[cube] = False
    touch(state, cube)
    return [CubeUndrained(cube=cube), *maintenance.roll_out(state)]


def _find_cube(state: CubesState, name: str) -> int | str:
    """The cube's index, or why there is no such cube here."""
    fabric = name.split("/", 1)[0]
    if fabric != state.fabric:
        return f"cube {name!r}: is in {fabric}, allowed are cubes of {state.fabric}"
    try:
        return superpod_plant(state.cubes).parse(name)["cube"]
    except InvalidInput as error:
        return f"cube: {error}"
