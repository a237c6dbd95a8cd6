"""The switch: wanted and made circuits between North and South ports, and their owners.

It does not know what is connected to its ports. `superpod_commands` and `network_commands` translate commands
to ports. The OCS is non-blocking: a command touches only the ports of its own circuits (Lightwave Fabrics
2.3, TPU v4 2.6).
"""

from collections.abc import Collection, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from schemas.messages.ocs import CircuitsRestored, CrossConnectsMade
from services.ocs.settling_time import start_alignment
from services.ocs.state import (
    MANUAL,
    NO_OWNER,
    BoolArray,
    Circuits,
    FailedAlignments,
    IntArray,
    OcsState,
    PendingRestore,
    Realignment,
    as_circuits,
)
from services.ocs.stray_mirrors import count_attempts
from shared.basics.units import US_PER_S, to_whole_us
from shared.engine.service import CausedBy, Output
from shared.models.network.wiring import NO_PORT
from shared.models.ocs.patched_fibres import SIDES
from shared.models.ocs_technologies import ALIGNED_BY_CAMERA

EQUAL_RETRIES, DOUBLINGS_MAX = 3, 6
"""A failed alignment is retried three times after `ocs.realign_s`, then after 2, 4, … 64 times that."""


class Port(NamedTuple):
    """One port of an OCS; `side` is an index of SIDES."""

    ocs: int
    side: int
    number: int

    @property
    def label(self) -> str:
        """The printed form, such as N24."""
        return f"{SIDES[self.side]}{self.number}"


def mark_wanted(state: OcsState, circuits: Circuits, owner: int) -> BoolArray:
    """Mark circuits between free ports, or circuits that already exist, as wanted.

    Returns for each circuit whether its mirrors must turn; they start now.
    """
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
    """Which of these circuits are wanted but have no owner."""
    at = circuits.north_at
    unowned: BoolArray = (state.wanted.take(at) == circuits.south) & (state.owner.take(at) == NO_OWNER)
    return unowned


def release_ownership(state: OcsState, circuits: Circuits) -> None:
    """Remove the owner of wanted circuits, which are kept for reuse."""
    _flat(state.owner)[circuits.north_at] = NO_OWNER
    touch(state, circuits.ocses)


def disconnect(state: OcsState, circuits: Circuits) -> None:
    """Park the mirrors of wanted circuits at once, including those that are still turning.

    Mirrors of an OCS without its controller stay where they are; their circuits become stale.
    """
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
    """Drop the retries of these circuits."""
    if state.misses:
        for place in circuits.north_at.tolist():
            state.realignments.pop(place, None)
            state.misses.pop(place, None)


def make_circuits(
    state: OcsState, circuits: Circuits, failed: FailedAlignments = (), cause: str = ""
) -> tuple[BoolArray, BoolArray]:
    """Make the circuits whose mirrors have settled, where this is possible.

    Returns two arrays, one value a circuit: whether its OCS is up and makes circuits, and whether both ports
    are sound and the mirrors in place. A circuit is made if both are true. A circuit that already stands,
    also as a stale one, counts as made in any state of the OCS. Alignments in `failed` are retried;
    `cause` is the id of the message for which the mirrors turned. The caller marks the OCSes as changed if it
    emits a message about them.
    """
    at, ocs = circuits.north_at, circuits.ocs
    stands = state.made.take(at) | _reuse_stale(state, circuits)
    up = (state.chassis_faults + state.frozen_faults + state.blind_faults).take(ocs) == 0
    sound = (state.port_faults[0].take(at) == 0) & (state.port_faults[1].take(circuits.south_at) == 0)
    for restore in state.restores.values():
        # A circuit that was lost and recovered meanwhile has its own switching time, and its restore makes
        # it.
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
    publish(state, circuits.ocses)
    return up, sound


