"""The rule of RekeyDraws: from then on, a service draws with another seed. It suits services whose draws
are all of future events."""

from schemas.envelope import Envelope
from schemas.messages.operator import RekeyDraws
from shared.basics.keyed_random import rekeyed_seed
from shared.engine.service import Output
from shared.engine.state import State


def on_rekey(state: State, body: RekeyDraws, _message: Envelope) -> list[Output]:
    """Change the seed. Earlier draws stay: none of them is a time of a pending event that would have to be
    drawn again."""
    state.seed = rekeyed_seed(state.seed, body.salt)
    return []
