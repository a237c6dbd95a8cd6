"""What the network carries when it is asked for more than it can: the flows on every path share trunks
max-min fairly (Bertsekas and Gallager, Data Networks, 6.5: progressive filling).

All flows are served the same share of what they want, rising, until a trunk is full; those that pass it stay
there, and the others rise on. Flows that take whatever there is, as TCP's do, rise until all are stayed so.
"""

from dataclasses import dataclass

import numpy as np

from shared.models.dcn.routing.path_loads import trunk_loads
from shared.models.network.blocks import FloatArray
from shared.models.superpod.wiring import IntArray

NOTHING = 1e-9
"""Of a trunk's load: less than this is what subtracting leaves of nothing."""


@dataclass(frozen=True, eq=False, slots=True)
class FairShare:
    """`served` (B, B, B): the share that the flows of every path get of what they want, 1 at most unless they
    take more; `throughput` of all together; `load` (B, B) in the demand's unit."""

    served: FloatArray
    throughput: float
    load: FloatArray


def fair_share(share: FloatArray, demand: IntArray, carries: FloatArray, most: float = 1.0) -> FairShare:
    """The max-min fair rates of a demand (B, B) over paths by shares (B, B, B) on trunks (B, B).

    `most`: flows take up to so many times what they want; infinite where they take whatever there is, in
    proportion to what they want.
    """
    once = np.ones_like(carries)
    flow = share * demand.astype(np.float64)[:, :, None]
    rising, served = flow.copy(), np.zeros_like(flow)
    still, settled = trunk_loads(flow, once), np.zeros_like(carries)
    nothing = NOTHING * still
    while True:
        room = np.maximum(carries - settled, 0.0)
        level = np.where(still > nothing, room / np.where(still > nothing, still, 1.0), np.inf)
        tail, head = divmod(int(level.argmin()), len(carries))
        least = float(level[tail, head])
        if least >= most:
            break
        # The flows from the tail over the head, and those to the head over the tail, stay at this level.
        onward, inward = rising[tail, :, head].copy(), rising[:, head, tail].copy()
        served[tail, onward > 0.0, head] = least
        served[inward > 0.0, head, tail] = least
        rising[tail, :, head] = rising[:, head, tail] = 0.0
        onward[head] = 0.0
        still[head] -= onward
        settled[head] += least * onward
        still[:, tail] -= inward
        settled[:, tail] += least * inward
        settled[tail, head] += least * still[tail, head]
        still[tail, head] = 0.0
    # Flows that never met a full trunk have all; endless ones all meet one but for those that are nothing.
    served[rising > 0.0] = most if most < np.inf else 0.0
    carried = served * flow
    return FairShare(served, float(carried.sum() / flow.sum()), trunk_loads(carried, once))


def slowdown(share: FloatArray, demand: IntArray, carries: FloatArray) -> float:
    """How much longer than on empty trunks a flow takes in the mean over all that is sent; infinite where a
    trunk is full.

    Flows that come at random and share what is left to them take 1 ÷ (1 − use) times as long at a use below
    1, whatever their sizes (processor sharing: Kleinrock, Queueing Systems II, 4.4); on a path its fullest
    trunk counts.
    """
    blocks = len(carries)
    heads = np.arange(blocks)
    load = trunk_loads(share, demand)
    used = np.where(
        carries > 0.0, load / np.where(carries > 0.0, carries, 1.0), np.where(load > 0, np.inf, 0.0)
    )
    flow = share * demand.astype(np.float64)[:, :, None]
    fullest = np.maximum(used[:, None, :], used.T[None, :, :])
    fullest[:, heads, heads] = used
    reached = float(fullest[flow > 0.0].max(initial=0.0))
    if reached >= 1.0:
        return float("inf")
    return float((flow / (1.0 - np.where(flow > 0.0, fullest, 0.0))).sum() / flow.sum())
