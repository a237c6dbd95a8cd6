"""Status documents of the demand: a row for every block, and a summary."""

from collections.abc import Iterable

from schemas.documents.dcn import DemandDocument, DemandsSummary
from schemas.names import number_of
from services.demands.state import NO_HOUR, DemandsState
from shared.engine.service import DocumentKey
from shared.models.dcn.routing.carried_traffic import demand_of


def document_keys(state: DemandsState) -> Iterable[DocumentKey]:
    for block in range(len(state.plant.blocks)):
        yield "demands", f"{state.fabric}/block-{block}"
    yield "summaries", f"{state.fabric}/demands"


def document(state: DemandsState, key: DocumentKey) -> DemandDocument | DemandsSummary:
    kind, name = key
    hour = max(state.hour, 0) if state.hour == NO_HOUR else state.hour
    demand = demand_of(state.model, hour, state.flows)
    if kind == "summaries":
        return DemandsSummary(
            name=name,
            commissioned_us=state.commissioned_us,
            hour=hour,
            demanded_mbps=int(demand.sum()),
            jobs_mbps=sum(f[2] for f in state.flows),
        )
    block = number_of(name)
    return DemandDocument(
        name=name,
        hour=hour,
        mbps=tuple(demand[block].tolist()),
        received_mbps=int(demand[:, block].sum()),
        changed_us=state.updated_us,
    )
