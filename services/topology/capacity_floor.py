"""Capacity floor: what a stage of a rewiring must leave of the capacity of every block.

A stage must leave each block at least `capacity_floor` of the smaller of its capacities before and after the
rewiring. It is checked here when a stage starts and when its circuits return; `stage_planning` plans by it.
"""

from collections.abc import Iterable

import numpy as np

from schemas.names import OcsCircuit
from services.topology.state import Rewiring, TopologyState
from shared.models.dcn.rewiring.stage_planning import ROUNDING
from shared.models.network.blocks import FloatArray
from shared.models.network.wiring import wiring_of


def below_capacity_floor(state: TopologyState, rewiring: Rewiring, left: FloatArray) -> str | None:
    """Which block would keep less than the capacity floor, in a sentence; None if none. Blocks that are
    down do not count."""
    least = np.asarray(rewiring.least_gbps)
    # A dark port or bundle is subtracted twice, so limit the result to 0.
    left = np.maximum(left, 0.0)
    short = (left < state.config.capacity_floor * least - ROUNDING) & (state.block_faults == 0)
    if not short.any():
        return None
    block = int(np.argmax(short))
    share = float(left[block] / least[block])
    return (
        f"block-{block} would keep {share:.1%} of its capacity; must be at least "
        f"{state.config.capacity_floor:.1%}"
    )


def carrying_gbps(state: TopologyState) -> FloatArray:
    """Capacity (B,) in Gb/s of the links that carry traffic now."""
    capacity: FloatArray = (state.links * state.plant.rates).sum(axis=1).astype(np.float64)
    return capacity


def lit_circuits(state: TopologyState, circuits: Iterable[OcsCircuit]) -> list[OcsCircuit]:
    """The circuits that can carry traffic: on an OCS with light, between blocks that are up."""
    down = (state.block_faults > 0)[wiring_of(state.plant).block_at]
    return [
        (ocs, north, south)
        for ocs, north, south in circuits
        if not (state.dark[ocs] or down[north] or down[south])
    ]


def circuits_gbps(state: TopologyState, circuits: Iterable[OcsCircuit]) -> FloatArray:
    """Capacity (B,) in Gb/s of some circuits."""
    plant, block_at = state.plant, wiring_of(state.plant).block_at
    gbps = np.zeros(len(plant.blocks))
    for _, north, south in circuits:
        tail, head = int(block_at[north]), int(block_at[south])
        gbps[[tail, head]] += float(plant.rates[tail, head])
    return gbps
