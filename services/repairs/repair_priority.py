"""Repair priority: which repair comes first when a technician is free.

General technicians take repairs that keep OCSes from working first (`repair_priority` of the kind of fault),
then the oldest. Fibre technicians take the shortest repair of a link end.
"""

from collections.abc import Iterable

from services.repairs import spares
from services.repairs.state import Repair, RepairsState
from shared.models.faults.fault_kinds import FAULTS, mean_repair_h
from shared.models.faults.repair_work import WORK_DEFINITIONS
from shared.models.faults.shifts import Shift


def next_assignment(state: RepairsState) -> tuple[int, int] | None:
    """(repair, technician) of the next assignment; None if no technician is free for any queued repair.

    No technician is idle while there is work for the trade. Fibre technicians have the higher numbers. They
    take the shortest repair, so that an hour of cleaning does not wait for a batch of replacements. The other
    technicians take the oldest, so that replacements never wait forever.
    """
    general, fibre = state.config.technicians, state.fibre_technicians
    if len(state.begun) >= general + fibre:
        return None
    waiting = spares.queued_in_stock(state)
    technician = _free_technician(state, range(general, general + fibre), "off_hours_fibre_technicians")
    if technician is not None:
        at_link_ends = [
            number for number in waiting if WORK_DEFINITIONS[state.queued[number].work].at_link_ends
        ]
        if at_link_ends:
            return min(at_link_ends, key=lambda n: (mean_work_h(state, state.queued[n]), n)), technician
    technician = _free_technician(state, range(general), "off_hours_technicians")
    if technician is None or not waiting:
        return None
    return min(waiting, key=lambda n: (FAULTS[state.queued[n].kind].repair_priority, n)), technician


def _free_technician(state: RepairsState, trade: range, off_hours: str) -> int | None:
    """The first technician of a trade who is on duty and free."""
    busy = {repair.technician for repair in state.begun.values()}
    return next((number for number in _on_duty(state, trade, off_hours) if number not in busy), None)


def _on_duty(state: RepairsState, trade: range, off_hours: str) -> Iterable[int]:
    on_call: int | None = state.config.value_or(off_hours, None)
    shift = shift_of(state)
    return trade if on_call is None or shift is None or shift.is_on(state.now_us) else trade[:on_call]


def shift_of(state: RepairsState) -> Shift | None:
    """The shift of technicians who do not work round the clock; None if all do."""
    config = state.config
    off_hours = ("off_hours_technicians", "off_hours_fibre_technicians")
    if all(config.value_or(name, None) is None for name in off_hours):
        return None
    return Shift(config.value_or("shift_begins_h", 0.0), config.value_or("shift_ends_h", 24.0))


def mean_work_h(state: RepairsState, repair: Repair) -> float:
    hours = WORK_DEFINITIONS[repair.work].hours
    return mean_repair_h(repair.kind, state.config) if hours is None else float(getattr(state.config, hours))
