"""Bit error rates of a network's circuits, by the optics of `shared.models.optics`.

Each link runs at the lower rate of its two blocks.
"""

from functools import lru_cache

import numpy as np

from services.trunks.state import BoolArray, TrunksState
from services.trunks.trunk_links import CircuitArrays
from shared.models.network.wiring import wiring_of
from shared.models.ocs.patched_fibres import physical_ports
from shared.models.optics.link_design import FloatArray, LinkDesign, OcsPath, Strands
from shared.models.optics.manufactured_modules import lanes_between, manufacture_modules
from shared.models.optics.module_kinds import GENERATIONS, LANES_PER_LINK, MODULE_KINDS
from shared.models.optics.palomar import manufactured_ocses
from shared.models.optics.pod_links import rounded, strand_log10_bers


def worst_lane_log10_bers(state: TrunksState, circuits: CircuitArrays) -> FloatArray:
    """log10 of the bit error rate of the worst lane at either end, before the outer code, of shape
    (circuits,)."""
    plant, block_at = state.plant, wiring_of(state.plant).block_at
    ocs, north, south = circuits
    tails, heads = block_at[north], block_at[south]
    rates = plant.rates[tails, heads]
    log10_ber = np.empty(len(ocs))
    path = _switched(state, circuits)
    for rate in np.unique(rates).tolist():
        for modules in sorted({plant.blocks[int(tail)].modules for tail in np.unique(tails).tolist()}):
            here = np.array(
                [
                    r == rate and plant.blocks[t].modules == modules
                    for r, t in zip(rates.tolist(), tails.tolist(), strict=True)
                ],
                dtype=np.bool_,
            )
            if here.any():
                design = _design(rate, modules, state.config.fibre_loss_db)
                part = OcsPath(path.loss_db[here], path.near_return_db[here], path.far_return_db[here])
                chosen = ocs[here], north[here], south[here]
                log10_ber[here] = _worst(state, chosen, part, design)
    return rounded(log10_ber)


def _worst(state: TrunksState, circuits: CircuitArrays, path: OcsPath, design: LinkDesign) -> FloatArray:
    """log10 of the bit error rate of the worst lane at either end, of shape (circuits,).

    A module is identified by the port that its fibre enters. The strands of a link may go to different OCSes,
    so each has its own lanes.
    """
    ocs, north, south = circuits
    count, radix = len(ocs), state.south_of.shape[1]
    ends = np.concatenate([2 * (ocs * radix + north), 2 * (ocs * radix + south) + 1])
    made = manufacture_modules(state.seed, state.fabric, ends)
    here, there = np.arange(count), np.arange(count, 2 * count)
    strands = LANES_PER_LINK // design.kind.lanes_per_strand
    worst = np.full(count, -np.inf)
    for near, far, way in ((here, there, path), (there, here, path.reversed())):
        lanes = lanes_between(made, near, far, strands).each().part(strands * here)
        worst = np.maximum(worst, strand_log10_bers(design, Strands(way), lanes).max(axis=-1))
    return worst


def unfit_circuits(state: TrunksState, circuits: CircuitArrays) -> BoolArray:
    """Mask of the circuits with too many errors to carry traffic, of shape (circuits,)."""
    unfit: BoolArray = worst_lane_log10_bers(state, circuits) > np.log10(state.config.fit_below_ber)
    return unfit


def _switched(state: TrunksState, circuits: CircuitArrays) -> OcsPath:
    """The path through the OCSes as the North end sees it."""
    ocs, north, south = circuits
    ocs_count, radix = state.south_of.shape
    made = manufactured_ocses(state.seed, state.fabric, radix, ocs_count, state.plant.technology.name)
    north = physical_ports(state.patched, 0, ocs, north)
    south = physical_ports(state.patched, 1, ocs, south)
    deflection_db = made.deflection_loss_db[made.north_mirror[ocs, north], made.south_mirror[ocs, south]]
    return OcsPath(
        deflection_db + made.north_loss_db[ocs, north] + made.south_loss_db[ocs, south],
        made.north_return_loss_db[ocs, north],
        made.south_return_loss_db[ocs, south],
    )


@lru_cache(maxsize=64)
def _design(gbps: int, modules: str, fibre_loss_db: float) -> LinkDesign:
    return LinkDesign(GENERATIONS[gbps].rate, MODULE_KINDS[modules], fibre_loss_db=fibre_loss_db)
