"""How a whole block is turned down while the others carry traffic: the way back of a block that joins
(`shared.models.dcn.growth`).

Its own traffic has ended. Its circuits give way to links between the others, for what these want of each
other, in stages that keep the promise; then its strands are dark and disturb nobody.
"""

from dataclasses import dataclass

import numpy as np

from shared.basics.errors import InvalidInput
from shared.models.dcn.engineering import engineer
from shared.models.dcn.planning import CHAIN_MAX, PROMISE
from shared.models.dcn.rewiring import rewired
from shared.models.dcn.stages import Stage, staged
from shared.models.network.blocks import Plant, plant_of
from shared.models.superpod.wiring import IntArray


@dataclass(frozen=True, eq=False, slots=True)
class TurnedDown:
    """`circuits` (K, B, B) in the end, none of them the block's, and the `stages` that lead there."""

    circuits: IntArray
    stages: list[Stage]


def turned_down(
    plant: Plant,
    circuits: IntArray,
    block: str,
    demand: IntArray,
    *,
    promise: float = PROMISE,
    chain_max: int | None = CHAIN_MAX,
) -> TurnedDown:
    """From circuits (K, B, B) to those without a block, for a demand (B, B) in Mb/s of which it has no part;
    with `chain_max` of `rewired` a few links between the others are not made. InvalidInput names a block that
    there is not or that wants something, and a promise that leaves no room.
    """
    gone = plant.number(block)
    if demand[gone].any() or demand[:, gone].any():
        raise InvalidInput(f"block {block}: wants something still; allowed is to turn down one that is idle")
    others = [n for n in range(len(plant.blocks)) if n != gone]
    left = plant_of(
        [plant.blocks[n] for n in others],
        racks=plant.racks,
        racks_full=plant.racks_full,
        switches=plant.switches,
        technology=plant.technology.name,
    )
    links = np.zeros_like(demand)
    among = np.array(others)[:, None], np.array(others)[None, :]
    links[among] = engineer(left, demand[among]).links
    then = rewired(plant, circuits, links, chain_max)
    # A short chain leaves circuits whose ports nobody asked for; this block's go in any case.
    then[:, gone, :] = 0
    then[:, :, gone] = 0
    return TurnedDown(then, staged(plant, circuits, then, promise))
