"""Hold-back: healthy cubes that production and research leave as a reserve for slices that lose a cube.

Filler may use them, because it leaves on notice. Cubes count as held back only while they are empty.
"""

from collections.abc import Callable
from functools import lru_cache

from schemas.names import Tier
from services.scheduler.state import SchedulerState, occupancy_of
from shared.models.availability.promised_goodput import promised_goodput
from shared.models.superpod.wiring import CHIPS_PER_CUBE


def hold_back_none(_state: SchedulerState) -> int:
    """Hold back nothing."""
    return 0


def hold_back_fixed(state: SchedulerState) -> int:
    """Hold back a fixed number of healthy cubes."""
    return state.config.hold_back_cubes


def hold_back_for_availability(state: SchedulerState) -> int:
    """Hold back what the most equal slices that can be promised with the target probability leave over ([LF]
    4.2.2). Cubes that are already missing are subtracted, because the reserve is for them."""
    return max(0, _promised_reserve(state) - len(state.unhealthy.keys() | state.drained.keys()))


HOLD_BACKS: dict[str, Callable[[SchedulerState], int]] = {
    "none": hold_back_none,
    "fixed": hold_back_fixed,
    "availability": hold_back_for_availability,
}
"""`scheduler.hold_back` → the policy."""


def held_back(state: SchedulerState) -> int:
    """The number of cubes that production and research must leave over."""
    return HOLD_BACKS[state.config.hold_back](state)


def most_cubes(state: SchedulerState, tier: Tier) -> int:
    """The most cubes that a slice of a tier can ever have: all except warm spares and, for production and
    research, those held back."""
    reserves = {"none": 0, "fixed": state.config.hold_back_cubes, "availability": _promised_reserve(state)}
    reserve = 0 if tier == "filler" else reserves[state.config.hold_back]
    return max(0, state.cubes - state.config.hot_spares - reserve)


def chips_held_back(state: SchedulerState) -> int:
    """The chips that are empty now because they are held back."""
    return min(held_back(state), len(occupancy_of(state).idle)) * CHIPS_PER_CUBE


def _promised_reserve(state: SchedulerState) -> int:
    config = state.config
    return _reserve(
        state.cubes, config.hold_back_slice_cubes, config.hold_back_host_availability, config.hold_back_target
    )


@lru_cache(maxsize=64)
def _reserve(cubes: int, slice_cubes: int, host_availability: float, target: float) -> int:
    size = min(slice_cubes, cubes)
    promised = promised_goodput(
        host_availability, size * CHIPS_PER_CUBE, "reconfigurable", target=target, cubes=cubes
    )
    return promised.held_back_cubes
