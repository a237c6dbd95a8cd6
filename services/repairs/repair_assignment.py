"""Assignment of repairs to technicians of two trades, round the clock or in shifts.

`repair_priority` chooses the repair. Work that is not done at the end of a shift continues in the next.
"""

from dataclasses import replace

from schemas.messages.diagnosis import RepairWork
from schemas.messages.repairs import HandsOnBegun, RepairBegun
from services.repairs import spares
from services.repairs.completion import touch
from services.repairs.repair_priority import mean_work_h, next_assignment, shift_of
from services.repairs.state import BegunRepair, Repair, RepairsState, request_fields
from shared.basics.keyed_random import draw_lognormal
from shared.basics.units import US_PER_HOUR, to_whole_us
from shared.engine.service import CausedBy, Output
from shared.models.faults.repair_work import hands_on_us


def start_waiting_repairs(state: RepairsState) -> list[Output]:
    """Assign repairs to free technicians, fibre technicians first, then by number.

    The cause of a started repair is its request, however long it has waited, so that `why` shows it.
    """
    spares.receive(state)
    emitted: list[Output] = []
    while state.queued and (assignment := next_assignment(state)) is not None:
        number, technician = assignment
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
    """Start hands-on work of technicians who have reached their parts, in order of time."""
    there = sorted(
        (repair.hands_on_us, number)
        for number, repair in state.begun.items()
        if repair.hands_on_us is not None and repair.hands_on_us <= state.now_us
    )
    return [_start_hands_on(state, number) for _, number in there]


def extend_repair(state: RepairsState, number: int, repair: BegunRepair, more: Repair) -> BegunRepair:
    """Extend a repair in work by more work. A technician who already has the part continues with it."""
    work_us = _work_us(state, number, more)
    ends_us, hands_us = _repair_times(state, repair.technician, more.work, work_us)
    if ends_us < repair.ends_us:
        last_us = hands_on_us(more.work)
        ends_us = repair.ends_us
        hands_us = None if last_us is None else max(state.now_us, ends_us - last_us)
    return replace(repair, ends_us=ends_us, hands_on_us=None if repair.hands_on_us is None else hands_us)


def next_shift_us(state: RepairsState) -> int | None:
    """The time of the next shift that may start queued repairs; None if nothing is queued or there are no
    shifts."""
    shift = shift_of(state)
    if shift is None or not state.queued:
        return None
    if shift.is_on(state.now_us):
        # A request at the start of a shift may arrive before the rule that assigns it.
        return None if next_assignment(state) is None else state.now_us
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


def _repair_times(
    state: RepairsState, technician: int, work: RepairWork, work_us: int
) -> tuple[int, int | None]:
    """(end of work that starts now, start of hands-on work).

    The way to the part and the search for the fault come first. The second is None for work that leaves the
    part as it is.
    """
    last_us = hands_on_us(work)
    hands_us = None if last_us is None else max(0, work_us - last_us)
    shift = None if _is_round_the_clock(state, technician) else shift_of(state)
    if shift is None:
        return state.now_us + work_us, None if hands_us is None else state.now_us + hands_us
    return (
        shift.after(state.now_us, work_us),
        None if hands_us is None else shift.after(state.now_us, hands_us),
    )


def _is_round_the_clock(state: RepairsState, technician: int) -> bool:
    general = state.config.technicians
    name, first = ("off_hours_technicians", 0)
    if technician >= general:
        name, first = ("off_hours_fibre_technicians", general)
    off_hours: int | None = state.config.value_or(name, None)
    return off_hours is None or technician - first < off_hours


def _work_us(state: RepairsState, number: int, repair: Repair) -> int:
    """Duration of the work: log-normal, drawn once for each repair and try."""
    purpose = "repair time" if not repair.tries else f"repair time, try {repair.tries}"
    mean_h, sigma = mean_work_h(state, repair), state.config.repair_sigma
    return to_whole_us(draw_lognormal(state.seed, state.fabric, purpose, number, mean_h, sigma), US_PER_HOUR)
