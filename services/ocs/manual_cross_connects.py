"""Cross-connects that an operator makes by hand, by ports of the chassis, such as 1A (N0) and 1B (S0).

No slice and no topology wants them, so they take only free ports. A slice's command is the desired state and
replaces them at the ports it needs. They are lost when the chassis loses its power. Otherwise they behave
like other circuits: a broken port or board darkens them, and they are made again later. They form no link,
because modules are trained only for slices.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from schemas.envelope import Envelope
from schemas.messages.ocs import (
    CrossConnectsDropped,
    CrossConnectsRefused,
    CrossConnectsRemoved,
    CrossConnectsTaken,
)
from schemas.messages.operator import CreateCrossConnects, RemoveCrossConnects
from schemas.names import number_of
from services.ocs.ports import logical_port
from services.ocs.state import MANUAL, NO_OWNER, Circuits, OcsState, as_circuits
from services.ocs.switch import Port, disconnect, mark_wanted, north_of, retry_alignment, schedule_restore
from shared.engine.service import Output
from shared.models.network.wiring import NO_PORT
from shared.models.ocs.patched_fibres import port_place
from shared.models.ocs.port_keys import cross_connect_key, port_key, ports_of_key

REASONS_MAX = 8
"""Maximum number of reasons in the refusal of a whole request."""
Pair = tuple[int, int]
"""North and South port of a circuit."""


class CrossConnectResult(NamedTuple):
    """The result of a request: pairs that are done, (key, reason) of refused ones, and keys not tried
    after the first error."""

    done: tuple[Pair, ...]
    refused: tuple[tuple[str, str], ...]
    not_tried: tuple[str, ...]


def on_create(state: OcsState, body: CreateCrossConnects, message: Envelope) -> list[Output]:
    """Mark each possible cross-connect as wanted and turn its mirrors."""
    reason = _request_refusal(state, body.ocs, removing=False)
    if reason is not None:
        return [CrossConnectsRefused(ocs=body.ocs, reason=reason)]
    ocs = number_of(body.ocs)
    result = _apply(state, ocs, body)
    if not result.done:
        return [_refusal(body.ocs, result)]
    norths = sorted(north for north, _ in result.done)
    schedule_restore(state, ocs, norths, message.id)
    for north in norths:
        state.manual_circuits[ocs * state.radix + north] = message.id
    retry_alignment(state, (ocs,))
    return [
        CrossConnectsTaken(ocs=ocs, circuits=result.done, refused=result.refused, not_tried=result.not_tried)
    ]


def on_remove(state: OcsState, body: RemoveCrossConnects, _message: Envelope) -> list[Output]:
    """Park the mirrors of each manual cross-connect of the request."""
    reason = _request_refusal(state, body.ocs, removing=True)
    if reason is not None:
        return [CrossConnectsRefused(ocs=body.ocs, reason=reason)]
    ocs = number_of(body.ocs)
    result = _apply(state, ocs, body)
    if not result.done:
        return [_refusal(body.ocs, result)]
    return [
        CrossConnectsRemoved(
            ocs=ocs, circuits=result.done, refused=result.refused, not_tried=result.not_tried
        )
    ]


def yield_ports_to(state: OcsState, circuits: Circuits, slice_: str) -> list[Output]:
    """Drop the manual cross-connects at the ports of a slice's circuits."""
    if not state.manual_circuits:
        return []
    manual = np.flatnonzero(state.owner == MANUAL)
    ocs, north = np.divmod(manual, state.radix)
    south = state.wanted.take(manual)
    taken = np.isin(manual, circuits.north_at) | np.isin(ocs * state.radix + south, circuits.south_at)
    return [
        _drop_manual(
            state, int(number), north[taken & (ocs == number)].tolist(), f"{slice_} needs their ports"
        )
        for number in np.unique(ocs[taken])
    ]


def drop_manual_circuits(state: OcsState, ocs: int) -> list[Output]:
    """Drop all manual cross-connects of an OCS that has lost its power."""
    norths = np.flatnonzero(state.owner[ocs] == MANUAL).tolist() if state.manual_circuits else []
    return [_drop_manual(state, ocs, norths, "the chassis has no power or cooling")] if norths else []


def _drop_manual(state: OcsState, ocs: int, norths: list[int], reason: str) -> CrossConnectsDropped:
    circuits = tuple((north, int(state.wanted[ocs, north])) for north in norths)
    _remove(state, ocs, circuits)
    return CrossConnectsDropped(ocs=ocs, circuits=circuits, reason=reason)


def _remove(state: OcsState, ocs: int, circuits: tuple[Pair, ...]) -> None:
    """Park the mirrors of these circuits, including those that are still turning."""
    norths = {north for north, _ in circuits}
    disconnect(state, _circuits(state, ocs, circuits))
    for north in norths:
        del state.manual_circuits[ocs * state.radix + north]
    for order, pending in list(state.restores.items()):
        if pending.ocs != ocs or pending.norths is None or norths.isdisjoint(pending.norths):
            continue
        left = tuple(north for north in pending.norths if north not in norths)
        if left:
            state.restores[order] = replace(pending, norths=left)
        else:
            del state.restores[order]


