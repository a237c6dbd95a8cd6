"""Settling time: how long the mirrors of new circuits take until they are in place ([LF] 3.2.2).

With cameras the alignment loop decides (`shared.models.ocs.camera_alignment`); without, the connection time
of the technology. A stray mirror never finds its place (`stray_mirrors`).
"""

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from schemas.config.pods import OcsConfig
from services.ocs.state import (
    NORTH_MISSED,
    SOUTH_MISSED,
    BoolArray,
    Circuits,
    FailedAlignments,
    IntArray,
    OcsState,
)
from services.ocs.stray_mirrors import stray_mirrors_in
from shared.models.ocs.camera_alignment import UNSTEADY, align, longest_us
from shared.models.ocs.patched_fibres import physical_ports
from shared.models.ocs_technologies import SwitchingSpeed, ocs_technology, switching_speed

MIN_REPLY_DELAY_US = 1
"""Minimum delay of a reply when no mirror has to turn, so that it follows the command."""


def start_alignment(state: OcsState, circuits: Circuits, turning: BoolArray) -> tuple[int, FailedAlignments]:
    """Turn the mirrors of the circuits marked in `turning`.

    Returns the time at which the slowest is in place or failed, and the failed alignments. OCSes work
    in parallel, and each turns all its mirrors at once unless its technology is serial.
    """
    turned = turning.nonzero()[0]
    if not len(turned):
        return state.now_us + MIN_REPLY_DELAY_US, ()
    ocs = circuits.ocs[turned]
    speed = _switching_speed(state.technology, state.config)
    stray = stray_mirrors_in(state, circuits, turned) if state.stray_mirrors else None
    if speed.loop is None:
        due_us = _settled_us(state, ocs, speed)
        if stray is None or not stray.any():
            return due_us, ()
        bad = stray.nonzero()[0]
        return due_us, _failed_alignments(
            circuits.north_at[turned[bad]], np.full_like(bad, UNSTEADY), stray[bad]
        )
    state.alignment_rounds[list(circuits.ocses)] += 1
    mirrors = physical_ports(state.patched, 0, ocs, circuits.north[turned])
    result = align(speed.loop, state.seed, state.fabric, ocs, mirrors, state.alignment_rounds.take(ocs))
    due_us = state.now_us + int(result.time_us.max())
    code = result.code
    if stray is not None and stray.any():
        due_us = max(due_us, state.now_us + longest_us(speed.loop))
        code = np.where(stray > 0, UNSTEADY, code)
    if not code.any():
        return due_us, ()
    bad = code.nonzero()[0]
    missed = result.missed[:, bad]
    sides = missed[0] * NORTH_MISSED | missed[1] * SOUTH_MISSED
    if stray is not None:
        sides |= stray[bad]
    return due_us, _failed_alignments(circuits.north_at[turned[bad]], code[bad], sides)


def _failed_alignments(places: IntArray, codes: npt.NDArray[Any], sides: IntArray) -> FailedAlignments:
    return tuple(zip(places.tolist(), codes.tolist(), sides.tolist(), strict=True))


@lru_cache(maxsize=64)
def _switching_speed(technology: str, config: OcsConfig) -> SwitchingSpeed:
    return switching_speed(ocs_technology(technology), config)


def _settled_us(state: OcsState, ocs: IntArray, speed: SwitchingSpeed) -> int:
    """The time at which all these circuits are made, for a technology without cameras."""
    if not speed.serial:
        return state.now_us + speed.connection_us
    on_each = np.bincount(ocs)
    busy = np.flatnonzero(on_each)
    free_us = np.maximum(state.busy_us[busy], state.now_us) + on_each[busy] * speed.connection_us
    state.busy_us[busy] = free_us
    return int(free_us.max())
