"""Cross-connects that an operator makes by hand, as on the management face of an OCS: by ports of its
chassis, 1A (N0) and 1B (S0) on.

They are the OCS's own: no slice and no topology wants them. So they take only ports that nobody else has, go
when a slice's program takes one of theirs, for programs are the desired state, and are forgotten with the
power of the chassis. Otherwise they are circuits as any: a broken port or board darkens them, and they are
made again after. No link comes of them: modules are trained for slices.
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
from services.ocs.state import MANUAL, NO_OWNER, NO_PORT, Circuits, OcsState, circuits_of
from services.ocs.switch import Port, disconnect, mark_wanted, north_of, retry_alignment, schedule_restore
from shared.engine.service import Output
from shared.models.ocs.patches import place_of
from shared.models.ocs.port_keys import cross_connect_key, port_key, ports_of_key

REASONS_MAX = 8
"""Of cross-connects that are all refused, so many say why."""
Pair = tuple[int, int]
"""North and South port of a circuit."""


class CrossConnectResult(NamedTuple):
    """Cross-connects of a request: those that are done, those that are refused by key with the reason, and
    those that were not tried after the first error."""

    done: tuple[Pair, ...]
    refused: tuple[tuple[str, str], ...]
    not_tried: tuple[str, ...]


def on_create(state: OcsState, body: CreateCrossConnects, message: Envelope) -> list[Output]:
    """Take what can be taken as wanted, each for itself, and let the mirrors turn."""
    reason = _request_refusal(state, body.ocs, removing=False)
    if reason is not None:
        return [CrossConnectsRefused(ocs=body.ocs, reason=reason)]
    ocs = number_of(body.ocs)
    found = _apply(state, ocs, body)
    if not found.done:
        return [_refusal(body.ocs, found)]
    norths = sorted(north for north, _ in found.done)
    schedule_restore(state, ocs, norths, message.id)
    for north in norths:
        state.manual_circuits[ocs * state.radix + north] = message.id
    retry_alignment(state, (ocs,))
    return [
        CrossConnectsTaken(ocs=ocs, circuits=found.done, refused=found.refused, not_tried=found.not_tried)
    ]


def on_remove(state: OcsState, body: RemoveCrossConnects, _message: Envelope) -> list[Output]:
    """Park the mirrors of those that were made by hand, each for itself."""
    reason = _request_refusal(state, body.ocs, removing=True)
    if reason is not None:
        return [CrossConnectsRefused(ocs=body.ocs, reason=reason)]
    ocs = number_of(body.ocs)
    found = _apply(state, ocs, body)
    if not found.done:
        return [_refusal(body.ocs, found)]
    return [
        CrossConnectsRemoved(ocs=ocs, circuits=found.done, refused=found.refused, not_tried=found.not_tried)
    ]


def yield_ports_to(state: OcsState, circuits: Circuits, slice_: str) -> list[Output]:
    """Drop what was made by hand at the ports of a slice's circuits."""
    if not state.manual_circuits:
        return []
    held = np.flatnonzero(state.owner == MANUAL)
    ocs, north = np.divmod(held, state.radix)
    south = state.wanted.take(held)
    taken = np.isin(held, circuits.north_at) | np.isin(ocs * state.radix + south, circuits.south_at)
    return [
        _drop_manual(
            state, int(number), north[taken & (ocs == number)].tolist(), f"{slice_} takes their ports"
        )
        for number in np.unique(ocs[taken])
    ]


def drop_manual_circuits(state: OcsState, ocs: int) -> list[Output]:
    """The OCS forgets what was made by hand: it has lost its power."""
    norths = np.flatnonzero(state.owner[ocs] == MANUAL).tolist() if state.manual_circuits else []
    return [_drop_manual(state, ocs, norths, "the chassis is without power or cooling")] if norths else []


def _drop_manual(state: OcsState, ocs: int, norths: list[int], reason: str) -> CrossConnectsDropped:
    circuits = tuple((north, int(state.wanted[ocs, north])) for north in norths)
    _remove(state, ocs, circuits)
    return CrossConnectsDropped(ocs=ocs, circuits=circuits, reason=reason)


def _remove(state: OcsState, ocs: int, circuits: tuple[Pair, ...]) -> None:
    """Park their mirrors, and let those that still turn to their places stop."""
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
    """Carry them out one by one, up to the first that is refused if the request is so."""
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
                state.turning[ocs, pair[0]] = False  # it is made as what comes back is, not for a command
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


def _refusal(name: str, found: CrossConnectResult) -> CrossConnectsRefused:
    reasons = [f"{key}: {reason}" for key, reason in found.refused[:REASONS_MAX]]
    if len(found.refused) > REASONS_MAX:
        reasons.append(f"{len(found.refused) - REASONS_MAX} more refused")
    if found.not_tried:
        reasons.append(f"{len(found.not_tried)} more not tried")
    return CrossConnectsRefused(ocs=name, reason="; ".join(reasons))


def _request_refusal(state: OcsState, name: str, *, removing: bool) -> str | None:
    """Of a whole request. To park a mirror needs no camera, to make a circuit does."""
    fabric, _, part = name.partition("/")
    if state.network is not None or fabric != state.fabric or "/" in part or not part.startswith("ocs-"):
        return f"no OCS of a superpod {state.fabric}; names are like pod-0/ocs-17"
    ocs = number_of(part)
    if ocs >= state.ocs_count:
        last = f"{state.fabric}/ocs-{state.ocs_count - 1}"
        return f"there is no such OCS; allowed are {state.fabric}/ocs-0 to {last}"
    if state.chassis_faults[ocs]:
        return "it is down"
    if state.frozen_faults[ocs]:
        return "it is held, without its controller: nothing that it is told is done"
    if state.blind_faults[ocs] and not removing:
        return "it is held, without a camera or an injection module: it makes no circuit"
    return None


def _no_such_port(state: OcsState, pair: Pair) -> str | None:
    missing = [port_key(side, number) for side, number in enumerate(pair) if number >= state.ports]
    if not missing:
        return None
    return f"no port {' and '.join(missing)}; allowed are 1A to {state.ports}A and 1B to {state.ports}B"


def _create_refusal(state: OcsState, ends: tuple[Port, Port]) -> str | None:
    """Of two ports of the chassis that are there."""
    for end in ends:
        key, (ocs, side, number) = _key(end), end
        fibre = logical_port(state, end)
        if fibre != end and number >= state.ports_wired:
            return f"{key} is the spare that the fibre of {fibre.label} was moved to"
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
    return f"it is {_owner_text(state, ocs, north)}, not made by hand"


def _owner_text(state: OcsState, ocs: int, north: int) -> str:
    owner, south = int(state.owner[ocs, north]), int(state.wanted[ocs, north])
    if owner == MANUAL:
        return f"cross-connect {cross_connect_key(north, south)}, made by hand"
    if owner == NO_OWNER:
        return "a circuit that stands for whichever slice wants it next"
    return f"a circuit of {state.fabric}/slice-{owner}"


def _moved_to(state: OcsState, end: Port) -> str:
    """The spare at which the fibre of a port is."""
    return _key(Port(end.ocs, end.side, state.patched[place_of(end.side, end.ocs, end.number)]))


def _circuits(state: OcsState, ocs: int, pairs: tuple[Pair, ...]) -> Circuits:
    north, south = np.array(pairs, dtype=np.int64).T
    return circuits_of(np.full_like(north, ocs), north, south, state.radix)


def _key(port: Port) -> str:
    return port_key(port.side, port.number)
