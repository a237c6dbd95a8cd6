"""Rules of the repair shop: each part has one open repair, for as long as its repair is requested."""

from dataclasses import replace

from schemas.envelope import Envelope
from schemas.messages.cubes import RepairRequested, RepairWithdrawn
from schemas.messages.diagnosis import RepairWork, VerdictGiven, VerdictWithdrawn
from schemas.messages.failures import ParametersChanged
from schemas.messages.ocs import (
    ControlLost,
    ControlRegained,
    OcsesDown,
    OcsesUp,
    OcsPartDown,
    OcsPartUp,
    PortDown,
    PortNotPatched,
    PortPatched,
    PortsDown,
    PortsUp,
    PortUp,
)
from schemas.messages.repairs import RepairOpened
from schemas.messages.sequencer import Tick
from schemas.messages.trunks import NetworkPartDown, NetworkPartUp
from schemas.names import FaultKind, number_of
from services.repairs import spares
from services.repairs.completion import cancel_repair, complete, fail, finish_test, finish_work, touch
from services.repairs.repair_assignment import (
    extend_repair,
    next_shift_us,
    start_hands_on,
    start_waiting_repairs,
)
from services.repairs.state import BegunRepair, Repair, RepairsState
from shared.engine.service import Output
from shared.models.faults.fault_kinds import FAULTS
from shared.models.faults.repair_work import WORK_DEFINITIONS
from shared.models.ocs.parts import PART, part_word


def due(state: RepairsState) -> int | None:
    """The time at which a technician reaches a part or is done, a test ends, or a shift or spare arrives
    that a repair waits for."""
    times_us = [repair.ends_us for repair in state.begun.values() if not repair.requested]
    times_us += [repair.hands_on_us for repair in state.begun.values() if repair.hands_on_us is not None]
    times_us += [repair.ends_us for repair in state.tested.values()]
    times_us += [
        at_us for at_us in (next_shift_us(state), spares.next_delivery_us(state)) if at_us is not None
    ]
    return min(times_us, default=None)


def on_tick(state: RepairsState, _tick: Tick, _message: Envelope) -> list[Output]:
    over = sorted((repair.ends_us, number) for number, repair in state.tested.items())
    emitted: list[Output] = [finish_test(state, number) for at_us, number in over if at_us <= state.now_us]
    done = sorted(
        (repair.ends_us, number)
        for number, repair in state.begun.items()
        if repair.ends_us <= state.now_us and not repair.requested
    )
    emitted += [finish_work(state, number) for _, number in done]
    return [*emitted, *start_waiting_repairs(state), *start_hands_on(state)]


def on_parameters_changed(state: RepairsState, body: ParametersChanged, _message: Envelope) -> list[Output]:
    """Apply changed parameters to repairs that start from now on.

    With more technicians or spares, waiting repairs may start at once. With fewer technicians, the surplus
    ones finish their current work.
    """
    changed = body.of("repairs")
    if not changed:
        return []
    before, state.config = state.config, state.config.model_copy(update=changed)
    spares.change_stocks(state, before)
    return start_waiting_repairs(state)


def on_requested(state: RepairsState, body: RepairRequested, message: Envelope) -> list[Output]:
    return _open(state, body.kind, body.target, message.id)


def on_verdict(state: RepairsState, body: VerdictGiven, message: Envelope) -> list[Output]:
    """Open a repair for a verdict. The earlier repair of the same ends, if any, was ineffective."""
    before = None if body.after is None else number_of(body.after)
    if before is not None and before in state.ended and not state.ended[before].ineffective:
        state.ended[before] = replace(state.ended[before], ineffective=True)
        state.ineffective += 1
        touch(state, before)
    return _open(state, body.kind, body.target, message.id, body.work, body.verdict)


def on_verdict_withdrawn(state: RepairsState, body: VerdictWithdrawn, _message: Envelope) -> list[Output]:
    repair = _open_repair(state, body.target)
    if repair is None or repair.verdict != body.verdict:
        return []
    if not repair.needed:
        return _cancel(state, body.target)
    _store(state, replace(repair, verdict=None))
    return []


def on_ocs_part_down(state: RepairsState, body: OcsPartDown | PortsDown, message: Envelope) -> list[Output]:
    return _open(state, PART[part_word(body.part)].word, body.part, message.id)


def on_port_down(state: RepairsState, body: PortDown, message: Envelope) -> list[Output]:
    return _open(state, "port", _port_name(state, body), message.id)


