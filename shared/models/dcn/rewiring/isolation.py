"""Independent check that a plan keeps customers and wavelength grids apart, stage by stage.

Plans cannot join two customers, because their blocks have no common link rate. This check looks at the result
instead of the rates: at the blocks that are joined. Customers share OCSes, where a circuit is one beam of
light from port to port. They share no block, and so no path.
"""

from collections.abc import Iterable

import numpy as np

from shared.basics.errors import OperationFailed
from shared.models.dcn.rewiring.stage_planning import Stage
from shared.models.network.blocks import NetworkLayout, why_not_joined
from shared.models.superpod.wiring import IntArray


def crossings(plant: NetworkLayout, joined: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The pairs of blocks that differ in customer or kind of modules."""
    kinds = [(block.customer, block.modules) for block in plant.blocks]
    return sorted({(a, b) for a, b in joined if kinds[a] != kinds[b]})


def check_isolation(
    plant: NetworkLayout, now: IntArray, stages: list[Stage], then: IntArray, tables: IntArray | None = None
) -> int:
    """Checks a plan and returns the number of block pairs checked.

    The plan consists of the current circuits (K, B, B), the result of every stage, the final circuits, and
    the paths of `tables` (B, B, B). OperationFailed names the first two blocks that must not be joined, or
    says that the stages do not lead to the final circuits.
    """
    circuits, looked = now.copy(), 0
    looked += _check(plant, "before the plan", circuits)
    for n, stage in enumerate(stages):
        np.subtract.at(circuits, tuple(stage.removed.T), 1)
        np.add.at(circuits, tuple(stage.made.T), 1)
        looked += _check(plant, f"after stage {n}", circuits)
    looked += _check(plant, "in the end", then)
    if stages and (circuits != then).any():
        raise OperationFailed("isolation: the stages do not lead to the circuits of the plan")
    if tables is not None:
        tails, heads, over = np.nonzero(tables)
        first = set(zip(tails.tolist(), over.tolist(), strict=True))
        second = set(zip(over.tolist(), heads.tolist(), strict=True))
        # A direct path is recorded as a path over its own head.
        looked += _refuse(plant, "in the tables", first | {(a, b) for a, b in second if a != b})
    return looked


def _check(plant: NetworkLayout, when: str, circuits: IntArray) -> int:
    tails, heads = np.nonzero(circuits.any(axis=0))
    return _refuse(plant, when, set(zip(tails.tolist(), heads.tolist(), strict=True)))


def _refuse(plant: NetworkLayout, when: str, joined: set[tuple[int, int]]) -> int:
    for one, other in crossings(plant, joined):
        a, b = plant.blocks[one], plant.blocks[other]
        raise OperationFailed(
            f"isolation: {when} {a.name} and {b.name} are joined, but must not be: {why_not_joined(a, b)}"
        )
    return len(joined)
