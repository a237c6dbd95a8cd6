"""Applies parameter changes to the scheduler."""

from schemas.envelope import Envelope
from schemas.messages.failures import ParametersChanged
from services.scheduler.cycle import cycle
from services.scheduler.state import SchedulerState, invalidate_wait_summary, put_slice
from services.scheduler.structures.expected_durations import updated_durations
from shared.basics.fast_replace import replace
from shared.engine.service import Output


def on_parameters_changed(state: SchedulerState, body: ParametersChanged, _message: Envelope) -> list[Output]:
    """Use the new parameters for all later decisions. Preflights, grace periods and decisions that have
    started keep their end time. Then run a cycle, because waiting slices may fit now."""
    state.expected_durations = updated_durations(state.expected_durations, body)
    own = body.of("scheduler")
    if not own:
        return []
    had_none = state.config.preflight_s == 0
    state.config = state.config.model_copy(update=own)
    if had_none and state.config.preflight_s:
        _count_as_checked(state)
    invalidate_wait_summary(state)
    return cycle(state)


def _count_as_checked(state: SchedulerState) -> None:
    """Mark running slices as checked: they started before preflights were enabled, so their links work."""
    for row in list(state.slices.values()):
        if row.state in ("running", "degraded") and not row.links_checked:
            put_slice(state, replace(row, links_checked=True))
