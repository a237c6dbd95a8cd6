"""Rules of circuits and trunks: circuits are made, lost, drained and qualified; changed trunks are
reported."""

import numpy as np

from schemas.envelope import Envelope
from schemas.messages.failures import FaultBegan, FaultEnded
from schemas.messages.ocs import CircuitsRestored, CircuitsRewired, OcsDown, OcsesDown, PortDown, PortPatched
from schemas.messages.sequencer import Tick
from schemas.messages.topology import StageBegun, StageUndrained
from schemas.messages.trunks import CircuitsQualified, NetworkPartDown, NetworkPartUp
from schemas.names import number_of
from services.trunks.state import CircuitQualification, TrunksState
from services.trunks.trunk_links import current_circuits, report_trunks, touch, touch_summary
from services.trunks.trunk_optics import unfit_circuits
from shared.basics.units import US_PER_S, to_whole_us
from shared.engine.service import CausedBy, Output
from shared.models.network.wiring import NO_PORT, wiring_of
from shared.models.ocs.patched_fibres import port_place


def due(state: TrunksState) -> int | None:
    """The time at which the next qualification ends."""
    return min([qualification.due_us for qualification in state.qualifications.values()], default=None)


def on_stage_begun(state: TrunksState, body: StageBegun, _message: Envelope) -> list[Output]:
    ocs, north, _ = current_circuits(state, body.drained)
    state.drained[ocs, north] = True
    return report_trunks(state, planned=True)


def on_rewired(state: TrunksState, body: CircuitsRewired, message: Envelope) -> list[Output]:
    """Qualify new circuits before they carry traffic, and forget removed ones."""
    ocs, north, _ = current_circuits(state, body.removed)
    state.south_of[ocs, north] = NO_PORT
    for flags in (state.lit, state.fit, state.drained):
        flags[ocs, north] = False
    made = (*body.made, *body.missing)
    for ocs_number, north_port, south in made:
        state.south_of[ocs_number, north_port] = south
    ocs, north, _ = current_circuits(state, made)
    state.fit[ocs, north], state.drained[ocs, north] = False, True
    state.lit[ocs, north] = False
    ocs, north, _ = current_circuits(state, body.made)
    state.lit[ocs, north] = True
    block_at = wiring_of(state.plant).block_at
    for block in sorted({int(block_at[port]) for circuit in (*body.removed, *made) for port in circuit[1:]}):
        touch(state, block)
    state.qualification_count += 1
    due_us = state.now_us + to_whole_us(state.qualify_s, US_PER_S)
    state.qualifications[state.qualification_count] = CircuitQualification(
        body.rewiring, body.stage, made, due_us, message.id
    )
    return report_trunks(state)


def on_tick(state: TrunksState, _tick: Tick, _message: Envelope) -> list[Output]:
    """Finish qualifications that are due, in the order in which their circuits were made."""
    done = sorted(
        number
        for number, qualification in state.qualifications.items()
        if qualification.due_us <= state.now_us
    )
    return [_qualify(state, state.qualifications.pop(number)) for number in done]


def _qualify(state: TrunksState, qualification: CircuitQualification) -> CausedBy:
    circuits = current_circuits(state, qualification.circuits)
    ocs, north, _ = circuits
    unfit = unfit_circuits(state, circuits)
    state.fit[ocs, north] = ~unfit
    touch_summary(state)
    dark = ~unfit & ~state.lit[ocs, north]

    def rows_of(which: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> tuple[tuple[int, int, int], ...]:
        rows = (part[which].tolist() for part in circuits)
        return tuple(zip(*rows, strict=True))

    body = CircuitsQualified(
        rewiring=qualification.rewiring, stage=qualification.stage, unfit=rows_of(unfit), dark=rows_of(dark)
    )
    return CausedBy(qualification.cause, body)


def on_undrained(state: TrunksState, body: StageUndrained, _message: Envelope) -> list[Output]:
    ocs, north, _ = current_circuits(state, body.circuits)
    state.drained[ocs, north] = False
    return report_trunks(state, planned=True)


def on_ocs_down(state: TrunksState, body: OcsDown, _message: Envelope) -> list[Output]:
    state.lit[body.ocs] = False
    return report_trunks(state)


def on_ocses_down(state: TrunksState, body: OcsesDown, _message: Envelope) -> list[Output]:
    state.lit[list(body.ocses)] = False
    return report_trunks(state)


def on_port_down(state: TrunksState, body: PortDown, _message: Envelope) -> list[Output]:
    if body.side == "N":
        state.lit[body.ocs, body.port] = False
    else:
        state.lit[body.ocs, state.south_of[body.ocs] == body.port] = False
    return report_trunks(state)


def on_port_patched(state: TrunksState, body: PortPatched, _message: Envelope) -> list[Output]:
    """Record a patch: the fibre uses another mirror, which determines the loss of its next circuit."""
    state.patched[port_place("NS".index(body.side), body.ocs, body.port)] = body.spare
    return []


def on_restored(state: TrunksState, body: CircuitsRestored, _message: Envelope) -> list[Output]:
    """Mark restored circuits as lit. They need no qualification, because their mirrors return to the same
    place."""
    ocs, north, _ = current_circuits(state, [(body.ocs, north, south) for north, south in body.circuits])
    state.lit[ocs, north] = True
    return report_trunks(state)


def on_fault_began(state: TrunksState, body: FaultBegan, _message: Envelope) -> list[Output]:
    return _count(state, body.kind, body.target, +1)


def on_fault_ended(state: TrunksState, body: FaultEnded, _message: Envelope) -> list[Output]:
    return _count(state, body.kind, body.target, -1)


def _count(state: TrunksState, kind: str, target: str, change: int) -> list[Output]:
    """Count a fault of a block or bundle. Emit a message with the first fault and with the end of the
    last."""
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
    change_message = NetworkPartDown(part=target) if change > 0 else NetworkPartUp(part=target)
    return [change_message, *report_trunks(state)]
