"""What happens when an OCS is due, and when that is."""

from schemas.envelope import Envelope
from schemas.sequencer import Tick
from services.ocs.network import settle_rewirings
from services.ocs.restores import realign, settle_restores
from services.ocs.software import settle_restarts
from services.ocs.state import OcsState
from services.ocs.strays import give_up
from services.ocs.superpod import settle_connects
from services.ocs.watching import steps_us, watch
from shared.engine.service import Output


def on_tick(state: OcsState, _tick: Tick, _message: Envelope) -> list[Output]:
    """Mirrors have settled: commands first, then what comes back, then what is tried again, or no more."""
    said = settle_restarts(state) + settle_connects(state) + settle_rewirings(state) + settle_restores(state)
    realign(state)
    said += give_up(state)
    return said + watch(state) if state.drifts or state.off else said


def due(state: OcsState) -> int | None:
    """When the next mirrors have settled, or one that drifts has done so by a step."""
    moving = state.connects or state.restores or state.rewirings or state.realignments or state.restarts
    if not moving and not state.drifts:
        return None
    dues = [pending.due_us for pending in state.connects.values()]
    dues += [pending.due_us for pending in state.restores.values()]
    dues += [pending.due_us for pending in state.rewirings.values()]
    dues += [restart.due_us for restart in state.restarts.values()]
    dues += [failed.due_us for failed in state.realignments.values()]
    dues += steps_us(state)
    return min(dues, default=None)
