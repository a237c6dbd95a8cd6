"""How many healthy cubes production and research leave to those that lose one: a reserve for recovery.

Filler may stand on them, for it leaves when it is told to; they count as held back only while they are empty.
"""

from collections.abc import Callable
from functools import lru_cache

from schemas.names import Tier
from services.scheduler.state import SchedulerState, occupancy_of
from shared.models.availability.promised_goodput import promised_goodput
from shared.models.superpod.wiring import CHIPS_PER_CUBE


def hold_back_none(_state: SchedulerState) -> int:
    """Nothing is held back."""
    return 0


def hold_back_fixed(state: SchedulerState) -> int:
    """So many healthy cubes, always."""
    return state.config.hold_back_cubes


def hold_back_for_availability(state: SchedulerState) -> int:
    """What is left of the pod beside the most equal slices that can be promised with the target's probability
    ([LF] 4.2.2), less the cubes that are missing already: for those it is there."""
    return max(0, _promised_reserve(state) - len(state.unhealthy.keys() | state.drained.keys()))


HOLD_BACKS: dict[str, Callable[[SchedulerState], int]] = {
    "none": hold_back_none,
    "fixed": hold_back_fixed,
    "availability": hold_back_for_availability,
}
"""`scheduler.hold_back` → the policy."""


def held_back(state: SchedulerState) -> int:
    """Cubes that are to be left over by production and research."""
    return HOLD_BACKS[state.config.hold_back](state)


def most_cubes(state: SchedulerState, tier: Tier) -> int:
    """Cubes that a slice of a tier can have when nothing is missing: all but those that are kept warm, and
    but those that are held back, which filler may use."""
    reserves = {"none": 0, "fixed": state.config.hold_back_cubes, "availability": _promised_reserve(state)}
    reserve = 0 if tier == "filler" else reserves[state.config.hold_back]
    return max(0, state.cubes - state.config.hot_spares - reserve)


def chips_held_back(state: SchedulerState) -> int:
    """Chips that are empty for that reason now."""
    return min(held_back(state), len(occupancy_of(state).idle)) * CHIPS_PER_CUBE


def _promised_reserve(state: SchedulerState) -> int:
    config = state.config
    return _reserve(
        state.cubes, config.hold_back_slice_cubes, config.hold_back_host_availability, config.hold_back_target
    )


@lru_cache(maxsize=64)
def _reserve(cubes: int, slice_cubes: int, host_availability: float, target: float) -> int:
    size = min(slice_cubes, cubes)
    found = promised_goodput(
        host_availability, size * CHIPS_PER_CUBE, "reconfigurable", target=target, cubes=cubes
    )
    return found.held_back_cubes
