"""What technicians do at link ends: while one has an end in hand it has no light, and what is done to it."""

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
    """The connector is out, whatever is done to it: the link is down at both ends."""
    end = _end_of(state, body.target)
    if end is None:
        return []
    state.worked_on[end] = body.repair
    return evaluate_ends(state, (end,), message.id)


def on_repair_completed(state: TransceiversState, body: RepairCompleted, message: Envelope) -> list[Output]:
    """Whoever was at an end sets its counters back. Where the module was replaced there is another now, and
    not one of a bad batch."""
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
    """Nothing was done to the end, and it is plugged in again."""
    end = _end_of(state, body.target) if state.worked_on else None
    if end is None or state.worked_on.pop(end, None) is None:
        return []
    return evaluate_ends(state, (end,), message.id)


def _end_of(state: TransceiversState, target: str) -> int | None:
    """The link end of this name; None for any other part."""
    plant = plant_of(state.kind, state.pod)
    part = plant.parse(target)
    return part.number if part.kind == plant.ends.kind else None


def _remove_from_batches(state: TransceiversState, end: int) -> None:
    """What was wrong with the batch of the module that was at an end is no more so there."""
    batches = [name for name, fault in state.faults.items() if fault.kind == "batch" and end in fault.ends]
    for name in batches:
        fault = state.faults[name]
        state.faults[name] = replace(fault, ends=tuple(other for other in fault.ends if other != end))
