"""Status documents of the traffic: the load of every trunk by block, and a summary."""

from collections.abc import Iterable

import numpy as np

from schemas.documents.dcn import TrafficSummary, TrunkLoadDocument
from schemas.names import number_of
from services.traffic.kept_weights import weights_reason
from services.traffic.state import TrafficState
from shared.engine.service import DocumentKey
from shared.models.dcn.routing.carried_traffic import ppm
from shared.models.dcn.routing.path_loads import trunk_capacity

USE_PPM_MAX = 10**12
"""Largest use that is shown, in parts per million."""


def document_keys(state: TrafficState) -> Iterable[DocumentKey]:
    for block in range(len(state.links)):
        yield "trunk-loads", f"{state.fabric}/block-{block}"
    yield "summaries", f"{state.fabric}/traffic"


def document(state: TrafficState, key: DocumentKey) -> TrafficSummary | TrunkLoadDocument:
    kind, name = key
    if kind == "summaries":
        return _summary(state, name)
    block = number_of(name)
    carries = trunk_capacity(state.plant, state.links.astype(np.int64))[block]
    return TrunkLoadDocument(
        name=name,
        load_mbps=tuple(state.load[block].astype(np.int64).tolist()),
        carries_mbps=tuple(carries.astype(np.int64).tolist()),
        changed_us=state.at_us,
    )


def _summary(state: TrafficState, name: str) -> TrafficSummary:
    last = state.last
    return TrafficSummary(
        name=name,
        at_us=state.at_us,
        hour=max(state.hour, 0),
        reported=state.reported,
        weights=state.weights,
        solved_us=state.solved_us,
        solve_above_ppm=min(ppm(state.solve_above), USE_PPM_MAX),
        next_solve_us=state.next_solve_us,
        weights_reason=weights_reason(state),
        use_ppm=last.use_ppm if last else 0,
        bound_ppm=last.bound_ppm if last else 0,
        served_ppm=last.served_ppm if last else 0,
        direct_ppm=last.direct_ppm if last else 0,
        path_ppm=last.path_ppm if last else 0,
        cut_off=last.cut_off if last else 0,
        demanded_mbps=state.demanded_mbps,
        served_mbit=state.served_mbit,
        demanded_mbit=state.demanded_mbit,
        direct_mbit=state.direct_mbit,
        hops_mbit=state.hops_mbit,
        use_ppm_s=state.use_ppm_s,
        overfull_us=state.overfull_us,
        known_us=state.known_us,
        jobs_mbps=dict(state.job_mbps),
    )
