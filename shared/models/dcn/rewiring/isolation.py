"""Whether a plan keeps customers apart, and grids of wavelengths: looked at stage by stage.

Plans cannot join two customers, for their blocks have no rate in between. This looks at what was planned and
not at how: at blocks, not at rates. Customers share OCSes, for a circuit there is one beam of light from port
to port; they share no block, and so no path.
"""

from collections.abc import Iterable

import numpy as np

from shared.basics.errors import OperationFailed
from shared.models.dcn.rewiring.rewiring_stages import Stage
from shared.models.network.blocks import NetworkLayout, why_not_joined
from shared.models.superpod.wiring import IntArray


def crossings(plant: NetworkLayout, joined: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Of pairs of blocks those that have not the same customer and kind of modules."""
    kinds = [(block.customer, block.modules) for block in plant.blocks]
    return sorted({(a, b) for a, b in joined if kinds[a] != kinds[b]})


def check_isolation(
    plant: NetworkLayout, now: IntArray, stages: list[Stage], then: IntArray, tables: IntArray | None = None
) -> int:
    """Goes through a plan: circuits (K, B, B) that run, what every stage makes, those in the end, and the
    paths of `tables` (B, B, B); how many pairs of blocks were looked at.

    OperationFailed names the first two blocks that are joined and may not be, or says that the stages do not
    lead where they should.
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
        # A direct path is noted as one over its own head.
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
