"""Scheduled work of the transceivers: telemetry frames, fault changes and inspections.

Links over fixed fibres are evaluated before anything else, at the start.
"""

import numpy as np

from schemas.envelope import Envelope
from schemas.messages.failures import ParametersChanged
from schemas.messages.sequencer import Tick
from services.transceivers import telemetry
from services.transceivers.end_faults import apply_due_changes, next_change_us
from services.transceivers.links import evaluate_links
from services.transceivers.outlier_inspection import inspect_due, reschedule_inspections
from services.transceivers.state import TransceiversState
from shared.basics.telemetry_frames import next_frame_due_us
from shared.engine.service import Output


def due(state: TransceiversState) -> int | None:
    """The time of the next frame, inspection or fault change, or of the first light of fixed fibres."""
    if state.first_light_us is not None:
        return state.first_light_us
    times_us = (
        state.next_frame_us,
        next_change_us(state),
        state.next_inspection_us,
        state.early_inspection_us,
    )
    return min((at_us for at_us in times_us if at_us is not None), default=None)


def on_tick(state: TransceiversState, _tick: Tick, _message: Envelope) -> list[Output]:
    """Apply what is due. A frame is rendered outside; the log only marks its time."""
    state.next_frame_us = next_frame_due_us(state.config.telemetry_interval_s, state.now_us)
    emitted = apply_due_changes(state)
    if state.first_light_us is not None:
        state.first_light_us = None
        emitted += evaluate_links(state, np.arange(len(state.peer)))
    return [*emitted, *inspect_due(state)]


def on_parameters_changed(
    state: TransceiversState, body: ParametersChanged, _message: Envelope
) -> list[Output]:
    """Apply changed intervals of frames and inspections."""
    changed = body.of("transceivers")
    state.config = state.config.model_copy(update=changed)
    if "telemetry_interval_s" in changed:
        state.next_frame_us = next_frame_due_us(state.config.telemetry_interval_s, state.now_us)
    if "inspection_interval_s" in changed:
        reschedule_inspections(state)
    return []


def frame(state: TransceiversState, message: Envelope) -> bytes | None:
    """The telemetry frame that is due at this message's time, or None."""
    interval_s = state.config.telemetry_interval_s
    is_time = next_frame_due_us(interval_s, message.at_us - 1) == message.at_us
    return telemetry.frame(state, message) if is_time else None
