"""The rules of the repair shop: one open repair a part. Technicians take those first that keep OCSes from
their work, then the oldest; fibre technicians, of those of link ends, what is soonest done."""

from dataclasses import replace

from schemas.cubes import RepairRequested, RepairWithdrawn
from schemas.diagnosis import VerdictGiven, VerdictWithdrawn, Work
from schemas.envelope import Envelope
from schemas.names import FaultKind, number_of
from schemas.ocs import (
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
from schemas.repairs import (
    HandsOnBegun,
    PatchPort,
    RepairBegun,
    RepairCancelled,
    RepairCompleted,
    RepairFailed,
    RepairOpened,
)
from schemas.sequencer import Tick
from schemas.trunks import NetworkPartDown, NetworkPartUp
from services.repairs.state import BegunRepair, EndedRepair, Outcome, Repair, RepairsState
from shared.basics.keyed_random import draw_lognormal
from shared.basics.units import US_PER_HOUR, us
from shared.engine.ledger import keep_ended
from shared.engine.service import CausedBy, Output
from shared.models.faults import FAULTS, mean_repair_h
from shared.models.ocs.parts import PART, part_word
from shared.models.works import WORKS, hands_on_us


def due(state: RepairsState) -> int | None:
    """When the next technician is at a part, or done."""
    moments = [repair.ends_us for repair in state.begun.values() if not repair.asked]
    moments += [repair.hands_on_us for repair in state.begun.values() if repair.hands_on_us is not None]
    return min(moments, default=None)


def on_tick(state: RepairsState, _tick: Tick, _message: Envelope) -> list[Output]:
    done = sorted(
        (repair.ends_us, number)
        for number, repair in state.begun.items()
        if repair.ends_us <= state.now_us and not repair.asked
    )
    said: list[Output] = [_finish(state, number) for _, number in done]
    return [*said, *_begin_waiting(state), *_hands_on(state)]


def _hands_on(state: RepairsState) -> list[Output]:
    """Technicians who are at their parts by now, in order of time."""
    there = sorted(
        (repair.hands_on_us, number)
        for number, repair in state.begun.items()
        if repair.hands_on_us is not None and repair.hands_on_us <= state.now_us
    )
    return [_take_in_hand(state, number) for _, number in there]


def _take_in_hand(state: RepairsState, number: int) -> CausedBy:
    repair = replace(state.begun[number], hands_on_us=None)
    state.begun[number] = repair
    body = HandsOnBegun(
        repair=state.repair_name(number),
        target=repair.target,
        work=repair.work,
        technician=repair.technician,
    )
    return CausedBy(repair.cause, body)


def on_requested(state: RepairsState, body: RepairRequested, message: Envelope) -> list[Output]:
    return _open(state, body.kind, body.target, message.id)


def on_verdict(state: RepairsState, body: VerdictGiven, message: Envelope) -> list[Output]:
    """Act on it, right or wrong; what was done before for the same ends was in vain."""
    before = None if body.after is None else number_of(body.after)
    if before is not None and before in state.ended and not state.ended[before].in_vain:
        state.ended[before] = replace(state.ended[before], in_vain=True)
        state.in_vain += 1
        _touch(state, before)
    return _open(state, body.kind, body.target, message.id, body.work, body.verdict)


def on_verdict_withdrawn(state: RepairsState, body: VerdictWithdrawn, _message: Envelope) -> list[Output]:
    repair = _open_repair(state, body.target)
    if repair is None or repair.verdict != body.verdict:
        return []
    if not repair.needed:
        return _cancel(state, body.target)
    _put(state, replace(repair, verdict=None))
    return []


def on_ocs_part_down(state: RepairsState, body: OcsPartDown | PortsDown, message: Envelope) -> list[Output]:
    return _open(state, PART[part_word(body.part)].word, body.part, message.id)


def on_port_down(state: RepairsState, body: PortDown, message: Envelope) -> list[Output]:
    return _open(state, "port", _port_name(state, body), message.id)


def on_port_patched(state: RepairsState, body: PortPatched, _message: Envelope) -> list[Output]:
    """Its fibre is moved: that is the repair."""
    left = body.port if body.left is None else body.left
    number = state.open_targets.get(f"{state.fabric}/ocs-{body.ocs}/{body.side}{left}")
    if number is None or number not in state.begun:
        return []
    return [_complete(state, number), *_begin_waiting(state)]


def on_port_not_patched(state: RepairsState, body: PortNotPatched, _message: Envelope) -> list[Output]:
    number = number_of(body.repair)
    repair = state.begun.pop(number, None)
    if repair is None:
        return []
    state.failed += 1
    _end(state, number, repair, "failed", body.reason)
    failed = RepairFailed(
        repair=body.repair,
        target=repair.target,
        technician=repair.technician,
        waited_us=repair.began_us - repair.requested_us,
        took_us=state.now_us - repair.began_us,
        reason=body.reason,
    )
    return [CausedBy(repair.cause, failed), *_begin_waiting(state)]


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
    _put(state, replace(repair, needed=False))
    return []


def on_port_up(state: RepairsState, body: PortUp, _message: Envelope) -> list[Output]:
    return _cancel(state, _port_name(state, body))


def on_part_back(
    state: RepairsState,
    body: OcsPartUp | PortsUp | OcsesUp | ControlRegained | NetworkPartUp,
    _message: Envelope,
) -> list[Output]:
    return _cancel(state, body.part)


def _port_name(state: RepairsState, body: PortDown | PortUp) -> str:
    """Of the port whose mirror it is: a spare, where the fibre is at one."""
    return f"{state.fabric}/ocs-{body.ocs}/{body.side}{body.port if body.spare is None else body.spare}"


def _open(
    state: RepairsState,
    kind: FaultKind,
    target: str,
    cause: str,
    work: Work | None = None,
    verdict: str | None = None,
) -> list[Output]:
    """Ask for a repair, by the work that the kind of fault takes unless another is given; where one of the
    part is open, for more of it."""
    asked = Repair(
        kind, target, cause, state.now_us, work or FAULTS[kind].work, verdict, needed=verdict is None
    )
    known = _open_repair(state, target)
    if known is not None:
        _extend(state, known, asked)
        return []
    if len(state.queued) >= state.config.queue_max:
        state.dropped += 1
        return []
    number = state.opened
    state.opened += 1
    state.queued[number] = asked
    state.open_targets[target] = number
    _touch(state, number)
    opened = RepairOpened(repair=state.repair_name(number), kind=kind, target=target, work=asked.work)
    return [opened, *_begin_waiting(state)]


def _open_repair(state: RepairsState, target: str) -> Repair | BegunRepair | None:
    number = state.open_targets.get(target)
    return None if number is None else state.queued.get(number) or state.begun[number]


def _put(state: RepairsState, repair: Repair | BegunRepair) -> None:
    """Take over what has changed of an open repair."""
    number = state.open_targets[repair.target]
    if isinstance(repair, BegunRepair):
        state.begun[number] = repair
    else:
        state.queued[number] = repair
    _touch(state, number)


def _extend(state: RepairsState, known: Repair | BegunRepair, asked: Repair) -> None:
    """Another reason for a repair that is open. If it takes more thorough work than was asked for, that is
    done instead: a technician who is at it has so long from now on."""
    found = replace(known, verdict=known.verdict or asked.verdict, needed=known.needed or asked.needed)
    if WORKS[asked.work].depth > WORKS[known.work].depth:
        found = replace(found, kind=asked.kind, work=asked.work)
        if isinstance(found, BegunRepair):
            number = state.open_targets[known.target]
            ends_us = max(found.ends_us, state.now_us + _work_us(state, number, asked))
            # Who has the part in hand already goes on with it.
            hands_us = None if found.hands_on_us is None else _hands_on_us(state, asked.work, ends_us)
            found = replace(found, ends_us=ends_us, hands_on_us=hands_us)
    _put(state, found)


def _begin_waiting(state: RepairsState) -> list[Output]:
    """Give every free technician a repair, fibre technicians first, the lowest number first.

    A repair begins because it was asked for, however long it had to wait: that is what `why` should tell.
    """
    said: list[Output] = []
    while state.queued and (chosen := _next(state)) is not None:
        number, technician = chosen
        repair = state.queued.pop(number)
        ends_us = state.now_us + _work_us(state, number, repair)
        state.begun[number] = BegunRepair(
            kind=repair.kind,
            target=repair.target,
            cause=repair.cause,
            requested_us=repair.requested_us,
            work=repair.work,
            verdict=repair.verdict,
            needed=repair.needed,
            technician=technician,
            began_us=state.now_us,
            ends_us=ends_us,
            hands_on_us=_hands_on_us(state, repair.work, ends_us),
        )
        _touch(state, number)
        begun = RepairBegun(repair=state.repair_name(number), target=repair.target, technician=technician)
        said.append(CausedBy(repair.cause, begun))
        if state.begun[number].hands_on_us == state.now_us:
            said.append(_take_in_hand(state, number))
    return said


def _next(state: RepairsState) -> tuple[int, int] | None:
    """(repair, technician) of the next to begin; None while nobody is free for anything that waits.

    Nobody is idle while there is work that he can do. Fibre technicians, numbered after the others, take what
    is soonest done, so that cleaning an hour long does not wait for a batch of modules to be replaced. The
    others take the oldest, by which replacing never waits for ever.
    """
    many = state.config.technicians
    if len(state.begun) >= many + state.fibre_technicians:
        return None
    busy = {repair.technician for repair in state.begun.values()}
    of_fibres = next((t for t in range(many, many + state.fibre_technicians) if t not in busy), None)
    if of_fibres is not None:
        waiting = [number for number, repair in state.queued.items() if WORKS[repair.work].at_fibres]
        if waiting:
            return min(waiting, key=lambda n: (_mean_h(state, state.queued[n]), n)), of_fibres
    of_all = next((t for t in range(many) if t not in busy), None)
    if of_all is None:
        return None
    return min(state.queued, key=lambda n: (FAULTS[state.queued[n].kind].rank, n)), of_all


def _hands_on_us(state: RepairsState, work: Work, ends_us: int) -> int | None:
    """When the technician is at the part: the way there, and all that has to be found out, comes first."""
    last_us = hands_on_us(work)
    return None if last_us is None else max(state.now_us, ends_us - last_us)


def _mean_h(state: RepairsState, repair: Repair) -> float:
    hours = WORKS[repair.work].hours
    return mean_repair_h(repair.kind, state.config) if hours is None else float(getattr(state.config, hours))


def _work_us(state: RepairsState, number: int, repair: Repair) -> int:
    """How long the work takes: log-normal, drawn once a repair."""
    hours = draw_lognormal(
        state.seed,
        state.fabric,
        "repair time",
        number,
        _mean_h(state, repair),
        state.config.repair_sigma,
    )
    return us(hours, US_PER_HOUR)


def _finish(state: RepairsState, number: int) -> CausedBy:
    """The work is done. A mirror is never mended in the field: its fibre is moved to a spare port, if the OCS
    finds one, and until it has said so the repair is not completed."""
    repair = state.begun[number]
    if repair.kind != "port":
        return _complete(state, number)
    state.begun[number] = replace(repair, asked=True)
    ocs, _, port = repair.target.rpartition("/")
    body = PatchPort.model_validate(
        {
            "repair": state.repair_name(number),
            "ocs": number_of(ocs),
            "side": port[0],
            "port": int(port[1:]),
        }
    )
    return CausedBy(repair.cause, body)


def _complete(state: RepairsState, number: int) -> CausedBy:
    repair = state.begun.pop(number)
    state.completed += 1
    _end(state, number, repair, "completed")
    body = RepairCompleted(
        repair=state.repair_name(number),
        target=repair.target,
        work=repair.work,
        technician=repair.technician,
        waited_us=repair.began_us - repair.requested_us,
        took_us=state.now_us - repair.began_us,
    )
    return CausedBy(repair.cause, body)


def _cancel(state: RepairsState, target: str) -> list[Output]:
    """The part works again. No news if no repair of it is open: then it works because it was repaired."""
    number = state.open_targets.get(target)
    if number is None:
        return []
    repair = state.queued.pop(number, None) or state.begun.pop(number)
    state.cancelled += 1
    _end(state, number, repair, "cancelled")
    cancelled = RepairCancelled(repair=state.repair_name(number), target=target)
    return [cancelled, *_begin_waiting(state)]


def _end(
    state: RepairsState, number: int, repair: Repair, outcome: Outcome, reason: str | None = None
) -> None:
    begun = repair if isinstance(repair, BegunRepair) else None
    ended = EndedRepair(
        kind=repair.kind,
        target=repair.target,
        cause=repair.cause,
        requested_us=repair.requested_us,
        work=repair.work,
        verdict=repair.verdict,
        needed=repair.needed,
        technician=begun.technician if begun else None,
        began_us=begun.began_us if begun else None,
        ended_us=state.now_us,
        outcome=outcome,
        reason=reason,
    )
    del state.open_targets[repair.target]
    _touch(state, number)
    forgotten = keep_ended(state.ended, number, ended)
    if forgotten is not None:
        _touch(state, forgotten)


def _touch(state: RepairsState, number: int) -> None:
    state.touched.add(("repairs", state.repair_name(number)))
    state.touched.add(("summaries", f"{state.fabric}/repairs"))
