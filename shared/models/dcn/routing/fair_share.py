"""Traffic carried under overload: the flows on every path share trunks max-min fairly (Bertsekas and
Gallager, Data Networks, 6.5: progressive filling).

All flows get the same rising share of their demand until a trunk is full. The flows through it stop there;
the others continue to rise. Greedy flows, like those of TCP, rise until all are stopped.
"""

from dataclasses import dataclass

import numpy as np

from shared.models.dcn.routing.path_loads import trunk_loads
from shared.models.network.blocks import FloatArray
from shared.models.superpod.wiring import IntArray

NOTHING = 1e-9
"""Relative to a trunk's load: smaller remainders are rounding errors of subtraction."""


@dataclass(frozen=True, eq=False, slots=True)
class FairShare:
    """`served` (B, B, B): the share of its demand that each path's flows get, at most 1 unless they are
    greedy.

    `throughput` is that of all flows together; `load` (B, B) is in the demand's unit.
    """

    served: FloatArray
    throughput: float
    load: FloatArray


def fair_share(share: FloatArray, demand: IntArray, carries: FloatArray, most: float = 1.0) -> FairShare:
    """The max-min fair rates of a demand (B, B) over paths by shares (B, B, B) on trunks (B, B).

    `most`: flows take up to this multiple of their demand; infinite for greedy flows, in proportion to
    demand.
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
        # The flows from the tail over the head, and those to the head over the tail, stop at this level.
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
    # Flows that never met a full trunk get everything; greedy ones all meet one, except flows without demand.
    served[rising > 0.0] = most if most < np.inf else 0.0
    carried = served * flow
    return FairShare(served, float(carried.sum() / flow.sum()), trunk_loads(carried, once))


def slowdown(share: FloatArray, demand: IntArray, carries: FloatArray) -> float:
    """Mean factor by which a flow takes longer than on empty trunks, over all traffic; infinite if a trunk is
    full.

    Flows that arrive at random and share the remaining capacity take 1 ÷ (1 − use) times as long at a use
    below 1, whatever their sizes (processor sharing: Kleinrock, Queueing Systems II, 4.4). On a path its
    fullest trunk counts.
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
