"""What the network gives a job over several pods in a burst: two rings across them ([LF] Fig. 2 c; one
each way is our reading).

In every step each pod sends 2·(P − 1)/P·G of G bytes of gradients (Patarasuk and Yuan 2009), half to the next
pod of the ring and half to the one before. In the mean that is a demand like any other. But a job sends it in
a burst, when the step is computed, and waits for the last byte: how fast it is hangs on what its trunks have
left, not on the mean.
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
    """What jobs send, and what those over several pods send in the mean, as one."""
    blocks = len(plant.blocks)
    matrix = np.zeros((blocks, blocks), dtype=np.int64)
    for tail, head, mbps in jobs:
        matrix[tail, head] += mbps
    for _, ring, mbps in rings:
        matrix += np.rint(ring_flow(blocks, ring, mbps)).astype(np.int64)
    return as_flows(matrix)


def mean_mbps(pods: int, gradient_bytes: int, step_us: int) -> int:
    """What each of so many pods sends in the mean, if every step takes so long."""
    bits = 16 * (pods - 1) * gradient_bytes  # twice the gradients, of 8 bits a byte
    return round(bits / (pods * step_us))


def ring_gbps(split: Split, carries: FloatArray, demand: IntArray, ring: RingFlow) -> float:
    """Gb/s that each pod of a ring can send in a burst by the weights in use, while all others send what they
    do in the mean; 0 where one of its pairs of blocks has no path.

    The ring goes by the paths that a table has entries for. Of each of its trunks (B, B) it gets its max-min
    part, which is what others leave where there is enough of that; the trunk that gives least counts.
    """
    return min([gives for gives, _, _ in _by_trunk(split, carries, demand, ring)], default=0.0) / 1_000.0


def narrowest_trunk(
    split: Split, carries: FloatArray, demand: IntArray, ring: RingFlow
) -> tuple[int, int] | None:
    """(tail, head) of the trunk that gives a ring least of those on its way; None where one of its pairs of
    blocks has no path."""
    found = _by_trunk(split, carries, demand, ring)
    return min(found)[1:] if found else None


def _by_trunk(
    split: Split, carries: FloatArray, demand: IntArray, ring: RingFlow
) -> list[tuple[float, int, int]]:
    """(Mb/s that each pod could send if there were only this trunk, tail, head), of every trunk of the ring;
    none where one of its pairs has no path."""
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
    """What a flow without an end gets of a trunk on which others want so much: all of them rise alike, and
    who wants less than the rest keeps what it wants (Bertsekas and Gallager, Data Networks, 6.5)."""
    smallest = np.concatenate([[0.0], np.cumsum(np.sort(wanted))])
    return float(((room - smallest) / np.arange(len(smallest), 0, -1)).max())


def _in_table(share: FloatArray) -> FloatArray:
    """The shares (B, B, B) without those that come to less than half an entry of a table, but for a pair's
    largest."""
    kept = (share >= 0.5 / ENTRIES) | (share == share.max(axis=2, keepdims=True))
    left = np.where(kept, share, 0.0)
    total = left.sum(axis=2, keepdims=True)
    return left / np.where(total > 0.0, total, 1.0)


def _over(flow: FloatArray, tail: int, head: int) -> FloatArray:
    """What pairs of blocks send over a trunk, of which `flow` (B, B, B) has what goes by which path: those
    from its tail, and those that come to its head over the tail."""
    return np.concatenate([flow[tail, :, head], flow[:, head, tail]])
