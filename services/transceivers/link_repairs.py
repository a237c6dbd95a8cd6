"""Repairs at link ends. While a technician works on an end, its link has no light."""

from dataclasses import replace

from schemas.envelope import Envelope
from schemas.messages.repairs import HandsOnBegun, RepairCancelled, RepairCompleted, RepairFailed
from services.transceivers.end_faults import evaluate_ends
from services.transceivers.modules import replace_module
from services.transceivers.state import TransceiversState
from shared.engine.service import Output
from shared.models.fabric_plants import plant_of
from shared.models.faults.repair_work import covers


def on_hands_on_begun(state: TransceiversState, body: HandsOnBegun, message: Envelope) -> list[Output]:
    """Take the link down at both ends: the connector is unplugged for every kind of work."""
    end = _end_of(state, body.target)
    if end is None:
        return []
    state.worked_on[end] = body.repair
    return evaluate_ends(state, (end,), message.id)


def on_repair_completed(state: TransceiversState, body: RepairCompleted, message: Envelope) -> list[Output]:
    """Reset the counters of a repaired end. A replaced module is new and not from a bad batch."""
    end = _end_of(state, body.target)
    if end is None:
        return []
    state.outages.pop(end, None)
    is_changed = state.worked_on.pop(end, None) is not None
    if covers(body.work, "replace"):
        _remove_from_batches(state, end)
        replace_module(state, end)
        is_changed = True
    return evaluate_ends(state, (end,), message.id) if is_changed else []


def on_repair_ended(
    state: TransceiversState, body: RepairCancelled | RepairFailed, message: Envelope
) -> list[Output]:
    """End a repair without effect: the end is plugged in again."""
    end = _end_of(state, body.target) if state.worked_on else None
    if end is None or state.worked_on.pop(end, None) is None:
        return []
    return evaluate_ends(state, (end,), message.id)


def _end_of(state: TransceiversState, target: str) -> int | None:
    """The number of the link end with this name; None for any other part."""
    plant = plant_of(state.kind, state.pod)
    part = plant.parse(target)
    return part.number if part.kind == plant.ends.kind else None


def _remove_from_batches(state: TransceiversState, end: int) -> None:
    """Remove an end from bad batches, because its module was replaced."""
    batches = [name for name, fault in state.faults.items() if fault.kind == "batch" and end in fault.ends]
    for name in batches:
        fault = state.faults[name]
        state.faults[name] = replace(fault, ends=tuple(other for other in fault.ends if other != end))
