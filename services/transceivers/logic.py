"""What happens when the transceivers are due, and when that is: a telemetry frame at a fixed cadence, faults
that grow or come and go, looks at ends that may stand out, and before all links that are lit for good."""

import numpy as np

from schemas.envelope import Envelope
from schemas.messages.failures import ParametersChanged
from schemas.messages.sequencer import Tick
from services.transceivers import telemetry
from services.transceivers.end_faults import apply_due_changes, next_change_us
from services.transceivers.inspections import inspect_due, reschedule_inspections
from services.transceivers.links import evaluate_links
from services.transceivers.state import TransceiversState
from shared.basics.telemetry_frames import next_frame_due_us
from shared.engine.service import Output


def due(state: TransceiversState) -> int | None:
    """When the next frame or look is, or the next fault changes, or the first light."""
    if state.first_light_us is not None:
        return state.first_light_us
    moments = (
        state.next_frame_us,
        next_change_us(state),
        state.next_inspection_us,
        state.early_inspection_us,
    )
    return min((at_us for at_us in moments if at_us is not None), default=None)


def on_tick(state: TransceiversState, _tick: Tick, _message: Envelope) -> list[Output]:
    """The frame is rendered by whoever wants telemetry; the log only marks its moment."""
    state.next_frame_us = next_frame_due_us(state.config.telemetry_interval_s, state.now_us)
    emitted = apply_due_changes(state)
    if state.first_light_us is not None:
        state.first_light_us = None
        emitted += evaluate_links(state, np.arange(len(state.peer)))
    return [*emitted, *inspect_due(state)]


def on_parameters_changed(
    state: TransceiversState, body: ParametersChanged, _message: Envelope
) -> list[Output]:
    """Frames and looks come at another pace from now on."""
    changed = body.of("transceivers")
    state.config = state.config.model_copy(update=changed)
    if "telemetry_interval_s" in changed:
        state.next_frame_us = next_frame_due_us(state.config.telemetry_interval_s, state.now_us)
    if "look_interval_s" in changed:
        reschedule_inspections(state)
    return []


def frame(state: TransceiversState, message: Envelope) -> bytes | None:
    """The telemetry frame, where this is the moment for one."""
    interval_s = state.config.telemetry_interval_s
    is_time = next_frame_due_us(interval_s, message.at_us - 1) == message.at_us
    return telemetry.frame(state, message) if is_time else None