def _schedule_retries(
    state: OcsState, at: IntArray, could: BoolArray, failed: FailedAlignments, cause: str
) -> BoolArray:
    """Return which of these circuits failed to align, and schedule retries for those with no other obstacle.

    The delay doubles after the first retries. The others are made again when what they lack recovers.
    """
    once_us = to_whole_us(state.config.realign_s, US_PER_S)
    reasons = {place: code for place, code, _ in failed}
    bad = np.isin(at, list(reasons))
    for place in at[bad & could].tolist():
        misses = state.misses[place] = state.misses.get(place, 0) + 1
        wait_us = once_us << min(max(misses - EQUAL_RETRIES, 0), DOUBLINGS_MAX)
        state.realignments[place] = Realignment(reasons[place], state.now_us + wait_us, cause)
    return bad


def _reuse_stale(state: OcsState, circuits: Circuits) -> BoolArray:
    """Return which of these circuits already stand as stale ones; they are stale no longer."""
    reused = np.zeros(len(circuits.ocs), dtype=np.bool_)
    if not state.stale:
        return reused
    for number, (at, south) in enumerate(
        zip(circuits.north_at.tolist(), circuits.south.tolist(), strict=True)
    ):
        if state.stale.get(at) == south:
            del state.stale[at]
            reused[number] = True
    return reused


def remove_stale(
    state: OcsState, ocs: int, side: int | None = None, ports: Sequence[int] = ()
) -> tuple[tuple[int, int], ...]:
    """Remove the stale circuits of an OCS: all, or those at these ports of a side.

    Returns them as (North, South), by North port.
    """
    if not state.stale:
        return ()
    first = ocs * state.radix
    of_ocs = [(at - first, south) for at, south in state.stale.items() if 0 <= at - first < state.radix]
    gone = sorted(pair for pair in of_ocs if side is None or pair[side] in ports)
    for north, _ in gone:
        del state.stale[first + north]
    return tuple(gone)


def busy_port(state: OcsState, circuits: Circuits) -> Port | None:
    """The first port of these circuits that another circuit uses, North ports first; None if all are free.

    An identical unowned circuit is no conflict, and neither is a manual cross-connect.
    """
    taken_over = are_unowned(state, circuits)
    sides = (
        (0, state.wanted, circuits.north_at, circuits.north),
        (1, state.wanted_from, circuits.south_at, circuits.south),
    )
    for side, taken, at, ports in sides:
        busy = (taken.take(at) != NO_PORT) & ~taken_over
        if state.manual_circuits:
            norths = ports if side == 0 else taken.take(at)
            busy &= state.owner[circuits.ocs, norths] != MANUAL  # the owner of a free port is ignored
        if busy.any():
            first = int(np.argmax(busy))
            return Port(int(circuits.ocs[first]), side, int(ports[first]))
    return None


def foreign_circuit(state: OcsState, circuits: Circuits, owners: tuple[int, ...]) -> int | None:
    """The index of the first of these circuits that none of these owners wants; None if all are theirs."""
    circuit_owners = state.owner.take(circuits.north_at)
    foreign = state.wanted.take(circuits.north_at) != circuits.south
    theirs = circuit_owners == owners[0]
    for owner in owners[1:]:
        theirs |= circuit_owners == owner
    foreign |= ~theirs
    return int(np.argmax(foreign)) if foreign.any() else None


def north_of(state: OcsState, port: Port) -> int:
    """North port of the circuit that is wanted at a port; NO_PORT if there is none."""
    if SIDES[port.side] == "S":
        return int(state.wanted_from[port.ocs, port.number])
    return port.number if state.wanted[port.ocs, port.number] != NO_PORT else NO_PORT


def touch(state: OcsState, ocses: Sequence[int]) -> None:
    """Mark these OCSes as changed. A message about them has the same time."""
    state.changed_us[list(ocses)] = state.now_us
    publish(state, ocses)


