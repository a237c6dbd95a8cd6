"""What every chip of the pod is used for over time: allocated to slices, or why it is not.

The service `jobs` accounts for what allocated chips do. Together they cover all of a pod's chip-time, each
chip-microsecond exactly once.
"""

from collections.abc import Iterable

from schemas.envelope import Envelope
from schemas.messages.jobs import UsageReported
from schemas.messages.scheduler import CapacityReported
from services.scheduler.placement.holdback import chips_held_back
from services.scheduler.state import CHIP_USES, SchedulerState, occupancy_of
from services.scheduler.structures.occupancy import Occupancy
from shared.models.jobs.goodput_accounting import integral
from shared.models.superpod.wiring import CHIPS_PER_CUBE


def update_chip_accounting(state: SchedulerState, _message: Envelope) -> None:
    """Integrate the chip-time up to now if the use of any chip changed. Runs after each rule that may change
    it."""
    chips = _current_chip_uses(state)
    if chips != state.chips_by_category:
        state.chip_us = integral(state.chip_us, state.chips_by_category, state.now_us - state.at_us)
        state.at_us = state.now_us
        state.chips_by_category = chips
        state.changed_documents.add(("summaries", f"{state.fabric}/scheduler"))


def on_usage_reported(
    state: SchedulerState, _body: UsageReported, _message: Envelope
) -> list[CapacityReported]:
    """Report the chip-time of the chips that are not allocated, up to the same time as UsageReported."""
    span_us = state.now_us - state.at_us
    chip_us = integral(state.chip_us, state.chips_by_category, span_us)
    return [CapacityReported(chip_us=tuple(chip_us.items()))]


def _current_chip_uses(state: SchedulerState) -> dict[str, int]:
    occupancy = occupancy_of(state)
    allocated, out, warm = state.chips_allocated, state.unhealthy.keys(), state.warm_cubes.keys()
    unhealthy = _free_chips(occupancy, out)
    drained = _free_chips(occupancy, state.drained.keys() - out) if state.drained else 0
    held_back = _free_chips(occupancy, warm - out - state.drained.keys()) if warm else 0
    held_back += chips_held_back(state)
    idle = state.chips - allocated - unhealthy - drained - held_back
    wanted = idle if state.queued else 0
    return dict(
        zip(CHIP_USES, (allocated, unhealthy, drained, held_back, wanted, idle - wanted), strict=True)
    )


def _free_chips(occupancy: Occupancy, cubes: Iterable[int]) -> int:
    return sum([CHIPS_PER_CUBE - occupancy.used[cube].bit_count() for cube in cubes])
