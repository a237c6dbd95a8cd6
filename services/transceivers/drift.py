"""Arrays of mirrors that no camera holds: they drift, and the links over them lose light ([LF] 3.2.2).

Only ends whose fibres are before such an array are touched, an hour after the array went blind and every hour
from then on. With the last fault of its camera and monitor beam the loop closes again, in a frame or two:
the twin takes that for at once.
"""

from dataclasses import replace

import numpy as np

from services.transceivers.state import Adrift, TransceiversState
from shared.models.ocs.alignment import TILTS
from shared.models.ocs.drift import STEP_US, array_of, drifted_db, step_nrad
from shared.models.ocs.patches import SIDES, place_of
from shared.models.optics.impairments import Impairment, lost_on
from shared.models.superpod.wiring import STRANDS, LinkEnd, end_at, link_end, ocs_radix, strand_at
from shared.models.technologies import DRIFTING


def lose_sight(state: TransceiversState, fault: str, part: str, cause: str) -> None:
    """One fault more of what an array is seen by."""
    array = array_of(part)
    if array is None or state.technology not in DRIFTING:
        return
    number = _number(*array)
    known = state.adrift.get(number)
    if known is None:
        state.adrift[number] = Adrift((fault,), state.now_us, cause)
    else:
        state.adrift[number] = replace(known, faults=(*known.faults, fault))


def regain_sight(state: TransceiversState, fault: str, part: str) -> tuple[int, ...]:
    """One fault less. Returns the ends whose light that changes: those of the array where it was the last."""
    array = array_of(part)
    known = None if array is None else state.adrift.get(_number(*array))
    if array is None or known is None or fault not in known.faults:
        return ()
    left = tuple(name for name in known.faults if name != fault)
    if left:
        state.adrift[_number(*array)] = replace(known, faults=left)
        return ()
    del state.adrift[_number(*array)]
    return _ends_at(state, array[0]) if known.steps else ()


def next_drift_us(state: TransceiversState) -> int | None:
    """When the next array has drifted for another hour."""
    return min((_next_us(one) for one in state.adrift.values()), default=None)


def drift_on(state: TransceiversState) -> list[tuple[str, tuple[int, ...]]]:
    """Let the mirrors of all arrays walk whose time it is. Returns for each (cause, ends)."""
    moved = []
    for number, one in sorted(state.adrift.items()):
        if _next_us(one) > state.now_us:
            continue
        ocs, side = divmod(number, len(SIDES))
        state.adrift[number] = _walked(state, ocs, side, one)
        moved.append((one.cause, _ends_at(state, ocs)))
    return moved


def drift_at(state: TransceiversState, end: int) -> list[Impairment]:
    """What a link end loses by the mirrors before its fibres, if they drift."""
    if not state.adrift:
        return []
    own, found = link_end(end), []
    for side, label in enumerate(SIDES):
        one = state.adrift.get(_number(own.ocs, side))
        if one is not None and one.steps:
            port = _mirror(state, own, side)
            found.append(lost_on(one.loss_db[port], strand_at(label, own.port)))
    return found


def is_adrift(state: TransceiversState, ocs: int, side: int) -> bool:
    return _number(ocs, side) in state.adrift


def _walked(state: TransceiversState, ocs: int, side: int, one: Adrift) -> Adrift:
    """As the array is now, after all hours that have gone by."""
    ports = ocs_radix(state.cubes)
    tilts = np.array(one.tilts, dtype=np.int64) if one.steps else np.zeros((TILTS, ports), dtype=np.int64)
    steps = one.steps
    while one.began_us + (steps + 1) * STEP_US <= state.now_us:
        # Hours count from the beginning of time: an array that is blind again drifts by other draws.
        hour = one.began_us // STEP_US + steps
        tilts = tilts + step_nrad(state.seed, state.fabric, ocs, side, hour, ports)
        steps += 1
    rows = tuple(tuple(row) for row in tilts.tolist())
    return replace(one, steps=steps, tilts=rows, loss_db=tuple(drifted_db(tilts).tolist()))


def _next_us(one: Adrift) -> int:
    return one.began_us + (one.steps + 1) * STEP_US


def _ends_at(state: TransceiversState, ocs: int) -> tuple[int, ...]:
    """The ends whose fibres enter an OCS, in order: each has one before either array."""
    return tuple(sorted(end_at(ocs, port).number for port in range(STRANDS * state.cubes)))


def _mirror(state: TransceiversState, end: LinkEnd, side: int) -> int:
    """The physical port at which the fibre of an end is, on a side."""
    return state.patched.get(place_of(side, end.ocs, end.port), end.port)


def _number(ocs: int, side: int) -> int:
    return ocs * len(SIDES) + side
