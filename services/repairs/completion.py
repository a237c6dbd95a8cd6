"""How repairs end: completed, repeated, cancelled or failed."""

from dataclasses import replace

from schemas.messages.repairs import (
    BurnInBegun,
    PatchPort,
    RepairCancelled,
    RepairCompleted,
    RepairFailed,
    RepairRepeated,
)
from schemas.names import FaultKind, number_of
from services.repairs import spares
from services.repairs.state import (
    BegunRepair,
    EndedRepair,
    Repair,
    RepairOutcome,
    RepairsState,
    request_fields,
)
from shared.basics.keyed_random import draw_uniform
from shared.basics.units import US_PER_HOUR
from shared.engine.ended_rows import add_ended
from shared.engine.service import CausedBy

BURN_IN_KINDS: tuple[FaultKind, ...] = ("host", "chip", "cable")
"""Kinds of faults whose repair is followed by a burn-in of the host."""


def finish_work(state: RepairsState, number: int) -> CausedBy:
    """Finish the work on a repair.

    A mirror is never repaired in the field: its fibre is moved to a spare port, if the OCS finds one. The
    repair is completed only when the OCS has replied.
    """
    repair = state.begun[number]
    if repair.kind == "port":
        state.begun[number] = replace(repair, requested=True)
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
    spares.order(state, repair)
    burn_in_us = _burn_in_us(state, repair)
    if not burn_in_us:
        return finish_test(state, number)
    del state.begun[number]
    state.tested[number] = replace(repair, ends_us=state.now_us + burn_in_us, hands_on_us=None)
    touch(state, number)
    begun = BurnInBegun(repair=state.repair_name(number), target=repair.target, technician=repair.technician)
    return CausedBy(repair.cause, begun)


def finish_test(state: RepairsState, number: int) -> CausedBy:
    """Evaluate the test after the work: complete the repair, or queue it again if the wrong part was
    repaired."""
    repair = state.tested.get(number) or state.begun[number]
    if not _is_misdiagnosed(state, number, repair):
        return complete(state, number)
    _remove_from_tables(state, number)
    tries = repair.tries + 1
    state.queued[number] = Repair(**request_fields(repair) | {"tries": tries})
    touch(state, number)
    repeated = RepairRepeated(repair=state.repair_name(number), target=repair.target, tries=tries)
    return CausedBy(repair.cause, repeated)


def complete(state: RepairsState, number: int) -> CausedBy:
    """Complete a repair. The part works as far as the shop can tell."""
    repair = _remove_from_tables(state, number)
    state.completed += 1
    _record_end(state, number, repair, "completed")
    body = RepairCompleted(
        repair=state.repair_name(number),
        target=repair.target,
        work=repair.work,
        technician=repair.technician,
        waited_us=repair.began_us - repair.requested_us,
        took_us=state.now_us - repair.began_us,
    )
    return CausedBy(repair.cause, body)


def fail(state: RepairsState, number: int, reason: str) -> CausedBy:
    """End a repair without success."""
    repair = state.begun.pop(number)
    state.failed += 1
    _record_end(state, number, repair, "failed", reason)
    failed = RepairFailed(
        repair=state.repair_name(number),
        target=repair.target,
        technician=repair.technician,
        waited_us=repair.began_us - repair.requested_us,
        took_us=state.now_us - repair.began_us,
        reason=reason,
    )
    return CausedBy(repair.cause, failed)


def cancel_repair(state: RepairsState, number: int) -> RepairCancelled:
    """Cancel a repair, because the part works again or is not the cause.

    A spare that was taken for it is put back, unless it is already built in.
    """
    repair = state.queued.pop(number, None)
    if repair is None and number in state.begun:
        repair = state.begun.pop(number)
        spares.put_back(state, repair)
    repair = repair or state.tested.pop(number)
    state.cancelled += 1
    _record_end(state, number, repair, "cancelled")
    return RepairCancelled(repair=state.repair_name(number), target=repair.target)


def touch(state: RepairsState, number: int) -> None:
    """Mark the documents of the repair and the summary as changed."""
    state.changed_documents.add(("repairs", state.repair_name(number)))
    state.changed_documents.add(("summaries", f"{state.fabric}/repairs"))


def _remove_from_tables(state: RepairsState, number: int) -> BegunRepair:
    """Remove a repair from the table that it is in."""
    return state.tested.pop(number, None) or state.begun.pop(number)


def _burn_in_us(state: RepairsState, repair: Repair) -> int:
    hours = state.config.value_or("burn_in_h", 0.0) if repair.kind in BURN_IN_KINDS else 0.0
    return round(hours * US_PER_HOUR)


def _is_misdiagnosed(state: RepairsState, number: int, repair: BegunRepair) -> bool:
    """Whether the wrong part was repaired. For fibres and mirrors diagnosis finds this out, not the shop."""
    share = state.config.value_or("misdiagnosed", 0.0)
    if not share or repair.work != "mend":
        return False
    drawn = draw_uniform(state.seed, state.repair_name(number), "misdiagnosed", repair.tries)
    return drawn < share


def _record_end(
    state: RepairsState, number: int, repair: Repair, outcome: RepairOutcome, reason: str | None = None
) -> None:
    begun = repair if isinstance(repair, BegunRepair) else None
    ended = EndedRepair(
        **request_fields(repair),
        technician=begun.technician if begun else None,
        began_us=begun.began_us if begun else None,
        ended_us=state.now_us,
        outcome=outcome,
        reason=reason,
    )
    del state.open_targets[repair.target]
    touch(state, number)
    forgotten = add_ended(state.ended, number, ended)
    if forgotten is not None:
        touch(state, forgotten)
