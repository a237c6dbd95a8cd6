"""Ranks cubes for a slice by scores in order; the first score that differs decides."""

from collections import Counter
from collections.abc import Sequence

from schemas.envelope import Envelope
from schemas.messages.ocs import PortsDown, PortsUp
from schemas.messages.repairs import RepairCancelled, RepairCompleted, RepairFailed, RepairOpened
from schemas.names import Join, number_of
from services.scheduler.state import SchedulerState, ended_cubes_of, occupancy_of
from services.scheduler.structures.occupancy import Corner
from services.scheduler.structures.slice_record import Slice
from shared.engine.service import Output
from shared.models.superpod.shapes import cubes_of
from shared.models.superpod.wiring import CHIPS_PER_CUBE, STRANDS

DOMAIN_CUBES = 8
"""Cubes in one repair domain, with common power and cooling (assumption: a row of racks)."""

CubeRank = tuple[int, int, int, tuple[int, ...]]


def best_cubes(state: SchedulerState, row: Slice) -> tuple[int, ...]:
    """The best idle cubes for a slice of whole cubes. The caller has checked that there are enough."""
    idle = occupancy_of(state).idle
    choices = [_best_single_cubes(state, idle, cubes_of(row.shape))]
    if state.leftover_circuits:
        choices += _cubes_of_ended_slices(state, row, frozenset(idle))
    return min(choices, key=lambda cubes: rank_cubes(state, row, cubes))


def fit_for_one_cube(state: SchedulerState, row: Slice) -> tuple[int, Corner | None] | None:
    """The best place for one cube of a slice: a whole idle cube, or a block of one for a mesh. None if there
    is no room."""
    occupancy = occupancy_of(state)
    if row.corner is None and occupancy.idle:
        return _best_single_cubes(state, occupancy.idle, 1)[0], None
    room = occupancy.find_fit(min(row.chips, CHIPS_PER_CUBE), whole_cubes=True)
    return None if room is None else (room[0][0], room[1])


def rank_cubes(state: SchedulerState, row: Slice, cubes: tuple[int, ...]) -> CubeRank:
    """The rank of a slice on these cubes, lower is better: fewest open tickets, fewest new circuits, best
    spread over repair domains, lowest numbers."""
    return (
        avoid_tickets(state, cubes),
        keep_circuits(state, state.placement.joins(row.shape, row.twisted, cubes)),
        spread_repair_domains(cubes),
        cubes,
    )


def avoid_tickets(state: SchedulerState, cubes: Sequence[int]) -> int:
    """The number of these cubes that have a part waiting for repair."""
    return len(_cubes_with_tickets(state) & set(cubes))


def _cubes_with_tickets(state: SchedulerState) -> set[int]:
    return {*state.tickets.values(), *(cube for cubes in state.driver_boards_down.values() for cube in cubes)}


def keep_circuits(state: SchedulerState, joins: Sequence[Join]) -> int:
    """The number of these joins that must be made, because they do not exist already."""
    return sum(
        [state.leftover_circuits.get(3 * north + dimension) != south for dimension, north, south in joins]
    )


def spread_repair_domains(cubes: Sequence[int]) -> int:
    """The largest number of these cubes in one repair domain."""
    return max(Counter([cube // DOMAIN_CUBES for cube in cubes]).values())


def _best_single_cubes(state: SchedulerState, idle: Sequence[int], count: int) -> tuple[int, ...]:
    """The best cubes if each is ranked alone, taking repair domains in turn. A slice of one cube prefers a
    cube whose loops exist; larger slices avoid those cubes."""
    ticketed = _cubes_with_tickets(state)
    turns: dict[int, int] = {}
    ranked: list[tuple[bool, int, int, int]] = []
    for cube in idle:
        domain = cube // DOMAIN_CUBES
        turn = turns[domain] = turns.get(domain, -1) + 1
        loops = sum([state.leftover_circuits.get(3 * cube + dimension) == cube for dimension in range(3)])
        ranked.append((cube in ticketed, -loops if count == 1 else loops, turn, cube))
    return tuple(sorted([cube for *_, cube in sorted(ranked)[:count]]))


def _cubes_of_ended_slices(state: SchedulerState, row: Slice, idle: frozenset[int]) -> list[tuple[int, ...]]:
    """The cubes of ended slices of the same shape, if all of them are idle."""
    return [cubes for cubes in ended_cubes_of(state, row.shape, row.twisted) if idle.issuperset(cubes)]


# --- cubes with parts that wait for repair --------------------------------------------------------------


def on_repair_opened(state: SchedulerState, body: RepairOpened, _message: Envelope) -> list[Output]:
    """Rank a cube last if one of its parts waits for repair, or an OCS port that its fibre enters."""
    place, *part = body.target.removeprefix(f"{state.fabric}/").split("/")
    if place.startswith("cube-"):
        state.tickets[number_of(body.repair)] = number_of(place)
    elif body.kind == "port" and (cube := int(part[0][1:]) // STRANDS) < state.cubes:
        state.tickets[number_of(body.repair)] = cube
    return []


def on_ports_down(state: SchedulerState, body: PortsDown, _message: Envelope) -> list[Output]:
    """Rank cubes last whose fibres enter the ports of a failed driver board."""
    cubes = {port // STRANDS for port in body.ports}
    state.driver_boards_down[body.part] = tuple(sorted(cube for cube in cubes if cube < state.cubes))
    return []


def on_ports_up(state: SchedulerState, body: PortsUp, _message: Envelope) -> list[Output]:
    state.driver_boards_down.pop(body.part, None)
    return []


def on_repair_closed(
    state: SchedulerState, body: RepairCompleted | RepairCancelled | RepairFailed, _message: Envelope
) -> list[Output]:
    state.tickets.pop(number_of(body.repair), None)
    return []
