"""Which link ends are unlike sound ones, as arrays: what is asked of many ends at once.

It follows from what is wrong with ends and where fibres were moved; whoever changes one of these forgets it.
"""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from services.transceivers.state import NO_END, Marks, TransceiversState
from shared.models.ocs.patches import port_at
from shared.models.superpod.wiring import IntArray, end_at

BoolArray = npt.NDArray[np.bool_]


def marks_of(state: TransceiversState) -> Marks:
    """Made where nobody has asked since they were forgotten."""
    if state.marks is None:
        moved = _marked(state, (end_at(ocs, port).number for _, ocs, port in map(port_at, state.patched)))
        unlike = _marked(state, (end for end, wrong in state.impaired.items() if wrong.changes_light))
        dropped = _marked(state, (end for end, wrong in state.impaired.items() if wrong.dropped))
        state.marks = Marks(moved, moved | unlike, dropped)
    return state.marks


def forget_marks(state: TransceiversState) -> None:
    """Something else is wrong now, or a fibre was moved."""
    state.marks = None


def at_either(marked: BoolArray, state: TransceiversState, ends: IntArray) -> BoolArray:
    """Which of these ends are marked, or the far ends of their links."""
    peers = state.peer[ends]
    found: BoolArray = marked[ends] | (marked[peers] & (peers != NO_END))
    return found


def _marked(state: TransceiversState, ends: Iterable[int]) -> BoolArray:
    found = np.zeros(len(state.peer), dtype=np.bool_)
    found[list(ends)] = True
    return found
