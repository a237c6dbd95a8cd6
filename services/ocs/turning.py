"""How long mirrors take to find the places of circuits, and which do not find them ([LF] 3.2.2)."""

from functools import lru_cache

import numpy as np

from schemas.config import OcsConfig
from services.ocs.state import BoolArray, Failed, IntArray, OcsState
from services.ocs.switch import Circuits
from shared.models.ocs.alignment import align
from shared.models.ocs.patches import physical_ports
from shared.models.technologies import Pace, ocs_technology, pace_of

AT_ONCE_US = 1
"""Nothing turns: what is told of it still comes later than the command."""


def begin(state: OcsState, circuits: Circuits, turning: BoolArray) -> tuple[int, Failed]:
    """Let the mirrors of those of some circuits turn that are not there yet. Returns when the slowest will
    have found its place or failed to, and which fail: OCSes work side by side, and each turns all its mirrors
    at once, unless it is serial."""
    turned = turning.nonzero()[0]
    if not len(turned):
        return state.now_us + AT_ONCE_US, ()
    ocs = circuits.ocs[turned]
    pace = _pace(state.technology, state.config)
    if pace.loop is None:
        return _settled_us(state, ocs, pace), ()
    state.turns[list(circuits.ocses)] += 1
    mirrors = physical_ports(state.patched, 0, ocs, circuits.north[turned])
    found = align(pace.loop, state.seed, state.fabric, ocs, mirrors, state.turns.take(ocs))
    due_us = state.now_us + int(found.time_us.max())
    if not found.code.any():
        return due_us, ()
    bad = found.code.nonzero()[0]
    places = circuits.north_at[turned[bad]].tolist()
    return due_us, tuple(zip(places, found.code[bad].tolist(), strict=True))


@lru_cache(maxsize=64)
def _pace(technology: str, config: OcsConfig) -> Pace:
    return pace_of(ocs_technology(technology), config)


def _settled_us(state: OcsState, ocs: IntArray, pace: Pace) -> int:
    """When all of these circuits, by OCS, are made where no camera aligns them."""
    if not pace.serial:
        return state.now_us + pace.connection_us
    on_each = np.bincount(ocs)
    busy = np.flatnonzero(on_each)
    free_us = np.maximum(state.busy_us[busy], state.now_us) + on_each[busy] * pace.connection_us
    state.busy_us[busy] = free_us
    return int(free_us.max())
