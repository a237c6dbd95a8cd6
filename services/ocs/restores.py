"""Wanted circuits that are made again: after what they lacked came back, or mirrors that did not find their
places are to try again."""

from collections.abc import Collection, Sequence

import numpy as np

from schemas.ocs import CircuitsRestored, CrossConnectsMade
from services.ocs.circuits import circuits_of
from services.ocs.state import BY_HAND, NO_PORT, IntArray, OcsState, PendingRestore
from services.ocs.switch import make, touch
from services.ocs.turning import begin
from shared.engine.service import CausedBy, Output


def restore_later(state: OcsState, ocs: int, norths: Sequence[int] | None, cause: str) -> None:
    """Let the mirrors of what is wanted and not made turn: at these North ports, or None for all. Of an OCS
    that is held none turns: all do when it is freed."""
    if state.held[ocs] or (norths is not None and not norths):
        return
    missing = (state.wanted[ocs] != NO_PORT) & ~state.made[ocs]
    at = missing.nonzero()[0] if norths is None else np.array(norths)
    souths = state.wanted[ocs, at].astype(np.int64)
    circuits = circuits_of(np.full_like(at, ocs), at, souths, state.radix)
    due_us, failed = begin(state, circuits, missing[at])
    state.orders += 1
    which = None if norths is None else tuple(norths)
    state.restores[state.orders] = PendingRestore(ocs, which, due_us, cause, failed)


def settle_restores(state: OcsState) -> list[Output]:
    """Make again the wanted circuits whose mirrors have settled, in order of what came back."""
    said: list[Output] = []
    due = sorted(order for order, pending in state.restores.items() if pending.due_us <= state.now_us)
    for order in due:
        pending = state.restores.pop(order)
        ocs, norths, souths = pending.ocs, *_restorable(state, pending)
        if not len(norths):
            continue
        found = circuits_of(np.full_like(norths, ocs), norths, souths, state.radix)
        _, sound = make(state, found, pending.failed, pending.cause)
        by_hand = state.owner[ocs, norths] == BY_HAND
        for body, which in ((CircuitsRestored, sound & ~by_hand), (CrossConnectsMade, sound & by_hand)):
            circuits = tuple(zip(norths[which].tolist(), souths[which].tolist(), strict=True))
            if circuits:
                said.append(CausedBy(pending.cause, body(ocs=ocs, circuits=circuits)))
    return said


def realign(state: OcsState, ocses: Collection[int] | None = None) -> None:
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
        restore_later(state, ocs, norths, cause)


def forget_realignments(state: OcsState, ocs: int, norths: Collection[int] | None = None) -> None:
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
