"""Commands of a datacenter network to its OCSes: circuits between ports, one stage of a rewiring at a
time."""

from collections.abc import Sequence

import numpy as np

from schemas.envelope import Envelope
from schemas.messages.ocs import CircuitsRewired, RewiringRefused
from schemas.messages.topology import RewireCircuits
from schemas.names import OcsCircuit
from services.ocs.settling_time import MIN_REPLY_DELAY_US, start_alignment
from services.ocs.state import NO_OWNER, Circuits, FailedAlignments, OcsState, PendingRewiring, as_circuits
from services.ocs.switch import disconnect, make_circuits, mark_wanted, retry_alignment, touch
from shared.engine.service import CausedBy, Output
from shared.models.network.wiring import NO_PORT

OcsConflict = tuple[int, str]
"""The OCS that cannot execute a command, and the reason."""


def on_rewire(state: OcsState, body: RewireCircuits, message: Envelope) -> list[Output]:
    """Park the mirrors of removed circuits at once, and turn those of new ones, or refuse the whole command.

    A removed circuit may already be lost. It is no longer wanted, so it is not restored.
    """
    conflict = _rewire_conflict(state, body)
    if conflict is not None:
        ocs, reason = conflict
        return [RewiringRefused(rewiring=body.rewiring, stage=body.stage, ocs=ocs, reason=reason)]
    if body.removed:
        disconnect(state, _circuits(body.removed, state.radix))
    failed: FailedAlignments = ()
    due_us = state.now_us + MIN_REPLY_DELAY_US
    if body.made:
        circuits = _circuits(body.made, state.radix)
        due_us, failed = start_alignment(state, circuits, mark_wanted(state, circuits, NO_OWNER))
    state.last_order += 1
    state.rewirings[state.last_order] = PendingRewiring(
        body.rewiring, body.stage, body.removed, body.made, due_us, message.id, failed
    )
    retry_alignment(state, sorted({ocs for ocs, _, _ in body.made}))
    return []


def complete_rewirings(state: OcsState) -> list[Output]:
    """Make the circuits whose mirrors have settled, in order of the commands."""
    due = sorted(order for order, pending in state.rewirings.items() if pending.due_us <= state.now_us)
    return [_complete(state, state.rewirings.pop(order)) for order in due]


def _complete(state: OcsState, pending: PendingRewiring) -> CausedBy:
    missing: tuple[OcsCircuit, ...] = ()
    if pending.made:
        circuits = _circuits(pending.made, state.radix)
        up, sound = make_circuits(state, circuits, pending.failed, pending.cause)
        touch(state, circuits.ocses)
        missing = tuple(pending.made[n] for n in np.flatnonzero(~(up & sound)).tolist())
    lost = set(missing)
    body = CircuitsRewired(
        rewiring=pending.rewiring,
        stage=pending.stage,
        removed=pending.removed,
        made=tuple(circuit for circuit in pending.made if circuit not in lost),
        missing=missing,
    )
    return CausedBy(pending.cause, body)


def _circuits(circuits: Sequence[OcsCircuit], radix: int) -> Circuits:
    ocs, north, south = np.array(circuits, dtype=np.int64).T
    return as_circuits(ocs, north, south, radix)


def _rewire_conflict(state: OcsState, body: RewireCircuits) -> OcsConflict | None:
    for ocs, north, south in (*body.removed, *body.made):
        if ocs >= state.ocs_count or north >= state.ports_wired or south >= state.ports_wired:
            return ocs, f"N{north} or S{south} has no fibre; must be between 0 and {state.ports_wired - 1}"
        if state.control_faults[ocs]:
            return (
                ocs,
                "its domain is without control"
                if not state.latches
                else "its domain is without control or power",
            )
    freed = set()
    for ocs, north, south in body.removed:
        if state.wanted[ocs, north] != south:
            return ocs, f"no circuit N{north} to S{south} to remove"
        freed |= {(ocs, "N", north), (ocs, "S", south)}
    taken: set[tuple[int, str, int]] = set()
    for ocs, north, south in body.made:
        for side, port, wanted in (("N", north, state.wanted), ("S", south, state.wanted_from)):
            end = (ocs, side, port)
            if end in taken:
                return ocs, f"{side}{port} is named twice in one command"
            if wanted[ocs, port] != NO_PORT and end not in freed:
                return ocs, f"{side}{port} is busy with another circuit"
            taken.add(end)
    return None
