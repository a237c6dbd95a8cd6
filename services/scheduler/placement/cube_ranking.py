"""Which of the cubes that would do are best: scores in order, the first that differs decides."""

from collections import Counter
from collections.abc import Sequence

from schemas.envelope import Envelope
from schemas.messages.ocs import PortsDown, PortsUp
from schemas.messages.repairs import RepairCancelled, RepairCompleted, RepairFailed, RepairOpened
from schemas.names import Join, number_of
from services.scheduler.state import SchedulerState, Slice, occupancy_of
from services.scheduler.structures.occupancy import Corner
from shared.engine.service import Output
from shared.models.superpod.shapes import cubes_of
from shared.models.superpod.wiring import CHIPS_PER_CUBE, STRANDS

DOMAIN_CUBES = 8
"""Cubes of one repair domain, which have power and cooling in common (assumption: a row of racks)."""

CubeRank = tuple[int, int, int, tuple[int, ...]]


def best_cubes(state: SchedulerState, row: Slice) -> tuple[int, ...]:
    """Of the idle cubes, of which there are enough, those on which a slice of whole cubes lies best."""
    idle = occupancy_of(state).idle
    choices = [_one_by_one(state, idle, cubes_of(row.shape))]
    if state.leftover_circuits:
        choices += _as_they_were(state, row, frozenset(idle))
    return min(choices, key=lambda cubes: rank_cubes(state, row, cubes))


def fit_for_one_cube(state: SchedulerState, row: Slice) -> tuple[int, Corner | None] | None:
    """Where one cube of a slice can go: a whole idle one, the best if judged by itself; for a mesh a block of
    one. None if nowhere."""
    occupancy = occupancy_of(state)
    if row.corner is None and occupancy.idle:
        return _one_by_one(state, occupancy.idle, 1)[0], None
    room = occupancy.find_fit(min(row.chips, CHIPS_PER_CUBE), whole_cubes=True)
    return None if room is None else (room[0][0], room[1])


def rank_cubes(state: SchedulerState, row: Slice, cubes: tuple[int, ...]) -> CubeRank:
    """How well a slice lies on these cubes, the less the better: avoid cubes with open tickets; keep standing
    circuits; spread over repair domains; then the lowest numbers."""
    return (
        avoid_tickets(state, cubes),
        keep_circuits(state, state.placement.joins(row.shape, row.twisted, cubes)),
        spread_repair_domains(cubes),
        cubes,
    )


def avoid_tickets(state: SchedulerState, cubes: Sequence[int]) -> int:
    """How many of these cubes have a part that waits for repair."""
    return len(_ticketed(state) & set(cubes))


def _ticketed(state: SchedulerState) -> set[int]:
    return {*state.tickets.values(), *(cube for cubes in state.driver_boards_down.values() for cube in cubes)}


def keep_circuits(state: SchedulerState, joins: Sequence[Join]) -> int:
    """How many of these joins have to be made, for they do not stand already."""
    return sum(
        [state.leftover_circuits.get(3 * north + dimension) != south for dimension, north, south in joins]
    )


def spread_repair_domains(cubes: Sequence[int]) -> int:
    """The most of these cubes that are in one repair domain."""
    return max(Counter([cube // DOMAIN_CUBES for cube in cubes]).values())


def _one_by_one(state: SchedulerState, idle: Sequence[int], count: int) -> tuple[int, ...]:
    """The best cubes if each is judged by itself, but for the domains, which take turns. A slice of one cube
    wants one whose loops stand, a larger one leaves those alone."""
    ticketed = _ticketed(state)
    turns: dict[int, int] = {}
    ranked: list[tuple[bool, int, int, int]] = []
    for cube in idle:
        domain = cube // DOMAIN_CUBES
        turn = turns[domain] = turns.get(domain, -1) + 1
        loops = sum([state.leftover_circuits.get(3 * cube + dimension) == cube for dimension in range(3)])
        ranked.append((cube in ticketed, -loops if count == 1 else loops, turn, cube))
    return tuple(sorted([cube for *_, cube in sorted(ranked)[:count]]))


def _as_they_were(state: SchedulerState, row: Slice, idle: frozenset[int]) -> list[tuple[int, ...]]:
    """The cubes of slices of the same shape that ended, where all of those are idle."""
    return [
        ended.cubes
        for ended in state.ended.values()
        if ended.shape == row.shape
        and ended.twisted == row.twisted
        and ended.cubes
        and idle.issuperset(ended.cubes)
    ]


# --- what waits for repair ----------------------------------------------------------------------------------


def on_repair_opened(state: SchedulerState, body: RepairOpened, _message: Envelope) -> list[Output]:
    """A cube with a part that waits for repair, or a port of an OCS that its fibre enters, is chosen last."""
    place, *part = body.target.removeprefix(f"{state.fabric}/").split("/")
    if place.startswith("cube-"):
        state.tickets[number_of(body.repair)] = number_of(place)
    elif body.kind == "port" and (cube := int(part[0][1:]) // STRANDS) < state.cubes:
        state.tickets[number_of(body.repair)] = cube
    return []


def on_ports_down(state: SchedulerState, body: PortsDown, _message: Envelope) -> list[Output]:
    """So are the cubes whose fibres enter the ports of a driver board that is broken."""
    cubes = {port // STRANDS for port in body.ports}
    state.driver_boards_down[body.part] = tuple(sorted(cube for cube in cubes if cube < state.cubes))
    return []


def on_ports_up(state: SchedulerState, body: PortsUp, _message: Envelope) -> list[Output]:
    """It was swapped."""
    state.driver_boards_down.pop(body.part, None)
    return []


def on_repair_closed(
    state: SchedulerState, body: RepairCompleted | RepairCancelled | RepairFailed, _message: Envelope
) -> list[Output]:
    """One part less waits for repair."""
    state.tickets.pop(number_of(body.repair), None)
    return []
