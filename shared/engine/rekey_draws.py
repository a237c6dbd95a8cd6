"""Draws that are another's from a moment on, for services all of whose draws are of what is still to come."""

from schemas.envelope import Envelope
from schemas.messages.operator import RekeyDraws
from shared.basics.keyed_random import rekeyed_seed
from shared.engine.service import Output
from shared.engine.state import State


def on_rekey(state: State, body: RekeyDraws, _message: Envelope) -> list[Output]:
    """What was drawn already stays; nothing of it waits for a time that was drawn beforehand and could be
    drawn again."""
    state.seed = rekeyed_seed(state.seed, body.salt)
    return []
