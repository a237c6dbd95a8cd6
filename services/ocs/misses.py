"""What the cameras see of mirrors that do not find their places: which of the two of a circuit it was, how
often in a row, and how that stands beside the other mirrors of the same array.

A sound mirror misses now and then, nearly all do with a camera that is noisy enough, and one that is broken
misses whatever it is to be joined to. So a mirror is held for broken where it has missed so often in a row
that of the others of its array, which the same camera sees, hardly one in a million would have. How the
camera does is told by first tries: m of t mirrors missed in theirs. Where nothing else is known of it
beforehand, a sound one then misses n times in a row with the chance of the product of (m + 1 + i) / (t + 2 +
i), i from 0 to n - 1 (Laplace). Where little was tried it takes longer to say, and mirrors that miss again
and again say no more of the camera than once.
"""

from math import prod

import numpy as np

from services.ocs.circuits import Circuits
from services.ocs.state import NORTH_MISSED, SOUTH_MISSED, BoolArray, Failed, IntArray, OcsState
from shared.models.ocs.assumptions import assumed
from shared.models.ocs.patches import physical_ports, place_of, places_of, port_at
from shared.models.technologies import ALIGNED_BY_CAMERA

MISSED = (NORTH_MISSED, SOUTH_MISSED)


def strays_in(state: OcsState, circuits: Circuits, which: IntArray) -> IntArray:
    """Of these of some circuits, which of both mirrors find no place any more, as in `Failed`."""
    found = np.zeros(len(which), dtype=np.int64)
    if state.technology not in ALIGNED_BY_CAMERA:
        return found
    broken = np.array(sorted({*state.strays.values()}), dtype=np.int64)
    ocs = circuits.ocs[which]
    for side, ports in enumerate((circuits.north, circuits.south)):
        mirrors = places_of(side, ocs, physical_ports(state.patched, side, ocs, ports[which]))
        found |= np.isin(mirrors, broken) * MISSED[side]
    return found


def note(state: OcsState, circuits: Circuits, tried: BoolArray, failed: Failed, cause: str) -> None:
    """These of some circuits were aligned, and of those the `failed` were not: count them, and keep in mind
    which mirrors have missed too often now. `cause` is the id of why they turned."""
    sides = {place: bits for place, _, bits in failed}
    missed: list[int] = []
    count = np.bincount(circuits.ocs[tried], minlength=state.ocs_count)
    state.tried += count
    if sides or state.mirror_misses:
        on = {*circuits.ocses}
        if len(state.mirror_misses) + len(sides) < len(on):  # of few that miss, where the others need no look
            on = {port_at(mirror)[1] for mirror in state.mirror_misses} | {at // state.radix for at in sides}
        for number in np.flatnonzero(tried & np.isin(circuits.ocs, sorted(on))).tolist():
            bits = sides.get(int(circuits.north_at[number]), 0)
            for side, mirror in enumerate(_mirrors(state, circuits, number)):
                if _see(state, mirror, misses=bool(bits & MISSED[side])):
                    missed.append(mirror)
    old = state.tried > assumed("alignments_kept")
    if old.any():
        state.tried[old] //= 2
        state.missed[old] //= 2
    for mirror in missed:
        if is_beyond_chance(state, mirror):
            state.suspects[mirror] = cause


def _see(state: OcsState, mirror: int, *, misses: bool) -> bool:
    """How one mirror does now; whether it misses. Only its first try counts for its array."""
    side, ocs, _ = port_at(mirror)
    before = state.mirror_misses.pop(mirror, 0)
    state.tried[side, ocs] -= before > 0
    if misses:
        state.missed[side, ocs] += before == 0
        state.mirror_misses[mirror] = before + 1
    return misses


def is_beyond_chance(state: OcsState, mirror: int) -> bool:
    """Whether what was seen of a mirror and of the others of its array says that it is broken."""
    misses = state.mirror_misses[mirror]
    if misses < assumed("stray_misses_least"):
        return False
    side, ocs, _ = port_at(mirror)
    others = max(int(state.tried[side, ocs]) - 1, 0)
    bad = min(max(int(state.missed[side, ocs]) - 1, 0), others)
    return chance_of(misses, others, bad) <= assumed("stray_chance")


def chance_of(misses: int, others: int, bad: int) -> float:
    """That a sound mirror misses so often in a row, of whose `others` so many did in their first tries."""
    return prod((bad + 1 + n) / (others + 2 + n) for n in range(misses))


def is_stray(state: OcsState, ocs: int, side: int, port: int) -> bool:
    """Whether the mirror at which the fibre of a port is finds no place."""
    if not state.strays or state.technology not in ALIGNED_BY_CAMERA:
        return False
    logical = place_of(side, ocs, port)
    return place_of(side, ocs, state.patched.get(logical, port)) in state.strays.values()


def _mirrors(state: OcsState, circuits: Circuits, number: int) -> tuple[int, int]:
    ocs, north, south = (int(x[number]) for x in (circuits.ocs, circuits.north, circuits.south))
    at = [place_of(side, ocs, port) for side, port in enumerate((north, south))]
    north, south = (state.patched.get(place, port) for place, port in zip(at, (north, south), strict=True))
    return place_of(0, ocs, north), place_of(1, ocs, south)
