"""Who does which repair, and until when: technicians of two trades, round the clock or in shifts.

Technicians take those first that keep OCSes from their work, then the oldest; fibre technicians, of those of
link ends, what is soonest done. Work that is not done when a shift ends is gone on with in the next.
"""

from collections.abc import Iterable
from dataclasses import replace

from schemas.config.repairs import RepairsConfig
from schemas.messages.diagnosis import RepairWork
from schemas.messages.repairs import HandsOnBegun, RepairBegun
from services.repairs import spares
from services.repairs.completion import touch
from services.repairs.state import BegunRepair, Repair, RepairsState, request_fields
from shared.basics.keyed_random import draw_lognormal
from shared.basics.units import US_PER_HOUR, to_whole_us
from shared.engine.service import CausedBy, Output
from shared.models.faults.fault_kinds import FAULTS, mean_repair_h
from shared.models.faults.repair_work import WORK_DEFINITIONS, hands_on_us
from shared.models.faults.shifts import Shift


def start_waiting_repairs(state: RepairsState) -> list[Output]:
    """Give every free technician a repair, fibre technicians first, the lowest number first.

    A repair begins because it was asked for, however long it had to wait: that is what `why` should tell.
    """
    spares.receive(state)
    emitted: list[Output] = []
    while state.queued and (chosen := _next_assignment(state)) is not None:
        number, technician = chosen
        repair = state.queued.pop(number)
        spares.take(state, repair)
        ends_us, hands_us = _repair_times(state, technician, repair.work, _work_us(state, number, repair))
        state.begun[number] = BegunRepair(
            **request_fields(repair),
            technician=technician,
            began_us=state.now_us,
            ends_us=ends_us,
            hands_on_us=hands_us,
        )
        touch(state, number)
        begun = RepairBegun(repair=state.repair_name(number), target=repair.target, technician=technician)
        emitted.append(CausedBy(repair.cause, begun))
        if hands_us == state.now_us:
            emitted.append(_start_hands_on(state, number))
    return emitted


def start_hands_on(state: RepairsState) -> list[Output]:
    """Technicians who are at their parts by now, in order of time."""
    there = sorted(
        (repair.hands_on_us, number)
        for number, repair in state.begun.items()
        if repair.hands_on_us is not None and repair.hands_on_us <= state.now_us
    )
    return [_start_hands_on(state, number) for _, number in there]


def extend_repair(state: RepairsState, number: int, repair: BegunRepair, more: Repair) -> BegunRepair:
    """A repair in work of which more is asked now. Who has the part in hand already goes on with it."""
    work_us = _work_us(state, number, more)
    ends_us, hands_us = _repair_times(state, repair.technician, more.work, work_us)
    if ends_us < repair.ends_us:
        last_us = hands_on_us(more.work)
        ends_us = repair.ends_us
        hands_us = None if last_us is None else max(state.now_us, ends_us - last_us)
    return replace(repair, ends_us=ends_us, hands_on_us=None if repair.hands_on_us is None else hands_us)


def next_shift_us(state: RepairsState) -> int | None:
    """When somebody comes who may begin what waits; None while nothing waits, or nobody is at home."""
    shift = _shift_of(state)
    if shift is None or not state.queued:
        return None
    if shift.is_on(state.now_us):
        # What was said as the shift began may have come before whoever was to begin.
        return None if _next_assignment(state) is None else state.now_us
    return shift.next_start(state.now_us)


def _start_hands_on(state: RepairsState, number: int) -> CausedBy:
    repair = replace(state.begun[number], hands_on_us=None)
    state.begun[number] = repair
    body = HandsOnBegun(
        repair=state.repair_name(number),
        target=repair.target,
        work=repair.work,
        technician=repair.technician,
    )
    return CausedBy(repair.cause, body)


def _next_assignment(state: RepairsState) -> tuple[int, int] | None:
    """(repair, technician) of the next to begin; None while nobody is free for anything that waits.

    Nobody is idle while there is work that he can do. Fibre technicians, numbered after the others, take what
    is soonest done, so that cleaning an hour long does not wait for a batch of modules to be replaced. The
    others take the oldest, by which replacing never waits for ever.
    """
    many, of_fibres = state.config.technicians, state.fibre_technicians
    if len(state.begun) >= many + of_fibres:
        return None
    waiting = [number for number, repair in state.queued.items() if spares.is_in_stock(state, repair)]
    one = _free_technician(state, range(many, many + of_fibres), "off_hours_fibre_technicians")
    if one is not None:
        at_link_ends = [
            number for number in waiting if WORK_DEFINITIONS[state.queued[number].work].at_link_ends
        ]
        if at_link_ends:
            return min(at_link_ends, key=lambda n: (_mean_h(state, state.queued[n]), n)), one
    one = _free_technician(state, range(many), "off_hours_technicians")
    if one is None or not waiting:
        return None
    return min(waiting, key=lambda n: (FAULTS[state.queued[n].kind].rank, n)), one


def _free_technician(state: RepairsState, trade: range, off_hours: str) -> int | None:
    """The first of a trade who is at work now, and at no repair."""
    busy = {repair.technician for repair in state.begun.values()}
    return next((one for one in _on_duty(state, trade, off_hours) if one not in busy), None)


def _on_duty(state: RepairsState, trade: range, off_hours: str) -> Iterable[int]:
    many = getattr(state.config, off_hours, None)
    shift = _shift_of(state)
    return trade if many is None or shift is None or shift.is_on(state.now_us) else trade[:many]


def _shift_of(state: RepairsState) -> Shift | None:
    """Of those who do not work round the clock; None where all do."""
    config = state.config
    if not isinstance(config, RepairsConfig):
        return None
    if config.off_hours_technicians is None and config.off_hours_fibre_technicians is None:
        return None
    return Shift(config.shift_begins_h, config.shift_ends_h)


def _repair_times(
    state: RepairsState, technician: int, work: RepairWork, work_us: int
) -> tuple[int, int | None]:
    """(when work that is begun now is done, when the technician is at the part): the way there, and all that
    has to be found out, comes first. The last one is None for work that leaves the part as it is."""
    last_us = hands_on_us(work)
    hands_us = None if last_us is None else max(0, work_us - last_us)
    shift = None if _is_round_the_clock(state, technician) else _shift_of(state)
    if shift is None:
        return state.now_us + work_us, None if hands_us is None else state.now_us + hands_us
    return (
        shift.after(state.now_us, work_us),
        None if hands_us is None else shift.after(state.now_us, hands_us),
    )


def _is_round_the_clock(state: RepairsState, technician: int) -> bool:
    many = state.config.technicians
    name, first = ("off_hours_technicians", 0)
    if technician >= many:
        name, first = ("off_hours_fibre_technicians", many)
    off_hours = getattr(state.config, name, None)
    return off_hours is None or technician - first < off_hours


def _mean_h(state: RepairsState, repair: Repair) -> float:
    hours = WORK_DEFINITIONS[repair.work].hours
    return mean_repair_h(repair.kind, state.config) if hours is None else float(getattr(state.config, hours))


def _work_us(state: RepairsState, number: int, repair: Repair) -> int:
    """How long the work takes: log-normal, drawn once a repair and try."""
    purpose = "repair time" if not repair.tries else f"repair time, try {repair.tries}"
    mean_h, sigma = _mean_h(state, repair), state.config.repair_sigma
    return to_whole_us(draw_lognormal(state.seed, state.fabric, purpose, number, mean_h, sigma), US_PER_HOUR)
