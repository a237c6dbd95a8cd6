"""The switch itself: circuits wanted and made between North and South ports, and who wants them.

It knows nothing of what a fabric has joined to its ports. Whoever may command it says which ports a command
means (`superpod`). The OCS is non-blocking: a command touches the ports of its own circuits and no other
(Lightwave Fabrics 2.3, TPU v4 2.6).
"""

from collections.abc import Collection, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from schemas.messages.ocs import CircuitsRestored, CrossConnectsMade
from services.ocs.mirror_alignment import count_attempts, start_alignment
from services.ocs.state import (
    MANUAL,
    NO_OWNER,
    NO_PORT,
    SIDES,
    BoolArray,
    Circuits,
    FailedAlignments,
    IntArray,
    OcsState,
    PendingRestore,
    Realignment,
    circuits_of,
)
from shared.basics.units import US_PER_S, to_whole_us
from shared.engine.service import CausedBy, Output
from shared.models.ocs_technologies import ALIGNED_BY_CAMERA

EQUAL_RETRIES, DOUBLINGS_MAX = 3, 6
"""Mirrors that do not find their places are tried again three times after `ocs.realign_s`, then after 2, 4,
… 64 times that."""


class Port(NamedTuple):
    """One port of an OCS; `side` is an index of SIDES."""

    ocs: int
    side: int
    number: int

    @property
    def label(self) -> str:
        """As people write it, such as N24."""
        return f"{SIDES[self.side]}{self.number}"


def mark_wanted(state: OcsState, circuits: Circuits, owner: int) -> BoolArray:
    """Take circuits between free ports, or such as stand there already, as wanted. Returns for each whether
    its mirrors are not there yet: they begin to turn."""
    at = circuits.north_at
    turning = ~are_unowned(state, circuits) | ~state.made.take(at)
    _flat(state.turning)[at] |= turning
    _flat(state.wanted)[at] = circuits.south
    _flat(state.wanted_from)[circuits.south_at] = circuits.north
    _flat(state.owner)[at] = owner
    clear_retries(state, circuits)
    touch(state, circuits.ocses)
    return turning


def are_unowned(state: OcsState, circuits: Circuits) -> BoolArray:
    """Which of these circuits are wanted, though by nobody in particular."""
    at = circuits.north_at
    found: BoolArray = (state.wanted.take(at) == circuits.south) & (state.owner.take(at) == NO_OWNER)
    return found


def release_ownership(state: OcsState, circuits: Circuits) -> None:
    """Let wanted circuits stand for whoever wants them next."""
    _flat(state.owner)[circuits.north_at] = NO_OWNER
    touch(state, circuits.ocses)


def disconnect(state: OcsState, circuits: Circuits) -> None:
    """Park the mirrors of wanted circuits at once, also of those that were still turning. Those of an OCS
    without its controller stay where they are, for nobody."""
    at = circuits.north_at
    if state.frozen_faults.any():
        stays = state.made.take(at) & (state.frozen_faults.take(circuits.ocs) > 0)
        state.stale.update(zip(at[stays].tolist(), circuits.south[stays].tolist(), strict=True))
    _flat(state.wanted)[at] = NO_PORT
    _flat(state.wanted_from)[circuits.south_at] = NO_PORT
    _flat(state.owner)[at] = NO_OWNER
    _flat(state.made)[at] = False
    _flat(state.turning)[at] = False
    clear_retries(state, circuits)
    touch(state, circuits.ocses)


def clear_retries(state: OcsState, circuits: Circuits) -> None:
    """Whatever mirrors of these circuits did not find before is not tried again."""
    if state.misses:
        for place in circuits.north_at.tolist():
            state.realignments.pop(place, None)
            state.misses.pop(place, None)


def make_circuits(
    state: OcsState, circuits: Circuits, failed: FailedAlignments = (), cause: str = ""
) -> tuple[BoolArray, BoolArray]:
    """The mirrors have settled: make what can be made. Returns for each circuit whether its OCS is up and
    makes circuits, and whether both of its ports are sound and its mirrors are where they should be; it is
    made where all of it is so. What stands already does so whatever the OCS can do, also where it stood for
    nobody. Mirrors that `failed` to get there are tried again; `cause` is the id of why they turned."""
    at, ocs = circuits.north_at, circuits.ocs
    stands = state.made.take(at) | _reuse_stale(state, circuits)
    up = (state.chassis_faults + state.frozen_faults + state.blind_faults).take(ocs) == 0
    sound = (state.port_faults[0].take(at) == 0) & (state.port_faults[1].take(circuits.south_at) == 0)
    for restore in state.restores.values():
        # What was lost meanwhile and came back turns a switching time of its own, and is restored after it.
        if restore.due_us > state.now_us and restore.norths is None:
            up &= ocs != restore.ocs
        elif restore.due_us > state.now_us and restore.norths is not None:
            sound &= (ocs != restore.ocs) | ~np.isin(circuits.north, restore.norths)
    if state.technology in ALIGNED_BY_CAMERA:
        count_attempts(state, circuits, up & sound & ~stands, failed, cause)
    if failed:
        sound &= ~_schedule_retries(state, at, up & sound & ~stands, failed, cause)
    up |= stands
    sound |= stands
    good = up & sound
    for place in at[good].tolist() if state.misses else ():
        state.realignments.pop(place, None)
        state.misses.pop(place, None)
    state.cross_connects += int(np.count_nonzero(good & ~stands))
    _flat(state.made)[at] = good
    _flat(state.turning)[at] = False
    touch(state, circuits.ocses)
    return up, sound


