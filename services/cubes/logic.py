"""The rules of the cubes' monitoring: what is wrong with a host shows at its heartbeat, what is wrong with a
module at once. What is seen becomes events, the cube's verdict, and requests for repair.
"""

from dataclasses import replace
from typing import Literal

from schemas.body import Body
from schemas.cubes import (
    CubeDrained,
    CubeUndrained,
    DrainRefused,
    HostDown,
    HostUp,
    RepairRequested,
    RepairWithdrawn,
)
from schemas.envelope import Envelope
from schemas.failures import FaultBegan, FaultEnded
from schemas.operator import DrainCube, UndrainCube
from schemas.sequencer import Tick
from schemas.transceivers import ModuleReported
from services.cubes.state import WORKING, CubesState, Heartbeat, Host
from services.cubes.verdict import change_bad_parts, touch
from shared.basics.errors import InvalidInput
from shared.basics.keyed_random import draw_index
from shared.basics.units import US_PER_S
from shared.engine.service import CausedBy, Output
from shared.models.superpod.plant import superpod_plant
from shared.models.superpod.wiring import HOSTS_PER_CUBE, link_end


def due(state: CubesState) -> int | None:
    """The next heartbeat (or its absence) that may show something new."""
    return min([heartbeat.at_us for heartbeat in state.heartbeats.values()], default=None)


def next_heartbeat_us(state: CubesState, number: int) -> int:
    """The host's first heartbeat after now. Every host has a phase of its own."""
    interval_us = state.config.heartbeat_s * US_PER_S
    phase_us = draw_index(state.seed, state.host_name(number), "heartbeat phase", 0, interval_us)
    return state.now_us + interval_us - (state.now_us - phase_us) % interval_us


def on_fault_began(state: CubesState, body: FaultBegan, message: Envelope) -> list[Output]:
    return _count(state, body.kind, body.target, +1, message.id)


def on_fault_ended(state: CubesState, body: FaultEnded, message: Envelope) -> list[Output]:
    return _count(state, body.kind, body.target, -1, message.id)


def _count(state: CubesState, kind: str, target: str, change: int, cause: str) -> list[Output]:
    """A host or chip is in another condition than before; nobody has seen it yet."""
    if kind not in ("host", "chip"):
        return []
    part = superpod_plant(state.cubes).parse(target)
    number = part["cube"] * HOSTS_PER_CUBE + part["host"]
    before = state.hosts.get(number, WORKING)
    if part.kind == "host":
        after = replace(before, faults=before.faults + change)
        works = after.faults == 0
    else:
        chip_faults = list(before.chip_faults)
        chip_faults[part["chip"]] += change
        after = replace(before, chip_faults=tuple(chip_faults))
        works = chip_faults[part["chip"]] == 0
    _put_host(state, number, after)
    if works and target in state.repairs_open:
        state.repairs_open[target] = "mended"
    heartbeat = state.heartbeats.get(number)
    if heartbeat is None:
        state.heartbeats[number] = Heartbeat(next_heartbeat_us(state, number), cause)
    elif after.shows != before.shows:
        state.heartbeats[number] = replace(heartbeat, cause=cause)
    return []


def _put_host(state: CubesState, number: int, host: Host) -> None:
    if host == WORKING:
        state.hosts.pop(number, None)
    else:
        state.hosts[number] = host


def on_tick(state: CubesState, _tick: Tick, _message: Envelope) -> list[Output]:
    """The heartbeats that have come due, in order of time and host."""
    come = sorted((h.at_us, number) for number, h in state.heartbeats.items() if h.at_us <= state.now_us)
    said: list[Output] = []
    for _, number in come:
        cause = state.heartbeats.pop(number).cause
        said += [CausedBy(cause, body) for body in _see_host(state, number)]
    return said


def _see_host(state: CubesState, number: int) -> list[Body]:
    """Take over what the host's heartbeat shows."""
    cube, index = divmod(number, HOSTS_PER_CUBE)
    host = state.hosts.get(number, WORKING)
    silent, dead = host.shows
    seen = replace(host, silent_seen=silent, dead_seen=dead)
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
    return said + _ask_for_repairs(state, number, seen)


def _ask_for_repairs(state: CubesState, number: int, host: Host) -> list[Body]:
    """Ask once for every part while its trouble lasts, and take back what works again.

    A part that worked and broke anew between two heartbeats is asked for again: its repair may have been
    what made it work. Of the chips of a silent host nothing is known.
    """
    name = state.host_name(number)
    parts: list[tuple[Literal["host", "chip"], str, bool]] = [("host", name, host.silent_seen)]
    if not host.silent_seen:
        chips = enumerate(host.chip_faults)
        parts += [("chip", f"{name}/chip-{chip}", faults > 0) for chip, faults in chips]
    said: list[Body] = []
    for kind, target, broken in parts:
        if broken and state.repairs_open.get(target) != "open":
            state.repairs_open[target] = "open"
            said.append(RepairRequested(kind=kind, target=target))
        elif not broken and state.repairs_open.pop(target, None) is not None:
            said.append(RepairWithdrawn(target=target))
    return said


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
    change = (now == "failed") - (was == "failed")
    if change:
        said += change_bad_parts(state, end.cube, change)
        touch(state, end.cube)
    if was == "ok":
        said.append(RepairRequested(kind="link" if now == "failed" else "connector", target=target))
    elif now == "ok":
        said.append(RepairWithdrawn(target=target))
    return said


def on_drain(state: CubesState, body: DrainCube, _message: Envelope) -> list[Output]:
    name = body.cube
    cube = _find_cube(state, name)
    if isinstance(cube, str):
        return [DrainRefused(target=name, reason=cube)]
    if state.drained[cube]:
        return [DrainRefused(target=name, reason=f"cube {name!r}: is drained already")]
    state.drained[cube] = True
    touch(state, cube)
    return [CubeDrained(cube=cube)]


def on_undrain(state: CubesState, body: UndrainCube, _message: Envelope) -> list[Output]:
    name = body.cube
    cube = _find_cube(state, name)
    if isinstance(cube, str):
        return [DrainRefused(target=name, reason=cube)]
    if not state.drained[cube]:
        return [DrainRefused(target=name, reason=f"cube {name!r}: is not drained")]
    state.drained[cube] = False
    touch(state, cube)
    return [CubeUndrained(cube=cube)]


def _find_cube(state: CubesState, name: str) -> int | str:
    """The cube's index, or why there is no such cube here."""
    fabric = name.split("/", 1)[0]
    if fabric != state.fabric:
        return f"cube {name!r}: is in {fabric}, allowed are cubes of {state.fabric}"
    try:
        return superpod_plant(state.cubes).parse(name)["cube"]
    except InvalidInput as error:
        return f"cube: {error}"