def _apply(state: OcsState, ocs: int, body: CreateCrossConnects | RemoveCrossConnects) -> CrossConnectResult:
    """Apply the cross-connects one by one; with `stop-on-error`, stop at the first that is refused."""
    done: list[Pair] = []
    refused: list[tuple[str, str]] = []
    for number, key in enumerate(body.cross_connects):
        pair = ports_of_key(key)
        ends = Port(ocs, 0, pair[0]), Port(ocs, 1, pair[1])
        reason = _no_such_port(state, pair)
        if reason is None and isinstance(body, CreateCrossConnects):
            reason = _create_refusal(state, ends)
            if reason is None:
                mark_wanted(state, _circuits(state, ocs, (pair,)), MANUAL)
                state.turning[ocs, pair[0]] = False  # it is made like a restored circuit, not for a command
        elif reason is None:
            north, south = (logical_port(state, end) for end in ends)
            pair = north.number, south.number
            reason = _remove_refusal(state, ocs, pair)
            if reason is None:
                _remove(state, ocs, (pair,))
        if reason is None:
            done.append(pair)
            continue
        refused.append((key, reason))
        if body.error_mode == "stop-on-error":
            return CrossConnectResult(tuple(done), tuple(refused), body.cross_connects[number + 1 :])
    return CrossConnectResult(tuple(done), tuple(refused), ())


def _refusal(name: str, result: CrossConnectResult) -> CrossConnectsRefused:
    reasons = [f"{key}: {reason}" for key, reason in result.refused[:REASONS_MAX]]
    if len(result.refused) > REASONS_MAX:
        reasons.append(f"{len(result.refused) - REASONS_MAX} more refused")
    if result.not_tried:
        reasons.append(f"{len(result.not_tried)} more not tried")
    return CrossConnectsRefused(ocs=name, reason="; ".join(reasons))


def _request_refusal(state: OcsState, name: str, *, removing: bool) -> str | None:
    """Why the whole request is refused, or None. Making a circuit needs a camera, parking a mirror does
    not."""
    fabric, _, part = name.partition("/")
    if state.network is not None or fabric != state.fabric or "/" in part or not part.startswith("ocs-"):
        return f"not an OCS of superpod {state.fabric}; a name is like pod-0/ocs-17"
    ocs = number_of(part)
    if ocs >= state.ocs_count:
        last = f"{state.fabric}/ocs-{state.ocs_count - 1}"
        return f"no such OCS; must be between {state.fabric}/ocs-0 and {last}"
    if state.chassis_faults[ocs]:
        return "it is down"
    if state.frozen_faults[ocs]:
        return "it is held: without its controller it executes no commands"
    if state.blind_faults[ocs] and not removing:
        return "it is held: without a camera or an injection module it makes no circuits"
    return None


def _no_such_port(state: OcsState, pair: Pair) -> str | None:
    missing = [port_key(side, number) for side, number in enumerate(pair) if number >= state.ports]
    if not missing:
        return None
    return f"no port {' and '.join(missing)}; must be 1A to {state.ports}A and 1B to {state.ports}B"


def _create_refusal(state: OcsState, ends: tuple[Port, Port]) -> str | None:
    """Why these two existing ports cannot be joined, or None."""
    for end in ends:
        key, (ocs, side, number) = _key(end), end
        fibre = logical_port(state, end)
        if fibre != end and number >= state.ports_wired:
            return f"{key} is the spare port that now carries the fibre of {fibre.label}"
        if fibre != end:
            return f"{key} is dead: its fibre was moved to {_moved_to(state, end)}"
        north = north_of(state, end)
        if north != NO_PORT:
            return f"{key} is taken by {_owner_text(state, ocs, north)}"
        if state.port_faults[side, ocs, number]:
            return f"{key} is down"
    return None


def _remove_refusal(state: OcsState, ocs: int, pair: Pair) -> str | None:
    north, south = pair
    if state.wanted[ocs, north] != south:
        return "no such cross-connect"
    if state.owner[ocs, north] == MANUAL:
        return None
    return f"it is {_owner_text(state, ocs, north)}, not a manual cross-connect"


def _owner_text(state: OcsState, ocs: int, north: int) -> str:
    owner, south = int(state.owner[ocs, north]), int(state.wanted[ocs, north])
    if owner == MANUAL:
        return f"manual cross-connect {cross_connect_key(north, south)}"
    if owner == NO_OWNER:
        return "an unowned circuit that is kept for reuse"
    return f"a circuit of {state.fabric}/slice-{owner}"


def _moved_to(state: OcsState, end: Port) -> str:
    """The key of the spare port to which the fibre of a dead port was moved."""
    return _key(Port(end.ocs, end.side, state.patched[port_place(end.side, end.ocs, end.number)]))


def _circuits(state: OcsState, ocs: int, pairs: tuple[Pair, ...]) -> Circuits:
    north, south = np.array(pairs, dtype=np.int64).T
    return as_circuits(np.full_like(north, ocs), north, south, state.radix)


def _key(port: Port) -> str:
    return port_key(port.side, port.number)
