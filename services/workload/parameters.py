"""What changes at once for who asks for slices, when parameters do: how soon campaigns begin, and whether
there is filler."""

from schemas.envelope import Envelope
from schemas.failures import ParametersChanged
from services.workload.campaigns import at_other_rate
from services.workload.filler import kept_waiting
from services.workload.state import WorkloadState, next_arrival_us
from shared.engine.service import Output


def on_parameters_changed(state: WorkloadState, body: ParametersChanged, _message: Envelope) -> list[Output]:
    """All that is drawn from now on goes by them. Filler that is there already stays until it ends."""
    changed = body.of("workload")
    if not changed:
        return []
    before, had_filler = state.demand, bool(kept_waiting(state.config, state.cubes))
    state.config = state.config.model_copy(update=changed)
    for shape, stream in state.streams.items():
        state.streams[shape] = at_other_rate(before[shape], state.demand[shape], stream, state.now_us)
    if state.streams:
        state.next_arrival_us = next_arrival_us(state)
        has_filler = bool(kept_waiting(state.config, state.cubes))
        if has_filler and not had_filler:
            state.filler_due_us = state.now_us + 1
        elif not has_filler:
            state.filler_due_us = None
    return []
