"""How long slices have their cubes: what their owners thought, until that proves too short."""

from schemas.scheduler import SliceOverran
from services.scheduler.lifecycle import put, slice_name
from services.scheduler.state import SchedulerState, occupancy_of, on_cubes
from shared.basics.records import replace
from shared.engine.service import CausedBy, Output


def overruns_us(state: SchedulerState) -> int | None:
    """When the next slice has its cubes for longer than was estimated: one that ends just then has not."""
    ends = [state.slices[number].ends_us for number in occupancy_of(state).held]
    return min([ends_us + 1 for ends_us in ends if ends_us is not None], default=None)


def double_overrun(state: SchedulerState) -> list[Output]:
    """The estimate of every slice that should have left by now becomes twice as long, as often as it takes,
    and the slip is said."""
    said: list[Output] = []
    for row in on_cubes(state):
        if row.ends_us is None or row.ends_us >= state.now_us:
            continue
        estimate_us, ends_us = row.estimate_us or 1, row.ends_us
        while ends_us < state.now_us:
            ends_us += estimate_us
            estimate_us *= 2
        put(state, replace(row, estimate_us=estimate_us, ends_us=ends_us))
        body = SliceOverran(slice=slice_name(state, row.number), estimate_us=estimate_us, ends_us=ends_us)
        said.append(CausedBy(row.request, body))
    return said
