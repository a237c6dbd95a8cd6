"""What arrives over the circuits of a network: bit error rates by the optics of `shared.models.optics`, each
link at the lower rate of its two blocks."""

from functools import lru_cache

import numpy as np

from services.trunks.state import BoolArray, TrunksState
from services.trunks.trunk_links import CircuitArrays
from shared.models.network.wiring import wiring_of
from shared.models.ocs.patches import physical_ports
from shared.models.optics.fabric_links import rounded, strand_log10_bers
from shared.models.optics.link import FloatArray, LinkDesign, OcsPath, Strands
from shared.models.optics.manufactured_modules import lanes_between, manufacture_modules
from shared.models.optics.module_kinds import GENERATIONS, LANES_PER_LINK, MODULE_KINDS
from shared.models.optics.palomar import manufactured_ocses


def log10_bers(state: TrunksState, circuits: CircuitArrays) -> FloatArray:
    """(circuits,) log10 of the bit error rate of the worst lane that either end receives, before the outer
    code."""
    plant, block_at = state.plant, wiring_of(state.plant).block_at
    ocs, north, south = circuits
    tails, heads = block_at[north], block_at[south]
    rates = plant.rates[tails, heads]
    found = np.empty(len(ocs))
    seen = _switched(state, circuits)
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
                part = OcsPath(seen.loss_db[here], seen.near_return_db[here], seen.far_return_db[here])
                chosen = ocs[here], north[here], south[here]
                found[here] = _worst(state, chosen, part, design)
    return rounded(found)


def _worst(state: TrunksState, circuits: CircuitArrays, seen: OcsPath, design: LinkDesign) -> FloatArray:
    """(circuits,) of the worst lane that either end receives. A module is known by the port that its fibre
    enters: of a link's strands, which may go to different OCSes, each has lanes of its own."""
    ocs, north, south = circuits
    count, radix = len(ocs), state.south_of.shape[1]
    ends = np.concatenate([2 * (ocs * radix + north), 2 * (ocs * radix + south) + 1])
    made = manufacture_modules(state.seed, state.fabric, ends)
    here, there = np.arange(count), np.arange(count, 2 * count)
    strands = LANES_PER_LINK // design.kind.lanes_per_strand
    worst = np.full(count, -np.inf)
    for near, far, way in ((here, there, seen), (there, here, seen.reversed())):
        lanes = lanes_between(made, near, far, strands).each().part(strands * here)
        worst = np.maximum(worst, strand_log10_bers(design, Strands(way), lanes).max(axis=-1))
    return worst


def unfit_circuits(state: TrunksState, circuits: CircuitArrays) -> BoolArray:
    """(circuits,) those with too many errors to carry traffic."""
    found: BoolArray = log10_bers(state, circuits) > np.log10(state.config.fit_below_ber)
    return found


def _switched(state: TrunksState, circuits: CircuitArrays) -> OcsPath:
    """What the OCSes put between, as the North end sees it."""
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
