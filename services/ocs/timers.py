"""Scheduled work of the OCSes: settle mirrors, retry alignments, report drifting mirrors."""

from schemas.envelope import Envelope
from schemas.messages.sequencer import Tick
from services.ocs.chassis import complete_restarts
from services.ocs.mirror_faults import drift_steps_us, mark_failed_mirrors, report_misaligned_mirrors
from services.ocs.network_commands import complete_rewirings
from services.ocs.state import OcsState
from services.ocs.superpod_commands import complete_connects
from services.ocs.switch import complete_restores, retry_alignment
from shared.engine.service import Output


def on_tick(state: OcsState, _tick: Tick, _message: Envelope) -> list[Output]:
    """Complete what is due: commands first, then restored circuits, then retries."""
    emitted = (
        complete_restarts(state)
        + complete_connects(state)
        + complete_rewirings(state)
        + complete_restores(state)
    )
    retry_alignment(state)
    emitted += mark_failed_mirrors(state)
    return (
        emitted + report_misaligned_mirrors(state)
        if state.mirror_drifts or state.misaligned_mirrors
        else emitted
    )


def due(state: OcsState) -> int | None:
    """The time at which the next mirrors settle, or at which a drifting mirror has moved by a step."""
    moving = state.connects or state.restores or state.rewirings or state.realignments or state.restarts
    if not moving and not state.mirror_drifts:
        return None
    dues = [pending.due_us for pending in state.connects.values()]
    dues += [pending.due_us for pending in state.restores.values()]
    dues += [pending.due_us for pending in state.rewirings.values()]
    dues += [restart.due_us for restart in state.restarts.values()]
    dues += [failed.due_us for failed in state.realignments.values()]
    dues += drift_steps_us(state)
    return min(dues, default=None)
