"""What happens when the transceivers are due, and when that is: a telemetry frame at a fixed cadence, and
before all the first look at links that are lit for good."""

import numpy as np

from schemas.envelope import Envelope
from schemas.sequencer import Tick
from services.transceivers.links import judge
from services.transceivers.state import TransceiversState
from shared.basics.frames import frame_after_us
from shared.engine.service import Output


def due(state: TransceiversState) -> int | None:
    """When the next frame is, or the first look."""
    return state.next_frame_us if state.first_light_us is None else state.first_light_us


def on_tick(state: TransceiversState, _tick: Tick, _message: Envelope) -> list[Output]:
    """The frame is rendered by whoever wants telemetry; the log only marks its moment."""
    state.next_frame_us = frame_after_us(state.config.telemetry_interval_s, state.now_us)
    if state.first_light_us is None:
        return []
    state.first_light_us = None
    return judge(state, np.arange(len(state.peer)))
