"""Status documents of the diagnosis: open and recent verdicts, and a summary."""

from collections.abc import Iterator

from schemas.documents.repairs import DiagnosisSummary, VerdictDocument
from schemas.names import number_of
from services.diagnosis.state import DiagnosisState, EndedLinkVerdict
from shared.engine.service import DocumentKey
from shared.models.superpod.wiring import link_end


def document_keys(state: DiagnosisState) -> Iterator[DocumentKey]:
    for number in sorted([*state.verdicts, *state.ended]):
        yield "verdicts", state.verdict_name(number)
    yield "summaries", f"{state.fabric}/diagnosis"


def document(state: DiagnosisState, key: DocumentKey) -> VerdictDocument | DiagnosisSummary | None:
    kind, name = key
    if kind == "summaries":
        return DiagnosisSummary(
            name=name,
            open=len(state.verdicts),
            given=state.given,
            repaired=state.repaired,
            withdrawn=state.withdrawn,
            ineffective=state.ineffective,
        )
    number = number_of(name)
    ended = state.ended.get(number)
    verdict = ended or state.verdicts.get(number)
    if verdict is None:
        return None
    return VerdictDocument(
        name=name,
        kind=verdict.kind,
        target=verdict.target,
        work=verdict.work,
        state="open" if ended is None else ended.how,
        confidence=verdict.confidence,
        ends=tuple(link_end(end).name(state.fabric) for end in verdict.ends),
        evidence=verdict.evidence,
        given_us=verdict.given_us,
        ended_us=None if not isinstance(verdict, EndedLinkVerdict) else verdict.ended_us,
    )
