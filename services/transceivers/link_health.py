"""Link health: when a link is up, degraded or down, by its light and its bit error rate."""

import math

import numpy as np

from services.transceivers.link_optics import at_either_end, masks_of
from services.transceivers.state import BOTH_STRANDS, DEGRADED, DOWN, UP, TransceiversState
from shared.models.superpod.wiring import IntArray


def state_codes(state: TransceiversState, ends: IntArray) -> IntArray:
    """State codes of connected ends.

    A link is down without both strands or with a dead end. Otherwise the bit error rate of the worse
    direction decides.
    """
    peers = state.peer[ends]
    worse = np.maximum(state.worst_lane_log10_ber[ends], state.worst_lane_log10_ber[peers])
    dead = state.lit[ends] != BOTH_STRANDS
    if state.impaired:
        dead |= state.failed[ends] | state.failed[peers] | at_either_end(masks_of(state).dropped, state, ends)
    dead |= worse > math.log10(state.config.down_above_ber)
    return np.where(dead, DOWN, np.where(worse > math.log10(state.config.degraded_above_ber), DEGRADED, UP))