def _schedule_retries(
    state: OcsState, at: IntArray, could: BoolArray, failed: FailedAlignments, cause: str
) -> BoolArray:
    """Which of these places have mirrors that failed. Those that nothing else hinders are tried again, in the
    end after twice as long each time; for the others, that is the matter of what comes back."""
    once_us = to_whole_us(state.config.realign_s, US_PER_S)
    reasons = {place: code for place, code, _ in failed}
    bad = np.isin(at, list(reasons))
    for place in at[bad & could].tolist():
        misses = state.misses[place] = state.misses.get(place, 0) + 1
        wait_us = once_us << min(max(misses - EQUAL_RETRIES, 0), DOUBLINGS_MAX)
        state.realignments[place] = Realignment(reasons[place], state.now_us + wait_us, cause)
    return bad


def _reuse_stale(state: OcsState, circuits: Circuits) -> BoolArray:
    """Which of these circuits the mirrors of an OCS without its controller make already, though nobody
    wanted them; they are stale no longer."""
    found = np.zeros(len(circuits.ocs), dtype=np.bool_)
    if not state.stale:
        return found
    for number, (at, south) in enumerate(
        zip(circuits.north_at.tolist(), circuits.south.tolist(), strict=True)
    ):
        if state.stale.get(at) == south:
            del state.stale[at]
            found[number] = True
    return found


def remove_stale(
    state: OcsState, ocs: int, side: int | None = None, ports: Sequence[int] = ()
) -> tuple[tuple[int, int], ...]:
    """Circuits of an OCS, as (North, South), that its mirrors make for nobody are no more: all, or those at
    these ports of a side. Returns them, by North port."""
    if not state.stale:
        return ()
    first = ocs * state.radix
    of_ocs = [(at - first, south) for at, south in state.stale.items() if 0 <= at - first < state.radix]
    gone = sorted(pair for pair in of_ocs if side is None or pair[side] in ports)
    for north, _ in gone:
        del state.stale[first + north]
    return tuple(gone)


def busy_port(state: OcsState, circuits: Circuits) -> Port | None:
    """The first port of these circuits that another circuit is wanted at, North ports first; None if all are
    free, or have the same circuit standing. What was made by hand keeps no port."""
    taken_over = are_unowned(state, circuits)
    sides = (
        (0, state.wanted, circuits.north_at, circuits.north),
        (1, state.wanted_from, circuits.south_at, circuits.south),
    )
    for side, taken, at, ports in sides:
        busy = (taken.take(at) != NO_PORT) & ~taken_over
        if state.manual_circuits:
            norths = ports if side == 0 else taken.take(at)
            busy &= state.owner[circuits.ocs, norths] != MANUAL  # of a free port whose is no matter
        if busy.any():
            first = int(np.argmax(busy))
            return Port(int(circuits.ocs[first]), side, int(ports[first]))
    return None


def foreign_circuit(state: OcsState, circuits: Circuits, owners: tuple[int, ...]) -> int | None:
    """The index of the first of these circuits that is not wanted by one of these owners; None if all are."""
    holders = state.owner.take(circuits.north_at)
    foreign = state.wanted.take(circuits.north_at) != circuits.south
    theirs = holders == owners[0]
    for owner in owners[1:]:
        theirs |= holders == owner
    foreign |= ~theirs
    return int(np.argmax(foreign)) if foreign.any() else None


def north_of(state: OcsState, port: Port) -> int:
    """North port of the circuit that is wanted at a port, NO_PORT if there is none."""
    if SIDES[port.side] == "S":
        return int(state.wanted_from[port.ocs, port.number])
    return port.number if state.wanted[port.ocs, port.number] != NO_PORT else NO_PORT


