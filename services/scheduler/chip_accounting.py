"""What every chip of the pod is for, at every moment: allocated to slices, or what the rest is.

What allocated chips do, `jobs` tells. Both together are the whole of a pod's time, each chip-microsecond in
one place.
"""

from collections.abc import Iterable
from typing import TypeVar

from schemas.body import Body
from schemas.envelope import Envelope
from schemas.messages.jobs import UsageReported
from schemas.messages.scheduler import CapacityReported
from services.scheduler.placement.holdback import chips_held_back
from services.scheduler.state import CHIP_USES, SchedulerState, occupancy_of
from services.scheduler.structures.occupancy import Occupancy
from shared.engine.service import Output, Rule
from shared.models.jobs.goodput_accounting import integral
from shared.models.superpod.wiring import CHIPS_PER_CUBE

BodyT = TypeVar("BodyT", bound=Body)


def with_chip_accounting(rule: Rule[SchedulerState, BodyT]) -> Rule[SchedulerState, BodyT]:
    """The same rule, after which the books are brought up to date if it changed what any chip is for."""

    def run(state: SchedulerState, body: BodyT, message: Envelope) -> list[Output]:
        emitted = list(rule(state, body, message))
        chips = _chips_now(state)
        if chips != state.chips_by_category:
            state.chip_us = integral(state.chip_us, state.chips_by_category, state.now_us - state.at_us)
            state.at_us = state.now_us
            state.chips_by_category = chips
            state.changed_documents.add(("summaries", f"{state.fabric}/scheduler"))
        return emitted

    return run


def on_usage_reported(
    state: SchedulerState, _body: UsageReported, _message: Envelope
) -> list[CapacityReported]:
    """What the rest of the chips was for, up to the same moment."""
    span_us = state.now_us - state.at_us
    chip_us = integral(state.chip_us, state.chips_by_category, span_us)
    return [CapacityReported(chip_us=tuple(chip_us.items()))]


def _chips_now(state: SchedulerState) -> dict[str, int]:
    occupancy = occupancy_of(state)
    allocated, out, warm = state.chips_allocated, state.unhealthy.keys(), state.warm_cubes.keys()
    unhealthy = _free_in(occupancy, out)
    drained = _free_in(occupancy, state.drained.keys() - out) if state.drained else 0
    held_back = _free_in(occupancy, warm - out - state.drained.keys()) if warm else 0
    held_back += chips_held_back(state)
    idle = state.chips - allocated - unhealthy - drained - held_back
    wanted = idle if state.queued else 0
    return dict(
        zip(CHIP_USES, (allocated, unhealthy, drained, held_back, wanted, idle - wanted), strict=True)
    )


def _free_in(occupancy: Occupancy, cubes: Iterable[int]) -> int:
    return sum([CHIPS_PER_CUBE - occupancy.used[cube].bit_count() for cube in cubes])
