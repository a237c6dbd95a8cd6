"""What changes at once for who has cubes, when the scheduler's parameters do."""

from schemas.envelope import Envelope
from schemas.failures import ParametersChanged
from services.scheduler.cycle import cycle
from services.scheduler.spans import spans_after
from services.scheduler.state import SchedulerState, changed
from shared.basics.records import replace
from shared.engine.service import Output


def on_parameters_changed(state: SchedulerState, body: ParametersChanged, _message: Envelope) -> list[Output]:
    """Whatever is decided from now on goes by them; a preflight, a grace or a decision that was begun ends
    when it was to end. Who waits may have room now."""
    state.spans = spans_after(state.spans, body)
    own = body.of("scheduler")
    if not own:
        return []
    had_none = state.config.preflight_s == 0
    state.config = state.config.model_copy(update=own)
    if had_none and state.config.preflight_s:
        _count_as_checked(state)
    changed(state)
    return cycle(state)


def _count_as_checked(state: SchedulerState) -> None:
    """Slices that run since before there were preflights have shown that their links carry them."""
    for number, row in list(state.slices.items()):
        if row.state in ("running", "degraded") and not row.checked:
            state.slices[number] = replace(row, checked=True)
