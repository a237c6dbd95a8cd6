"""Paths of demand and the load they cause: direct and one-transit paths with shares.

A *trunk* is all links between two blocks; in each direction it carries links × rate. A path from block i to
block j is direct or passes one transit block k. Shares are (B, B, B): `share[i, j, k]` of the demand from i
to j goes over k, and `share[i, j, j]` goes directly. They sum to 1 if i can reach j, else to 0.
"""

import numpy as np

from shared.basics.checks import check_count
from shared.basics.errors import InvalidInput
from shared.models.dcn.demand.demand_model import MBPS_PER_GBPS
from shared.models.network.blocks import BoolArray, FloatArray, NetworkLayout
from shared.models.superpod.wiring import IntArray


def trunk_capacity(plant: NetworkLayout, links: IntArray) -> FloatArray:
    """(B, B) Mb/s of every trunk in one direction, for links (B, B)."""
    return (links * plant.rates * MBPS_PER_GBPS).astype(np.float64)


def unreachable_pairs(carries: FloatArray, demand: IntArray | FloatArray) -> BoolArray:
    """(B, B) pairs with a demand and without a direct or one-transit path."""
    joined = (carries > 0.0).astype(np.float64)
    lost: BoolArray = (demand > 0) & (joined + joined @ joined == 0.0)
    return lost


def check_paths(plant: NetworkLayout, carries: FloatArray, demand: IntArray) -> None:
    """InvalidInput names the first pair with a demand and without a direct or one-transit path."""
    lost = unreachable_pairs(carries, demand)
    if lost.any():
        tail, head = np.argwhere(lost)[0].tolist()
        names = f"{plant.blocks[tail].name} → {plant.blocks[head].name}"
        raise InvalidInput(
            f"demand {names}: {demand[tail, head]} Mb/s has no path; "
            "the blocks must be joined directly or over one transit block"
        )


def capacity_shares(carries: FloatArray) -> FloatArray:
    """(B, B, B) shares in proportion to each path's own capacity, the smaller of its trunks.

    Best if nothing is known about the demand (Valiant's load balancing).
    """
    paths = path_capacity(carries)
    total = paths.sum(axis=2, keepdims=True)
    return np.where(total > 0.0, paths / np.where(total > 0.0, total, 1.0), 0.0)


def path_capacity(carries: FloatArray) -> FloatArray:
    """(B, B, B) capacity of every path by itself: `[i, j, k]` over k, `[i, j, j]` directly."""
    blocks = len(carries)
    heads = np.arange(blocks)
    paths = np.minimum(carries[:, None, :], carries.T[None, :, :])
    paths[:, heads, heads] = carries
    paths[heads, heads, :] = 0.0
    return paths


def trunk_loads(share: FloatArray, demand: IntArray | FloatArray) -> FloatArray:
    """(B, B) Mb/s on every trunk, from row to column."""
    flow = share * np.asarray(demand, dtype=np.float64)[:, :, None]
    heads = np.arange(len(flow))
    load: FloatArray = flow[:, heads, heads].copy()
    flow[:, heads, heads] = 0.0
    load += flow.sum(axis=1)
    load += flow.sum(axis=0).T
    return load


def largest_use(load: FloatArray, carries: FloatArray) -> float:
    """The load of the fullest trunk over its capacity; infinite if there is load without a trunk."""
    if ((load > 0.0) & (carries <= 0.0)).any():
        return float("inf")
    return float((load / np.where(carries > 0.0, carries, 1.0)).max())


def mean_path(load: FloatArray, demand: IntArray | FloatArray) -> float:
    """Mean trunks per bit: 1 if all traffic is direct, 2 if all takes a transit block."""
    return float(load.sum() / demand.sum())


def worst_use(share: FloatArray, demand: IntArray, carries: FloatArray, factor: float, pairs: int) -> float:
    """The largest use if up to `pairs` pairs of blocks send `factor` ≥ 1 times their expected demand.

    Each trunk counts its own worst pairs (a budget of uncertainty: Bertsimas and Sim 2004).
    """
    if not factor >= 1.0:
        raise InvalidInput(f"factor: {factor} is not allowed; must be at least 1")
    blocks = len(demand)
    check_count("pairs", pairs, 0, blocks * blocks)
    flow = share * demand.astype(np.float64)[:, :, None]
    heads, worst = np.arange(blocks), 0.0
    for tail in range(blocks):
        for head in np.flatnonzero(carries[tail] > 0.0).tolist():
            # Each pair loads the trunk once: from the tail over the head, or to the head over the tail.
            onward = np.where(heads == tail, 0.0, flow[:, head, tail])
            parts = np.concatenate([flow[tail, :, head], onward])
            more = (factor - 1.0) * float(np.sort(parts)[len(parts) - pairs :].sum()) if pairs else 0.0
            worst = max(worst, (float(parts.sum()) + more) / float(carries[tail, head]))
    return worst
