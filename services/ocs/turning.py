"""How long mirrors take to find the places of circuits, and which do not find them ([LF] 3.2.2)."""

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from schemas.config import OcsConfig
from services.ocs.circuits import Circuits
from services.ocs.misses import strays_in
from services.ocs.state import NORTH_MISSED, SOUTH_MISSED, BoolArray, Failed, IntArray, OcsState
from shared.models.ocs.alignment import UNSTEADY, align, longest_us
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
    stray = strays_in(state, circuits, turned) if state.strays else None
    if pace.loop is None:
        due_us = _settled_us(state, ocs, pace)
        if stray is None or not stray.any():
            return due_us, ()
        bad = stray.nonzero()[0]
        return due_us, _failed(circuits.north_at[turned[bad]], np.full_like(bad, UNSTEADY), stray[bad])
    state.turns[list(circuits.ocses)] += 1
    mirrors = physical_ports(state.patched, 0, ocs, circuits.north[turned])
    found = align(pace.loop, state.seed, state.fabric, ocs, mirrors, state.turns.take(ocs))
    due_us = state.now_us + int(found.time_us.max())
    code = found.code
    if stray is not None and stray.any():
        due_us = max(due_us, state.now_us + longest_us(pace.loop))
        code = np.where(stray > 0, UNSTEADY, code)
    if not code.any():
        return due_us, ()
    bad = code.nonzero()[0]
    missed = found.missed[:, bad]
    sides = missed[0] * NORTH_MISSED | missed[1] * SOUTH_MISSED
    if stray is not None:
        sides |= stray[bad]
    return due_us, _failed(circuits.north_at[turned[bad]], code[bad], sides)


def _failed(places: IntArray, codes: npt.NDArray[Any], sides: IntArray) -> Failed:
    return tuple(zip(places.tolist(), codes.tolist(), sides.tolist(), strict=True))


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
