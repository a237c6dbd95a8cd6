"""What arrives over the circuits of a network: bit error rates by the optics of `shared.models.optics`, each
link at the lower rate of its two blocks."""

from functools import lru_cache

import numpy as np

from services.trunks.carrying import CircuitArrays
from services.trunks.state import BoolArray, TrunksState
from shared.models.network.wiring import wiring_of
from shared.models.optics.fabric_links import rounded, worst_lane_log10_ber
from shared.models.optics.link import FloatArray, LinkDesign, Switched
from shared.models.optics.modules import GENERATIONS, MODULE_KINDS
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
                part = Switched(seen.loss_db[here], seen.near_return_db[here], seen.far_return_db[here])
                ways = (worst_lane_log10_ber(design, way) for way in (part, part.reversed()))
                found[here] = np.maximum(*ways)
    return rounded(found)


def weak(state: TrunksState, circuits: CircuitArrays) -> BoolArray:
    """(circuits,) those with too many errors to carry traffic."""
    found: BoolArray = log10_bers(state, circuits) > np.log10(state.config.fit_below_ber)
    return found


def _switched(state: TrunksState, circuits: CircuitArrays) -> Switched:
    """What the OCSes put between, as the North end sees it."""
    ocs, north, south = circuits
    ocs_count, radix = state.south_of.shape
    made = manufactured_ocses(state.seed, state.fabric, radix, ocs_count)
    deflection_db = made.deflection_loss_db[made.north_mirror[ocs, north], made.south_mirror[ocs, south]]
    return Switched(
        deflection_db + made.north_loss_db[ocs, north] + made.south_loss_db[ocs, south],
        made.north_return_loss_db[ocs, north],
        made.south_return_loss_db[ocs, south],
    )


@lru_cache(maxsize=64)
def _design(gbps: int, modules: str, fibre_loss_db: float) -> LinkDesign:
    return LinkDesign(GENERATIONS[gbps].rate, MODULE_KINDS[modules], fibre_loss_db=fibre_loss_db)