def on_port_patched(state: RepairsState, body: PortPatched, _message: Envelope) -> list[Output]:
    """Complete the repair of a port: its fibre was moved."""
    left = body.port if body.left is None else body.left
    number = state.open_targets.get(f"{state.fabric}/ocs-{body.ocs}/{body.side}{left}")
    if number is None or number not in state.begun:
        return []
    return [complete(state, number), *start_waiting_repairs(state)]


def on_port_not_patched(state: RepairsState, body: PortNotPatched, _message: Envelope) -> list[Output]:
    number = number_of(body.repair)
    if number not in state.begun:
        return []
    return [fail(state, number, body.reason), *start_waiting_repairs(state)]


def on_ocses_down(state: RepairsState, body: OcsesDown, message: Envelope) -> list[Output]:
    return _open(state, body.kind, body.part, message.id)


def on_control_lost(state: RepairsState, body: ControlLost, message: Envelope) -> list[Output]:
    return _open(state, "control", body.part, message.id)


def on_network_part_down(state: RepairsState, body: NetworkPartDown, message: Envelope) -> list[Output]:
    return _open(state, "bundle" if "/bundle-" in body.part else "block", body.part, message.id)


def on_withdrawn(state: RepairsState, body: RepairWithdrawn, _message: Envelope) -> list[Output]:
    repair = _open_repair(state, body.target)
    if repair is None or repair.verdict is None:
        return _cancel(state, body.target)
    _store(state, replace(repair, needed=False))
    return []


def on_port_up(state: RepairsState, body: PortUp, _message: Envelope) -> list[Output]:
    return _cancel(state, _port_name(state, body))


def on_part_up(
    state: RepairsState,
    body: OcsPartUp | PortsUp | OcsesUp | ControlRegained | NetworkPartUp,
    _message: Envelope,
) -> list[Output]:
    return _cancel(state, body.part)


def _port_name(state: RepairsState, body: PortDown | PortUp) -> str:
    """The name of the physical port: the spare port if the fibre was moved."""
    return f"{state.fabric}/ocs-{body.ocs}/{body.side}{body.port if body.spare is None else body.spare}"


def _open(
    state: RepairsState,
    kind: FaultKind,
    target: str,
    cause: str,
    work: RepairWork | None = None,
    verdict: str | None = None,
) -> list[Output]:
    """Open a repair, by the usual work for this kind of fault unless `work` is given.

    If a repair of the part is already open, it is extended.
    """
    requested = Repair(
        kind, target, cause, state.now_us, work or FAULTS[kind].work, verdict, needed=verdict is None
    )
    known = _open_repair(state, target)
    if known is not None:
        _extend(state, known, requested)
        return []
    if len(state.queued) >= state.config.queue_max:
        state.dropped += 1
        return []
    number = state.opened
    state.opened += 1
    state.queued[number] = requested
    state.open_targets[target] = number
    touch(state, number)
    opened = RepairOpened(repair=state.repair_name(number), kind=kind, target=target, work=requested.work)
    return [opened, *start_waiting_repairs(state)]


def _open_repair(state: RepairsState, target: str) -> Repair | BegunRepair | None:
    number = state.open_targets.get(target)
    if number is None:
        return None
    return state.queued.get(number) or state.begun.get(number) or state.tested[number]


def _store(state: RepairsState, repair: Repair | BegunRepair) -> None:
    """Store a changed open repair."""
    number = state.open_targets[repair.target]
    if not isinstance(repair, BegunRepair):
        state.queued[number] = repair
    elif number in state.begun:
        state.begun[number] = repair
    else:
        state.tested[number] = repair
    touch(state, number)


def _extend(state: RepairsState, known: Repair | BegunRepair, requested: Repair) -> None:
    """Add another reason to an open repair.

    If it needs more thorough work than requested before, that work is done instead, and the technician starts
    it now.
    """
    extended = replace(
        known, verdict=known.verdict or requested.verdict, needed=known.needed or requested.needed
    )
    if WORK_DEFINITIONS[requested.work].depth > WORK_DEFINITIONS[known.work].depth:
        number = state.open_targets[known.target]
        extended = replace(extended, kind=requested.kind, work=requested.work)
        if isinstance(extended, BegunRepair) and number in state.begun:
            extended = extend_repair(state, number, extended, requested)
            if spares.stock_of(state, known) != spares.stock_of(state, extended):
                spares.put_back(state, known)
                spares.take(state, extended)
    _store(state, extended)


def _cancel(state: RepairsState, target: str) -> list[Output]:
    """Cancel the open repair of a part that works again. Without one it works because it was repaired."""
    number = state.open_targets.get(target)
    if number is None:
        return []
    return [cancel_repair(state, number), *start_waiting_repairs(state)]
