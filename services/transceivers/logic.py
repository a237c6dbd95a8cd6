"""What happens when the transceivers are due, and when that is: a telemetry frame at a fixed cadence."""

from schemas.envelope import Envelope
from schemas.sequencer import Tick
from services.transceivers.state import TransceiversState, frame_after_us
from shared.engine.service import Output


def due(state: TransceiversState) -> int | None:
    """When the next frame is."""
    return state.next_frame_us


def on_tick(state: TransceiversState, _tick: Tick, _message: Envelope) -> list[Output]:
    """The frame is rendered by whoever wants telemetry; the log only marks its moment."""
    state.next_frame_us = frame_after_us(state.config, state.now_us)
    return []
