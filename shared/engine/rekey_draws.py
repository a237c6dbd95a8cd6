"""The rule of RekeyDraws: a service draws with a different seed from then on. It suits services that draw
future events only."""

from schemas.envelope import Envelope
from schemas.messages.operator import RekeyDraws
from shared.basics.keyed_random import rekeyed_seed
from shared.engine.service import Output
from shared.engine.state import State


def on_rekey(state: State, body: RekeyDraws, _message: Envelope) -> list[Output]:
    """Change the seed. Earlier draws stay, because none of them is the time of a pending event that would
    have to be drawn again."""
    state.seed = rekeyed_seed(state.seed, body.salt)
    return []