def publish(state: OcsState, ocses: Sequence[int]) -> None:
    """Write the documents of these OCSes again: mirrors turn, or have missed, and no message reports it."""
    keys = ocs_keys(state.fabric, state.ocs_count)
    state.changed_documents.update(map(keys.__getitem__, ocses))
    state.changed_documents.add(("summaries", f"{state.fabric}/ocs"))


def _flat(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A flat view of the same array: writing to it changes the original."""
    return array.reshape(-1, copy=False)


@cache
def ocs_keys(fabric: str, ocs_count: int) -> tuple[tuple[str, str], ...]:
    """The document keys of a fabric's OCSes, in order; the same objects every time."""
    return tuple(("ocs", f"{fabric}/ocs-{ocs}") for ocs in range(ocs_count))


def schedule_restore(state: OcsState, ocs: int, norths: Sequence[int] | None, cause: str) -> None:
    """Turn the mirrors of wanted circuits that are not made: at these North ports, or all if None.

    Nothing turns in a held OCS; all its circuits are restored when it is freed.
    """
    if state.held[ocs] or (norths is not None and not norths):
        return
    missing = (state.wanted[ocs] != NO_PORT) & ~state.made[ocs]
    at = missing.nonzero()[0] if norths is None else np.array(norths)
    souths = state.wanted[ocs, at].astype(np.int64)
    circuits = as_circuits(np.full_like(at, ocs), at, souths, state.radix)
    due_us, failed = start_alignment(state, circuits, missing[at])
    state.last_order += 1
    which = None if norths is None else tuple(norths)
    state.restores[state.last_order] = PendingRestore(ocs, which, due_us, cause, failed)


def complete_restores(state: OcsState) -> list[Output]:
    """Make the wanted circuits again whose mirrors have settled, in order of the recoveries."""
    emitted: list[Output] = []
    due = sorted(order for order, pending in state.restores.items() if pending.due_us <= state.now_us)
    for order in due:
        pending = state.restores.pop(order)
        ocs, norths, souths = pending.ocs, *_restorable(state, pending)
        if not len(norths):
            continue
        restored = as_circuits(np.full_like(norths, ocs), norths, souths, state.radix)
        _, sound = make_circuits(state, restored, pending.failed, pending.cause)
        manual_circuits = state.owner[ocs, norths] == MANUAL
        for body, which in (
            (CircuitsRestored, sound & ~manual_circuits),
            (CrossConnectsMade, sound & manual_circuits),
        ):
            circuits = tuple(zip(norths[which].tolist(), souths[which].tolist(), strict=True))
            if circuits:
                touch(state, (ocs,))
                emitted.append(CausedBy(pending.cause, body(ocs=ocs, circuits=circuits)))
    return emitted


def retry_alignment(state: OcsState, ocses: Collection[int] | None = None) -> None:
    """Retry failed alignments: those of these OCSes, whose mirrors move anyway, or those that are due."""
    together = dict[tuple[int, str], list[int]]()
    for place, failed in sorted(state.realignments.items()):
        ocs, north = divmod(place, state.radix)
        if ocs in ocses if ocses is not None else failed.due_us <= state.now_us:
            del state.realignments[place]
            together.setdefault((ocs, failed.cause), []).append(north)
    for (ocs, cause), norths in together.items():
        publish(state, (ocs,))
        schedule_restore(state, ocs, norths, cause)


def cancel_retries(state: OcsState, ocs: int, norths: Collection[int] | None = None) -> None:
    """Cancel the retries of an OCS, or of circuits at these North ports, because another fault stops them."""
    first = ocs * state.radix
    inside = [place for place in state.realignments if 0 <= place - first < state.radix]
    for place in inside:
        if norths is None or place - first in norths:
            del state.realignments[place]
            state.misses.pop(place, None)


def _restorable(state: OcsState, pending: PendingRestore) -> tuple[IntArray, IntArray]:
    """North and South ports of the circuits of a restore that can be made now.

    Circuits whose mirrors still turn for a command or a later restore are left to that.
    """
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
