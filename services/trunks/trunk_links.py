"""Which circuits carry traffic, and the number of links between blocks."""

from collections.abc import Sequence

import numpy as np

from schemas.messages.trunks import TrunksChanged
from schemas.names import OcsCircuit
from services.trunks.state import BoolArray, TrunksState
from shared.engine.service import Output
from shared.models.network.wiring import NO_PORT, links_between, wiring_of
from shared.models.superpod.wiring import IntArray

CircuitArrays = tuple[IntArray, IntArray, IntArray]


def arrays_of(circuits: Sequence[OcsCircuit]) -> CircuitArrays:
    """(OCS, North port, South port) of some circuits, each of shape (circuits,)."""
    ocs, north, south = np.array(circuits, dtype=np.int64).reshape(-1, 3).T
    return ocs, north, south


def current_circuits(state: TrunksState, circuits: Sequence[OcsCircuit]) -> CircuitArrays:
    """The circuits that still exist; circuits removed meanwhile are left out."""
    ocs, north, south = arrays_of(circuits)
    same = state.south_of[ocs, north] == south
    return ocs[same], north[same], south[same]


def carrying_circuits(state: TrunksState) -> BoolArray:
    """Mask of the circuits that carry traffic, of shape (OCSes, radix).

    They are lit, fit and not drained, and both blocks and their bundles work.
    """
    plant, block_at = state.plant, wiring_of(state.plant).block_at
    carries: BoolArray = (state.south_of != NO_PORT) & state.lit & state.fit & ~state.drained
    if state.block_faults.any() or state.bundle_faults.any():
        bad = (state.block_faults[:, None] > 0) | (state.bundle_faults > 0)
        racks = np.arange(plant.ocs_count) // plant.switches
        # A spare port has no block and never carries traffic.
        bad_port = bad[block_at, :][:, racks].T & (block_at >= 0)
        carries &= ~bad_port
        ocs, north = np.nonzero(carries)
        carries[ocs, north] = ~bad_port[ocs, state.south_of[ocs, north]]
    return carries


def report_trunks(state: TrunksState, *, planned: bool = False) -> list[Output]:
    """Report the pairs of blocks whose number of links that carry traffic has changed, if any.

    The summary is updated in any case, because it counts circuits.
    """
    touch_summary(state)
    links = links_between(state.plant, state.south_of.astype(np.int64), carrying_circuits(state))
    tails, heads = np.nonzero(np.triu(links != state.links))
    if not len(tails):
        return []
    changed = zip(tails.tolist(), heads.tolist(), links[tails, heads].tolist(), strict=True)
    state.links[:] = links
    state.trunk_changed_us[tails, heads] = state.trunk_changed_us[heads, tails] = state.now_us
    for block in np.unique(np.concatenate([tails, heads])).tolist():
        touch(state, block)
    return [TrunksChanged(links=tuple(changed), planned=planned)]


def touch(state: TrunksState, block: int) -> None:
    state.changed_us[block] = state.now_us
    state.changed_documents.add(("blocks", state.block_name(block)))
    touch_summary(state)


def touch_summary(state: TrunksState) -> None:
    state.changed_documents.add(("summaries", f"{state.fabric}/trunks"))
