"""The workload's status document: its start, and the numbers of requests made and not made because of the
queue."""

from schemas.documents.pods import WorkloadSummary
from services.workload.state import WorkloadState
from shared.engine.service import DocumentKey


def document_keys(state: WorkloadState) -> list[DocumentKey]:
    return [("summaries", f"{state.fabric}/workload")]


def document(state: WorkloadState, key: DocumentKey) -> WorkloadSummary | None:
    if key != ("summaries", f"{state.fabric}/workload"):
        return None
    return WorkloadSummary(
        name=key[1],
        commissioned_us=state.commissioned_us,
        requested=state.requested,
        balked=state.balked,
    )
