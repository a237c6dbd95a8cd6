"""The link ends of a new fabric: dark until an OCS joins them, or lit for good by fixed fibres."""

import numpy as np

from schemas.config import AnyPodConfig, StaticPodConfig
from services.transceivers.links import recompute_ber, state_codes
from services.transceivers.state import BOTH_STRANDS, UP, TransceiversState, all_dark
from shared.models.static_pod.plant import neighbour_end


def commission(fabric: str, config: AnyPodConfig, at_us: int) -> TransceiversState:
    """All ends dark; in a static pod all lit and up."""
    state = all_dark(fabric, config, at_us)
    if isinstance(config, StaticPodConfig):
        _light_for_good(state)
    return state


def _light_for_good(state: TransceiversState) -> None:
    """Join every end to its neighbour's. Nobody is told of links that are up; if by the configuration some
    are not, the first look at them comes at once."""
    ends = np.arange(len(state.peer))
    state.peer[:] = neighbour_end(ends)
    state.lit[:] = BOTH_STRANDS
    state.loss_db[:] = state.config.fibre_loss_db
    recompute_ber(state, ends)
    state.code[:] = UP
    if (state_codes(state, ends) != UP).any():
        state.first_light_us = state.now_us
