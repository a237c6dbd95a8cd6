"""Status documents of the blocks of a network, and a summary of its links."""

from collections.abc import Iterable

import numpy as np

from schemas.documents.dcn import BlockDocument, TrunksSummary
from schemas.names import number_of
from services.trunks.state import TrunksState
from services.trunks.trunk_links import carrying_circuits
from shared.engine.service import DocumentKey
from shared.models.network.wiring import NO_PORT, links_between


def document_keys(state: TrunksState) -> Iterable[DocumentKey]:
    for block in range(len(state.plant.blocks)):
        yield "blocks", state.block_name(block)
    yield "summaries", f"{state.fabric}/trunks"


def document(state: TrunksState, key: DocumentKey) -> BlockDocument | TrunksSummary:
    kind, name = key
    return _summary(state, name) if kind == "summaries" else _block(state, name)


def _summary(state: TrunksState, name: str) -> TrunksSummary:
    exists = state.south_of != NO_PORT
    return TrunksSummary(
        name=name,
        blocks=len(state.block_faults),
        blocks_down=int(np.count_nonzero(state.block_faults)),
        bundles_down=int(np.count_nonzero(state.bundle_faults)),
        circuits=int(np.count_nonzero(exists)),
        carrying=int(np.count_nonzero(carrying_circuits(state))),
        drained=int(np.count_nonzero(exists & state.drained)),
        dark=int(np.count_nonzero(exists & ~state.lit)),
        unfit=int(np.count_nonzero(exists & state.lit & ~state.fit)),
    )


def _block(state: TrunksState, name: str) -> BlockDocument:
    plant, number = state.plant, number_of(name)
    block = plant.blocks[number]
    wired = links_between(plant, state.south_of.astype(np.int64))[number]
    return BlockDocument(
        name=name,
        state="up" if state.block_faults[number] == 0 else "down",
        generation=block.generation,
        uplinks=block.uplinks,
        pod=block.pod,
        customer=block.customer,
        modules=block.modules,
        bundles_down=tuple(np.flatnonzero(state.bundle_faults[number]).tolist()),
        links=tuple(state.links[number].tolist()),
        wired=tuple(wired.tolist()),
        rates=tuple(plant.rates[number].tolist()),
        trunks_changed_us=tuple(state.trunk_changed_us[number].tolist()),
        changed_us=int(state.changed_us[number]),
    )
