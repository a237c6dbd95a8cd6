"""The rules of the links: what is made, lost, drained, watched and fit, and what of it is told."""

import numpy as np

from schemas.envelope import Envelope
from schemas.failures import FaultBegan, FaultEnded
from schemas.names import number_of
from schemas.ocs import (
    CircuitsRestored,
    CircuitsRewired,
    OcsDown,
    OcsesDown,
    PortDown,
    PortPatched,
)
from schemas.sequencer import Tick
from schemas.topology import StageBegun, StageUndrained
from schemas.trunks import CircuitsQualified, NetworkPartDown, NetworkPartUp
from services.trunks.carrying import announce, known, touch, touch_summary
from services.trunks.optics import weak
from services.trunks.state import TrunksState, Watch
from shared.basics.units import US_PER_S, us
from shared.engine.service import CausedBy, Output
from shared.models.network.wiring import NO_PORT, wiring_of
from shared.models.ocs.patches import place_of


def due(state: TrunksState) -> int | None:
    """When circuits have been watched for long enough."""
    return min([watch.due_us for watch in state.watches.values()], default=None)


def on_stage_begun(state: TrunksState, body: StageBegun, _message: Envelope) -> list[Output]:
    ocs, north, _ = known(state, body.drained)
    state.drained[ocs, north] = True
    return announce(state, planned=True)


def on_rewired(state: TrunksState, body: CircuitsRewired, message: Envelope) -> list[Output]:
    """What was made is watched before it carries traffic; what was removed is forgotten."""
    ocs, north, _ = known(state, body.removed)
    state.south_of[ocs, north] = NO_PORT
    for there in (state.lit, state.fit, state.drained):
        there[ocs, north] = False
    made = (*body.made, *body.missing)
    for ocs_number, north_port, south in made:
        state.south_of[ocs_number, north_port] = south
    ocs, north, _ = known(state, made)
    state.fit[ocs, north], state.drained[ocs, north] = False, True
    state.lit[ocs, north] = False
    ocs, north, _ = known(state, body.made)
    state.lit[ocs, north] = True
    block_at = wiring_of(state.plant).block_at
    for block in sorted({int(block_at[port]) for circuit in (*body.removed, *made) for port in circuit[1:]}):
        touch(state, block)
    state.watched += 1
    due_us = state.now_us + us(state.qualify_s, US_PER_S)
    state.watches[state.watched] = Watch(body.rewiring, body.stage, made, due_us, message.id)
    return announce(state)


def on_tick(state: TrunksState, _tick: Tick, _message: Envelope) -> list[Output]:
    """Circuits were watched for long enough, in the order in which they were made."""
    done = sorted(number for number, watch in state.watches.items() if watch.due_us <= state.now_us)
    return [_qualify(state, state.watches.pop(number)) for number in done]


def _qualify(state: TrunksState, watch: Watch) -> CausedBy:
    circuits = known(state, watch.circuits)
    ocs, north, _ = circuits
    unfit = weak(state, circuits)
    state.fit[ocs, north] = ~unfit
    touch_summary(state)
    dark = ~unfit & ~state.lit[ocs, north]

    def told(which: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> tuple[tuple[int, int, int], ...]:
        rows = (part[which].tolist() for part in circuits)
        return tuple(zip(*rows, strict=True))

    body = CircuitsQualified(rewiring=watch.rewiring, stage=watch.stage, unfit=told(unfit), dark=told(dark))
    return CausedBy(watch.cause, body)


def on_undrained(state: TrunksState, body: StageUndrained, _message: Envelope) -> list[Output]:
    ocs, north, _ = known(state, body.circuits)
    state.drained[ocs, north] = False
    return announce(state, planned=True)


def on_ocs_down(state: TrunksState, body: OcsDown, _message: Envelope) -> list[Output]:
    state.lit[body.ocs] = False
    return announce(state)


def on_ocses_down(state: TrunksState, body: OcsesDown, _message: Envelope) -> list[Output]:
    state.lit[list(body.ocses)] = False
    return announce(state)


def on_port_down(state: TrunksState, body: PortDown, _message: Envelope) -> list[Output]:
    if body.side == "N":
        state.lit[body.ocs, body.port] = False
    else:
        state.lit[body.ocs, state.south_of[body.ocs] == body.port] = False
    return announce(state)


def on_port_patched(state: TrunksState, body: PortPatched, _message: Envelope) -> list[Output]:
    """The fibre at this port is at another mirror; what the next circuit over it loses goes by that."""
    state.patched[place_of("NS".index(body.side), body.ocs, body.port)] = body.spare
    return []


def on_restored(state: TrunksState, body: CircuitsRestored, _message: Envelope) -> list[Output]:
    """Circuits that stood before need not be watched again: their mirrors return to where they were."""
    ocs, north, _ = known(state, [(body.ocs, north, south) for north, south in body.circuits])
    state.lit[ocs, north] = True
    return announce(state)


def on_fault_began(state: TrunksState, body: FaultBegan, _message: Envelope) -> list[Output]:
    return _count(state, body.kind, body.target, +1)


def on_fault_ended(state: TrunksState, body: FaultEnded, _message: Envelope) -> list[Output]:
    return _count(state, body.kind, body.target, -1)


def _count(state: TrunksState, kind: str, target: str, change: int) -> list[Output]:
    """A block or bundle breaks, or works again when the last of its faults has ended."""
    if kind == "block":
        block = number_of(target)
        faults, at = state.block_faults, block
    elif kind == "bundle":
        block = number_of(target.rpartition("/")[0])
        faults, at = state.bundle_faults[block], number_of(target)
    else:
        return []
    before = int(faults[at])
    faults[at] = before + change
    if (before > 0) == (before + change > 0):
        return []
    touch(state, block)
    news = NetworkPartDown(part=target) if change > 0 else NetworkPartUp(part=target)
    return [news, *announce(state)]
