"""What keeps whole OCSes dark: reasons are counted, the first takes the light and the last gives it back.

A Palomar's mirrors hold nothing without their drivers: circuits are lost with the chassis, and made again
from what is wanted when it is back (Lightwave Fabrics 3.2.2, Table C.1: not latching).
"""

from collections.abc import Sequence

from schemas.ocs import OcsDown, OcsUp
from services.ocs.restores import forget_realignments, restore_later
from services.ocs.state import OcsState
from services.ocs.switch import forget_stale, touch
from shared.engine.service import Output


def breaks(state: OcsState, part: str) -> bool:
    """One fault more of a part; whether it is the first."""
    state.broken[part] = state.broken.get(part, 0) + 1
    return state.broken[part] == 1


def mends(state: OcsState, part: str) -> bool:
    """One fault less; whether it was the last."""
    left = state.broken.pop(part) - 1
    if left:
        state.broken[part] = left
    return left == 0


def darken(state: OcsState, ocses: Sequence[int]) -> None:
    """One reason more why these have no light."""
    state.chassis_faults[list(ocses)] += 1
    state.made[list(ocses)] = False
    for ocs in ocses:
        forget_stale(state, ocs)
        forget_realignments(state, ocs)
    touch(state, ocses)


def lighten(state: OcsState, ocses: Sequence[int], cause: str) -> None:
    """One reason less; where it was the last, mirrors turn to what is wanted."""
    state.chassis_faults[list(ocses)] -= 1
    for ocs in ocses:
        if state.chassis_faults[ocs] == 0:
            restore_later(state, ocs, None, cause)
    touch(state, ocses)


def darken_by_own(state: OcsState, ocs: int) -> list[Output]:
    """One reason more that lies in the chassis itself: news if there was none."""
    own = state.chassis_faults[ocs] - state.housing_faults[ocs]
    darken(state, (ocs,))
    return [OcsDown(ocs=ocs)] if own == 0 else []


def lighten_by_own(state: OcsState, ocs: int, cause: str) -> list[Output]:
    """One such reason less: news if it was the last."""
    lighten(state, (ocs,), cause)
    own = state.chassis_faults[ocs] - state.housing_faults[ocs]
    return [OcsUp(ocs=ocs)] if own == 0 else []
