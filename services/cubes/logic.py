"""Rules of the cube monitoring.

Host faults, and faults that a host reports, show at its next heartbeat. Module faults show at once. What is
seen becomes events, the cube's health and repair requests.
"""

from dataclasses import replace

from schemas.body import Body
from schemas.envelope import Envelope
from schemas.messages.cubes import (
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
from schemas.messages.failures import FaultBegan, FaultEnded
from schemas.messages.operator import DrainCube, RekeyDraws, UndrainCube
from schemas.messages.sequencer import Tick
from schemas.messages.transceivers import ModuleReported
from services.cubes import drain_windows, maintenance
from services.cubes.cube_health import change_bad_parts, touch
from services.cubes.heartbeat_times import next_heartbeat_us
from services.cubes.power_monitoring import (
    next_deferred_us,
    on_host_recovered,
    on_host_silent,
    request_deferred_repairs,
)
from services.cubes.repair_requests import request_component_repairs, request_cube_repair, request_host_repair
from services.cubes.state import WORKING_HOST, CubesState, Host, HostHeartbeat
from shared.basics.errors import InvalidInput
from shared.engine.service import CausedBy, Output
from shared.models.plant.plant_format import Part
from shared.models.superpod.cables import cable_hosts
from shared.models.superpod.superpod_plant import superpod_plant
from shared.models.superpod.wiring import HOSTS_PER_CUBE, link_end

HEARTBEAT_FAULTS = ("host", "chip", "cable", "cube-power", "cooling")
"""Kinds of faults that show at a host's heartbeat."""


def due(state: CubesState) -> int | None:
    """The time of the next heartbeat that may show a change, of a deferred repair request, or of planned
    work."""
    times_us = [heartbeat.at_us for heartbeat in state.heartbeats.values()]
    times_us += [at_us for at_us in (next_deferred_us(state), maintenance.due_us(state)) if at_us is not None]
    return min(times_us, default=None)


def on_fault_began(state: CubesState, body: FaultBegan, message: Envelope) -> list[Output]:
    if body.is_domain_failure:
        state.outages[body.fault] = superpod_plant(state.cubes).parse(body.target)["cube"]
    return _count_fault(state, body, +1, message.id)


def on_fault_ended(state: CubesState, body: FaultEnded, message: Envelope) -> list[Output]:
    emitted = _count_fault(state, body, -1, message.id)
    state.outages.pop(body.fault, None)
    return emitted


def _count_fault(state: CubesState, body: FaultBegan | FaultEnded, change: int, cause: str) -> list[Output]:
    """Count a fault that started or ended. Monitoring sees it at the next heartbeat."""
    kind, target = body.kind, body.target
    if kind not in HEARTBEAT_FAULTS:
        return []
    part = superpod_plant(state.cubes).parse(target)
    for number in _affected_hosts(part):
        before = state.hosts.get(number, WORKING_HOST)
        after = _with_fault(before, kind, part, change)
        _put_host(state, number, after)
        _expect_heartbeat(state, number, before, after, cause)
    if part.kind == "cube" and body.fault not in state.outages:
        state.cube_faults[part.number] = state.cube_faults.get(part.number, 0) + change
        if not state.cube_faults[part.number]:
            del state.cube_faults[part.number]
    if target in state.repairs_open and _is_working(state, part):
        state.repairs_open[target] = "mended"
    return []


def _affected_hosts(part: Part) -> tuple[int, ...]:
    """The numbers of the hosts whose heartbeats show a fault of this part."""
    first = part["cube"] * HOSTS_PER_CUBE
    if part.kind == "cube":
        return tuple(range(first, first + HOSTS_PER_CUBE))
    hosts = cable_hosts(part["cable"]) if part.kind == "cable" else (part["host"],)
    return tuple(first + host for host in hosts)


def _with_fault(host: Host, kind: str, part: Part, change: int) -> Host:
    """The host after a fault of this kind has started (+1) or ended (−1)."""
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


def _is_working(state: CubesState, part: Part) -> bool:
    """Whether a part has no active fault."""
    if part.kind == "cube":
        return part.number not in state.cube_faults
    host = state.hosts.get(_affected_hosts(part)[0], WORKING_HOST)
    if part.kind == "cable":
        return part["cable"] not in host.cut_cables
    return not (host.chip_faults[part["chip"]] if part.kind == "chip" else host.faults)


def _expect_heartbeat(state: CubesState, number: int, before: Host, after: Host, cause: str) -> None:
    """Schedule a check of the host's next heartbeat."""
    heartbeat = state.heartbeats.get(number)
    if heartbeat is None:
        state.heartbeats[number] = HostHeartbeat(next_heartbeat_us(state, number), cause)
    elif after.heartbeat_view != before.heartbeat_view:
        state.heartbeats[number] = replace(heartbeat, cause=cause)


def _put_host(state: CubesState, number: int, host: Host) -> None:
    if host == WORKING_HOST:
        state.hosts.pop(number, None)
    else:
        state.hosts[number] = host


def on_tick(state: CubesState, _tick: Tick, _message: Envelope) -> list[Output]:
    """Process due heartbeats in order of time and host, then deferred repair requests, then planned work."""
    due_hosts = sorted((h.at_us, number) for number, h in state.heartbeats.items() if h.at_us <= state.now_us)
    emitted: list[Output] = []
    for _, number in due_hosts:
        cause = state.heartbeats.pop(number).cause
        emitted += [CausedBy(cause, body) for body in _read_heartbeat(state, number, cause)]
    return [*emitted, *request_deferred_repairs(state), *maintenance.run_plan(state)]


def _read_heartbeat(state: CubesState, number: int, cause: str) -> list[Body]:
    """Apply what the host's heartbeat shows."""
    cube, index = divmod(number, HOSTS_PER_CUBE)
    host = state.hosts.get(number, WORKING_HOST)
    silent, dead, cut, hot = host.heartbeat_view
    was_hot = state.is_hot(cube)
    seen = replace(host, silent_seen=silent, dead_seen=dead, cut_seen=cut, hot_seen=hot)
    was, now = host.trouble_seen, seen.trouble_seen
    emitted: list[Body] = []
    if seen != host:
        _put_host(state, number, seen)
        touch(state, cube)
    if now != was:
        emitted.append(
            HostUp(cube=cube, host=index) if now is None else HostDown(cube=cube, host=index, reason=now)
        )
        change = (now is not None) - (was is not None)
        state.hosts_down += change
        emitted += change_bad_parts(state, cube, change)
    if silent != host.silent_seen:
        emitted += (on_host_silent if silent else on_host_recovered)(state, number, cause)
    if state.is_hot(cube) != was_hot:
        emitted.append(CubeCooled(cube=cube) if was_hot else CubeOverheated(cube=cube))
    emitted += request_host_repair(state, number) + request_component_repairs(state, number)
    return emitted + request_cube_repair(state, number)


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
    emitted: list[Output] = []
    emitted += change_bad_parts(state, end.cube, +1 if now == "failed" else -1)
    touch(state, end.cube)
    if now == "failed":
        emitted.append(RepairRequested(kind="link", target=target))
    else:
        emitted.append(RepairWithdrawn(target=target))
    return emitted


def on_rekey(state: CubesState, body: RekeyDraws, _message: Envelope) -> list[Output]:
    maintenance.redraw_maintenance(state, body.salt)
    return []


def on_drain(state: CubesState, body: DrainCube, message: Envelope) -> list[Output]:
    name = body.cube
    cube = _find_cube(state, name)
    if isinstance(cube, str):
        return [DrainRefused(target=name, reason=cube)]
    if body.from_us is not None or body.duration_us is not None:
        planned = drain_windows.plan_window(state, cube, body, message)
        return [planned] if isinstance(planned, DrainRefused) else [*planned, *maintenance.roll_out(state)]
    if state.drained[cube] and cube not in state.planned_drains:
        return []  # nothing changes: it accepts no new slices already
    replaced = state.planned_drains.pop(cube, None)
    state.drained[cube] = True
    touch(state, cube)
    cancelled = drain_windows.cancel_window(state, cube)
    was_until_us = None if replaced is None else replaced.until_us
    return [CubeDrained(cube=cube, was_until_us=was_until_us), *cancelled, *maintenance.roll_out(state)]


def on_undrain(state: CubesState, body: UndrainCube, _message: Envelope) -> list[Output]:
    """Put a drained cube back into use; cancel the drain that is planned for another one."""
    name = body.cube
    cube = _find_cube(state, name)
    if isinstance(cube, str):
        return [DrainRefused(target=name, reason=cube)]
    if not state.drained[cube]:
        cancelled = drain_windows.cancel_window(state, cube)
        refused = DrainRefused(target=name, reason=f"cube: {name!r} is not drained")
        return [*cancelled] or [refused]
    state.planned_drains.pop(cube, None)
    state.drained[cube] = False
    touch(state, cube)
    return [CubeUndrained(cube=cube), *maintenance.roll_out(state)]


def _find_cube(state: CubesState, name: str) -> int | str:
    """The cube's number, or the reason why it is not a cube of this fabric."""
    fabric = name.split("/", 1)[0]
    if fabric != state.fabric:
        return f"cube: {name!r} is not allowed; must be a cube of {state.fabric}"
    try:
        return superpod_plant(state.cubes).parse(name)["cube"]
    except InvalidInput as error:
        return f"cube: {error}"
