"""Stray mirrors: which broken mirrors never find their place, and how an OCS finds that out ([LF] 3.2.2).

A sound mirror misses its place now and then; with a noisy camera nearly all do. A broken one always misses. A
mirror counts as broken if its run of misses is beyond chance (one in a million), given the other mirrors of
its array, which the same camera sees. First attempts tell how well the camera works: m of t mirrors missed in
theirs. With a flat prior a sound mirror misses n times in a row with probability ∏ (m + 1 + i) / (t + 2 + i),
i from 0 to n − 1 (Laplace). With few attempts the decision takes longer. A mirror that misses repeatedly
counts only once for the camera.
"""

from math import prod

import numpy as np

from services.ocs.state import (
    NORTH_MISSED,
    SOUTH_MISSED,
    BoolArray,
    Circuits,
    FailedAlignments,
    IntArray,
    OcsState,
)
from shared.models.ocs.ocs_assumptions import assumed
from shared.models.ocs.patched_fibres import physical_ports, port_at, port_place, port_places
from shared.models.ocs_technologies import ALIGNED_BY_CAMERA

MISSED_BITS = (NORTH_MISSED, SOUTH_MISSED)


def stray_mirrors_in(state: OcsState, circuits: Circuits, which: IntArray) -> IntArray:
    """For each of the circuits `which`, the mirrors that are stray: NORTH_MISSED + SOUTH_MISSED bits."""
    stray = np.zeros(len(which), dtype=np.int64)
    if state.technology not in ALIGNED_BY_CAMERA:
        return stray
    broken = np.array(sorted({*state.stray_mirrors.values()}), dtype=np.int64)
    ocs = circuits.ocs[which]
    for side, ports in enumerate((circuits.north, circuits.south)):
        mirrors = port_places(side, ocs, physical_ports(state.patched, side, ocs, ports[which]))
        stray |= np.isin(mirrors, broken) * MISSED_BITS[side]
    return stray


def count_attempts(
    state: OcsState, circuits: Circuits, tried: BoolArray, failed: FailedAlignments, cause: str
) -> None:
    """Count the alignment attempts of the circuits in `tried` and remember mirrors that missed too often.

    `failed` are the attempts without success. `cause` is the id of the message for which the mirrors turned.
    """
    sides = {place: bits for place, _, bits in failed}
    missed: list[int] = []
    count = np.bincount(circuits.ocs[tried], minlength=state.ocs_count)
    state.tried += count
    if sides or state.mirror_misses:
        on = {*circuits.ocses}
        if len(state.mirror_misses) + len(sides) < len(on):  # few mirrors miss: skip all other OCSes
            on = {port_at(mirror)[1] for mirror in state.mirror_misses} | {at // state.radix for at in sides}
        for number in np.flatnonzero(tried & np.isin(circuits.ocs, sorted(on))).tolist():
            bits = sides.get(int(circuits.north_at[number]), 0)
            for side, mirror in enumerate(_mirrors_of(state, circuits, number)):
                if _count_attempt(state, mirror, misses=bool(bits & MISSED_BITS[side])):
                    missed.append(mirror)
    old = state.tried > assumed("alignments_kept")
    if old.any():
        state.tried[old] //= 2
        state.missed[old] //= 2
    for mirror in missed:
        if is_beyond_chance(state, mirror):
            state.suspect_mirrors[mirror] = cause


def _count_attempt(state: OcsState, mirror: int, *, misses: bool) -> bool:
    """Count one attempt of a mirror and return `misses`. Only its first attempt counts for its array."""
    side, ocs, _ = port_at(mirror)
    before = state.mirror_misses.pop(mirror, 0)
    state.tried[side, ocs] -= before > 0
    if misses:
        state.missed[side, ocs] += before == 0
        state.mirror_misses[mirror] = before + 1
    return misses


def is_beyond_chance(state: OcsState, mirror: int) -> bool:
    """Whether a mirror's run of misses shows that it is broken, given the other mirrors of its array."""
    misses = state.mirror_misses[mirror]
    if misses < assumed("stray_misses_least"):
        return False
    side, ocs, _ = port_at(mirror)
    others = max(int(state.tried[side, ocs]) - 1, 0)
    bad = min(max(int(state.missed[side, ocs]) - 1, 0), others)
    return chance_of_misses(misses, others, bad) <= assumed("stray_chance")


def chance_of_misses(misses: int, others: int, bad: int) -> float:
    """The probability that a sound mirror misses `misses` times in a row.

    `bad` of `others` mirrors of its array missed in their first attempt.
    """
    return prod((bad + 1 + n) / (others + 2 + n) for n in range(misses))


def is_stray(state: OcsState, ocs: int, side: int, port: int) -> bool:
    """Whether the mirror that the fibre of a port uses now finds no place."""
    if not state.stray_mirrors or state.technology not in ALIGNED_BY_CAMERA:
        return False
    logical = port_place(side, ocs, port)
    return port_place(side, ocs, state.patched.get(logical, port)) in state.stray_mirrors.values()


def _mirrors_of(state: OcsState, circuits: Circuits, number: int) -> tuple[int, int]:
    ocs, north, south = (int(x[number]) for x in (circuits.ocs, circuits.north, circuits.south))
    at = [port_place(side, ocs, port) for side, port in enumerate((north, south))]
    north, south = (state.patched.get(place, port) for place, port in zip(at, (north, south), strict=True))
    return port_place(0, ocs, north), port_place(1, ocs, south)
