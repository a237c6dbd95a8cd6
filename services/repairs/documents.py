"""Status documents of the repair shop: open and recent repairs, and a summary."""

from collections.abc import Iterator

from schemas.documents.repairs import RepairDocument, RepairsSummary, RepairState
from schemas.names import number_of
from services.repairs.state import EndedRepair, RepairsState
from shared.engine.service import DocumentKey


def document_keys(state: RepairsState) -> Iterator[DocumentKey]:
    for number in sorted([*state.queued, *state.begun, *state.tested, *state.ended]):
        yield "repairs", state.repair_name(number)
    yield "summaries", f"{state.fabric}/repairs"


def document(state: RepairsState, key: DocumentKey) -> RepairDocument | RepairsSummary | None:
    kind, name = key
    if kind == "summaries":
        return RepairsSummary(
            name=name,
            queued=len(state.queued),
            begun=len(state.begun),
            completed=state.completed,
            cancelled=state.cancelled,
            failed=state.failed,
            ineffective=state.ineffective,
            tested=len(state.tested),
        )
    number = number_of(name)
    begun = state.begun.get(number) or state.tested.get(number)
    ended = state.ended.get(number)
    repair = ended or begun or state.queued.get(number)
    if repair is None:
        return None
    worked = ended or begun
    return RepairDocument(
        name=name,
        kind=repair.kind,
        target=repair.target,
        work=repair.work,
        state=_repair_state(state, number, ended),
        technician=worked.technician if worked else None,
        requested_us=repair.requested_us,
        began_us=worked.began_us if worked else None,
        ended_us=ended.ended_us if ended else None,
        verdict=repair.verdict,
        ineffective=ended is not None and ended.ineffective,
        tries=repair.tries,
        reason=ended.reason if ended else None,
    )


def _repair_state(state: RepairsState, number: int, ended: EndedRepair | None) -> RepairState:
    if ended is not None:
        return ended.outcome
    return "begun" if number in state.begun else "tested" if number in state.tested else "queued"
