"""Times of heartbeats. Every host has its own phase, so the hosts of a cube report one after the other."""

from services.cubes.state import CubesState
from shared.basics.keyed_random import draw_index
from shared.basics.units import US_PER_S


def next_heartbeat_us(state: CubesState, number: int) -> int:
    """The time of the host's next heartbeat."""
    interval_us = state.config.heartbeat_s * US_PER_S
    phase_us = draw_index(state.seed, state.host_name(number), "heartbeat phase", 0, interval_us)
    return state.now_us + interval_us - (state.now_us - phase_us) % interval_us
