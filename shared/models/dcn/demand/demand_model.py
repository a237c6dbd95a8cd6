"""Demand between blocks: gravity with noise, hot pairs that last for days, and a daily cycle; or a recorded
matrix.

Demand matrices are (B, B) whole Mb/s from row to column with a zero diagonal, so results derived from them
are exact. Gravity: a block's traffic goes to the others in proportion to what they receive (Jupiter Evolving,
6.1: it describes traffic between blocks well). Every draw is keyed by the numbers of blocks and slots and the
hour, so an added block does not change other draws.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy  # which loads scipy.special when it is first used

from schemas.config.network_hardware import BLOCKS_MAX
from shared.basics.checks import check_not_negative, check_positive
from shared.basics.errors import InvalidInput
from shared.basics.keyed_random import draw_index, draw_lognormal, draw_uniform, draw_uniform_array
from shared.models.network.blocks import FloatArray, NetworkLayout, why_not_joined
from shared.models.superpod.wiring import IntArray

DAY_H = 24
MBPS_PER_GBPS = 1_000
DEMAND_MAX_MBPS = 10**9
"""Limit for one pair: more than any two blocks can exchange, and far below the range of 64 bits."""


@dataclass(frozen=True, slots=True)
class DemandModel:
    """Parameters of the demand.

    `load` is the mean over time and blocks of a block's traffic over its uplink capacity, without hot pairs;
    the other fields define how uneven the demand is.

    The defaults are frozen: the rows of `lightwave reproduce` were written with them before their figures
    were inspected. A live network has its own defaults with less load (`schemas.config.dcn`).
    """

    seed: int = 0
    load: float = 0.4
    block_sigma: float = 0.4
    """Standard deviation of the logarithm of a block's traffic over its capacity."""
    noise_sigma: float = 0.25
    """The same of a pair's traffic in one hour over its gravity share."""
    hot_pairs: int = 8
    """Pairs of blocks that are hot at any time."""
    hot_share: float = 0.1
    """Traffic that a hot pair adds, one way, over the capacity of its smaller block."""
    hot_days: float = 3.0
    """Mean lifetime of a hot pair."""
    swing: float = 0.3
    """Half of the difference between the busiest and the quietest hour of a day, over the mean."""

    def __post_init__(self) -> None:
        for field in ("load", "hot_days"):
            check_positive(field, getattr(self, field))
        for field in ("block_sigma", "noise_sigma", "hot_pairs", "hot_share"):
            check_not_negative(field, getattr(self, field))
        if not 0.0 <= self.swing <= 1.0:
            raise InvalidInput(f"swing: {self.swing} is not allowed; must be between 0 and 1")


def demand_at(plant: NetworkLayout, model: DemandModel, hour: int) -> IntArray:
    """(B, B) Mb/s in one hour, counted from the start; at most DEMAND_MAX_MBPS for each pair."""
    names = [block.name for block in plant.blocks]
    carries = plant.uplinks * np.array([block.generation for block in plant.blocks], dtype=np.float64)
    size = np.array(
        [draw_lognormal(model.seed, name, "dcn-size", 0, model.load, model.block_sigma) for name in names]
    )
    phase = np.array([draw_uniform(model.seed, name, "dcn-phase", 0) for name in names])
    # Blocks of a region share their daily cycle: phases lie within three hours.
    day = 1.0 + model.swing * np.sin(2.0 * math.pi * (hour / DAY_H + phase / 8.0))
    sends = carries * size * day
    demand = _gravity(sends, plant.may_join.astype(np.float64)) * _noise(plant, model, hour)
    for slot in range(model.hot_pairs):
        tail, head = _hot_pair(model, slot, hour, len(names))
        if plant.may_join[tail, head]:
            demand[tail, head] += model.hot_share * min(carries[tail], carries[head])
    return recorded_demand(
        plant, np.rint(np.minimum(demand * MBPS_PER_GBPS, DEMAND_MAX_MBPS)).astype(np.int64)
    )


def recorded_demand(
    plant: NetworkLayout, matrix: Sequence[Sequence[int]] | IntArray | FloatArray
) -> IntArray:
    """(B, B) Mb/s of an external matrix; InvalidInput names the blocks if it is not a valid demand of this
    plant."""
    given = np.asarray(matrix)
    blocks = len(plant.blocks)
    if given.shape != (blocks, blocks):
        shape = "×".join(map(str, given.shape))
        raise InvalidInput(
            f"demand: a matrix of {shape} is not allowed; must be {blocks}×{blocks}, one row for each block"
        )
    names = [block.name for block in plant.blocks]
    for what, wrong in (
        ("is not a number", ~np.isfinite(given)),
        ("is negative", given < 0),
        (f"is not allowed; must be at most {DEMAND_MAX_MBPS:,} Mb/s", given > DEMAND_MAX_MBPS),
    ):
        if wrong.any():
            tail, head = np.argwhere(wrong)[0].tolist()
            raise InvalidInput(f"demand {names[tail]} → {names[head]}: {given[tail, head]} {what}")
    demand: IntArray = np.rint(given).astype(np.int64)
    apart = (demand > 0) & ~plant.may_join
    if apart.any():
        tail, head = np.argwhere(apart)[0].tolist()
        why = why_not_joined(plant.blocks[tail], plant.blocks[head])
        raise InvalidInput(
            f"demand {names[tail]} → {names[head]}: {demand[tail, head]} Mb/s is not allowed: {why}"
        )
    return demand


def _gravity(sends: FloatArray, may_join: FloatArray) -> FloatArray:
    """(B, B): each block's traffic, split over the blocks that it may reach in proportion to what they
    receive."""
    pull = may_join * sends
    total = pull.sum(axis=1, keepdims=True)
    return sends[:, None] * pull / np.where(total > 0.0, total, 1.0)


def _noise(plant: NetworkLayout, model: DemandModel, hour: int) -> FloatArray:
    """(B, B) log-normal factors of mean 1."""
    blocks = np.arange(len(plant.blocks), dtype=np.uint64)
    counts = np.uint64(hour * BLOCKS_MAX**2) + blocks[:, None] * np.uint64(BLOCKS_MAX) + blocks[None, :]
    normal = scipy.special.ndtri(draw_uniform_array(model.seed, "dcn", "noise", counts))
    return np.exp(model.noise_sigma * normal - 0.5 * model.noise_sigma**2)


def _hot_pair(model: DemandModel, slot: int, hour: int, blocks: int) -> tuple[int, int]:
    """The pair that is hot in this slot. All pairs of a slot live equally long; slots differ."""
    name = f"hot-{slot}"
    life_h = max(1.0, DAY_H * model.hot_days * (0.5 + draw_uniform(model.seed, name, "dcn-life", 0)))
    epoch = int(hour / life_h + draw_uniform(model.seed, name, "dcn-begin", 0))
    tail = draw_index(model.seed, name, "dcn-tail", epoch, blocks)
    ahead = 1 + draw_index(model.seed, name, "dcn-head", epoch, blocks - 1)
    return tail, (tail + ahead) % blocks
