"""Status documents of faults: active and recent ones, a summary, and changed parameters."""

from collections.abc import Iterator

from schemas.documents.pods import FailuresSummary, FaultDocument, ParameterRow, ParametersDocument
from schemas.names import number_of
from services.failures.state import FailuresState
from shared.engine.service import DocumentKey
from shared.models.faults.fault_kinds import FAULTS, kinds_of

_Document = FaultDocument | FailuresSummary | ParametersDocument


def document_keys(state: FailuresState) -> Iterator[DocumentKey]:
    for number in sorted([*state.active, *state.ended]):
        yield "faults", state.fault_name(number)
    yield "parameters", state.fabric
    yield "summaries", f"{state.fabric}/failures"


def document(state: FailuresState, key: DocumentKey) -> _Document | None:
    kind, name = key
    if kind == "parameters":
        return ParametersDocument(name=name, changed=tuple(_rows(state)))
    if kind == "summaries":
        begun = {kind: state.begun[kind] for kind in kinds_of(state.plant)}
        return FailuresSummary(name=name, active=len(state.active), begun=begun)
    number = number_of(name)
    ended = state.ended.get(number)
    fault = ended or state.active.get(number)
    if fault is None:
        return None
    severity = FAULTS[fault.kind].severity
    return FaultDocument(
        name=name,
        kind=fault.kind,
        target=fault.target,
        state="ended" if ended else "active",
        injected=fault.injected,
        severity=fault.severity,
        unit=severity.unit if severity else None,
        onset_us=fault.onset_us,
        began_us=fault.began_us,
        expires_us=fault.expires_us,
        ended_us=ended.ended_us if ended else None,
        how=ended.how if ended else None,
        comment=fault.comment,
        asked_by=fault.asked_by,
        drill=fault.drill,
    )


def _rows(state: FailuresState) -> Iterator[ParameterRow]:
    for name, row in state.parameters.items():
        yield ParameterRow(
            name=name,
            value=row.value,
            commissioned=row.commissioned,
            changed_us=row.changed_us,
            changed_by=row.cause,
            drill=None if name not in state.leases else state.leases[name].drill,
            expires_us=None if name not in state.leases else state.leases[name].ends_us,
        )