def touch(state: OcsState, ocses: Sequence[int]) -> None:
    """Note that these OCSes changed."""
    keys = ocs_keys(state.fabric, state.ocs_count)
    state.changed_us[list(ocses)] = state.now_us
    state.changed_documents.update(map(keys.__getitem__, ocses))
    state.changed_documents.add(("summaries", f"{state.fabric}/ocs"))


def _flat(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same array in one dimension: to change the one is to change the other."""
    return array.reshape(-1, copy=False)


@cache
def ocs_keys(fabric: str, ocs_count: int) -> tuple[tuple[str, str], ...]:
    """The document keys of a fabric's OCSes, in order; the same objects every time."""
    return tuple(("ocs", f"{fabric}/ocs-{ocs}") for ocs in range(ocs_count))


# Wanted circuits that are made again: after what they lacked came back, or mirrors that did not find their
# places are to try again.


def schedule_restore(state: OcsState, ocs: int, norths: Sequence[int] | None, cause: str) -> None:
    """Let the mirrors of what is wanted and not made turn: at these North ports, or None for all. Of an OCS
    that is held none turns: all do when it is freed."""
    if state.held[ocs] or (norths is not None and not norths):
        return
    missing = (state.wanted[ocs] != NO_PORT) & ~state.made[ocs]
    at = missing.nonzero()[0] if norths is None else np.array(norths)
    souths = state.wanted[ocs, at].astype(np.int64)
    circuits = circuits_of(np.full_like(at, ocs), at, souths, state.radix)
    due_us, failed = start_alignment(state, circuits, missing[at])
    state.last_order += 1
    which = None if norths is None else tuple(norths)
    state.restores[state.last_order] = PendingRestore(ocs, which, due_us, cause, failed)


def settle_restores(state: OcsState) -> list[Output]:
    """Make again the wanted circuits whose mirrors have settled, in order of what came back."""
    emitted: list[Output] = []
    due = sorted(order for order, pending in state.restores.items() if pending.due_us <= state.now_us)
    for order in due:
        pending = state.restores.pop(order)
        ocs, norths, souths = pending.ocs, *_restorable(state, pending)
        if not len(norths):
            continue
        found = circuits_of(np.full_like(norths, ocs), norths, souths, state.radix)
        _, sound = make_circuits(state, found, pending.failed, pending.cause)
        manual_circuits = state.owner[ocs, norths] == MANUAL
        for body, which in (
            (CircuitsRestored, sound & ~manual_circuits),
            (CrossConnectsMade, sound & manual_circuits),
        ):
            circuits = tuple(zip(norths[which].tolist(), souths[which].tolist(), strict=True))
            if circuits:
                emitted.append(CausedBy(pending.cause, body(ocs=ocs, circuits=circuits)))
    return emitted


def retry_alignment(state: OcsState, ocses: Collection[int] | None = None) -> None:
    """Let mirrors turn again that did not find their places: those of some OCSes on which something moves
    anyway, else those whose time has come."""
    together = dict[tuple[int, str], list[int]]()
    for place, failed in sorted(state.realignments.items()):
        ocs, north = divmod(place, state.radix)
        if ocs in ocses if ocses is not None else failed.due_us <= state.now_us:
            del state.realignments[place]
            together.setdefault((ocs, failed.cause), []).append(north)
    for (ocs, cause), norths in together.items():
        touch(state, (ocs,))
        schedule_restore(state, ocs, norths, cause)


def cancel_retries(state: OcsState, ocs: int, norths: Collection[int] | None = None) -> None:
    """No mirrors of an OCS, or of circuits at these North ports, are to try again: it is not they that hinder
    their circuits now."""
    first = ocs * state.radix
    inside = [place for place in state.realignments if 0 <= place - first < state.radix]
    for place in inside:
        if norths is None or place - first in norths:
            del state.realignments[place]
            state.misses.pop(place, None)


def _restorable(state: OcsState, pending: PendingRestore) -> tuple[IntArray, IntArray]:
    """The circuits of a restore that can be made now, by North and South ports. Those whose mirrors still
    turn for a command, or for what came back later, are left to that."""
    ocs, ports = pending.ocs, np.arange(state.radix)
    if state.chassis_faults[ocs] > 0 or state.held[ocs]:
        return ports[:0], ports[:0]
    good = (state.wanted[ocs] != NO_PORT) & ~state.made[ocs] & ~state.turning[ocs]
    good &= state.port_faults[0, ocs] == 0
    if pending.norths is not None:
        good &= np.isin(ports, pending.norths)
    for later in state.restores.values():
        if later.ocs == ocs and later.due_us > state.now_us:
            good &= later.norths is not None and ~np.isin(ports, later.norths)
    north = np.flatnonzero(good)
    south = state.wanted[ocs, north].astype(np.int64)
    sound = state.port_faults[1, ocs, south] == 0
    return north[sound], south[sound]
