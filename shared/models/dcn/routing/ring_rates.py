"""Burst rate of a multislice job's rings ([LF] Fig. 2 c; one ring in each direction is our reading).

In every step each pod sends 2·(P − 1)/P·G for G bytes of gradients (Patarasuk and Yuan 2009), half to the
next pod of the ring and half to the previous one. On average this is a demand like any other. But a job sends
it in a burst when the step is computed, and waits for the last byte. Its speed therefore depends on the
remaining capacity of its trunks, not on the mean.
"""

from collections.abc import Iterable

import numpy as np

from schemas.messages.demands import RingFlow
from shared.models.dcn.demand.job_traffic import ring_flow
from shared.models.dcn.routing.carried_traffic import Flow, as_flows, shares_on
from shared.models.dcn.routing.path_loads import trunk_loads, unreachable_pairs
from shared.models.dcn.routing.wcmp_tables import ENTRIES
from shared.models.dcn.routing.weights import Split
from shared.models.network.blocks import FloatArray, NetworkLayout
from shared.models.superpod.wiring import IntArray


def with_rings(plant: NetworkLayout, jobs: Iterable[Flow], rings: Iterable[RingFlow]) -> tuple[Flow, ...]:
    """Job traffic, including the mean ring traffic of multislice jobs."""
    blocks = len(plant.blocks)
    matrix = np.zeros((blocks, blocks), dtype=np.int64)
    for tail, head, mbps in jobs:
        matrix[tail, head] += mbps
    for _, ring, mbps in rings:
        matrix += np.rint(ring_flow(blocks, ring, mbps)).astype(np.int64)
    return as_flows(matrix)


def mean_mbps(pods: int, gradient_bytes: int, step_us: int) -> int:
    """Mean rate of each pod if every step takes `step_us`."""
    bits = 16 * (pods - 1) * gradient_bytes  # twice the gradients, at 8 bits a byte
    return round(bits / (pods * step_us))


def ring_gbps(split: Split, carries: FloatArray, demand: IntArray, ring: RingFlow) -> float:
    """Gb/s that each pod of a ring can send in a burst under the current weights, while all others send their
    mean.

    0 if one of its pairs of blocks has no path. The ring uses the paths that have table entries. On each of
    its trunks (B, B) it gets its max-min share, which is the remaining capacity if that is enough; the trunk
    that gives the least decides.
    """
    return min([gives for gives, _, _ in _by_trunk(split, carries, demand, ring)], default=0.0) / 1_000.0


def narrowest_trunk(
    split: Split, carries: FloatArray, demand: IntArray, ring: RingFlow
) -> tuple[int, int] | None:
    """(tail, head) of the trunk that gives a ring the least; None if a pair of its blocks has no path."""
    found = _by_trunk(split, carries, demand, ring)
    return min(found)[1:] if found else None


def _by_trunk(
    split: Split, carries: FloatArray, demand: IntArray, ring: RingFlow
) -> list[tuple[float, int, int]]:
    """(Mb/s for each pod if this were the only trunk, tail, head) for every trunk of the ring.

    Empty if one of its pairs has no path.
    """
    _, blocks, mean = ring
    flow = ring_flow(len(carries), blocks, 1.0)
    if not flow.any() or unreachable_pairs(carries, flow).any():
        return []
    share = shares_on(split, carries)
    others = share * np.maximum(demand - mean * flow, 0.0)[:, :, None]
    unit = trunk_loads(_in_table(share), flow)
    return [
        (
            max_min_part(float(carries[tail, head]), _over(others, tail, head)) / float(unit[tail, head]),
            tail,
            head,
        )
        for tail, head in np.argwhere(unit > 0.0).tolist()
    ]


def max_min_part(room: float, wanted: FloatArray) -> float:
    """Share of a greedy flow on a trunk with other flows: all rise alike, and smaller flows keep their demand
    (Bertsekas and Gallager, Data Networks, 6.5)."""
    smallest = np.concatenate([[0.0], np.cumsum(np.sort(wanted))])
    return float(((room - smallest) / np.arange(len(smallest), 0, -1)).max())


def _in_table(share: FloatArray) -> FloatArray:
    """The shares (B, B, B) without those below half a table entry, except a pair's largest."""
    kept = (share >= 0.5 / ENTRIES) | (share == share.max(axis=2, keepdims=True))
    left = np.where(kept, share, 0.0)
    total = left.sum(axis=2, keepdims=True)
    return left / np.where(total > 0.0, total, 1.0)


def _over(flow: FloatArray, tail: int, head: int) -> FloatArray:
    """Traffic of pairs over a trunk, from flows (B, B, B) by path: from its tail, and to its head over the
    tail."""
    return np.concatenate([flow[tail, :, head], flow[:, head, tail]])
