"""Network traffic of jobs: checkpoints to storage, input from it, and gradient exchange between pods.

A job on P pods sums its gradients inside each pod over the pod's own links, and across pods in two rings
([LF] Fig. 2 c; one in each direction is our reading). For G bytes a step every pod sends 2·(P − 1)/P·G, the
minimum of an all-reduce (Patarasuk and Yuan 2009): half to the next pod and half to the previous one. Storage
traffic is spread evenly over the storage blocks. All rates are means over time; storage smooths bursts.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shared.basics.checks import check_not_negative, check_positive
from shared.basics.errors import InvalidInput
from shared.models.network.blocks import FloatArray, NetworkLayout, attached_blocks
from shared.models.network.job_rates import PAIR_MAX_MBPS, checkpoint_mbps, input_read_mbps, ring_mbps
from shared.models.superpod.wiring import IntArray


@dataclass(frozen=True, slots=True)
class PodJob:
    """A job on `chips` chips in each of its pods, which are in ring order.

    The whole job writes `checkpoint_gb` every `checkpoint_every_s`; each pod writes its part. Every chip
    reads `input_mbps`. `gradient_gb` is summed over all pods every `step_s`.
    """

    pods: tuple[str, ...]
    chips: int
    step_s: float
    gradient_gb: float = 0.0
    checkpoint_gb: float = 0.0
    checkpoint_every_s: float = 1_800.0
    input_mbps: float = 0.0

    def __post_init__(self) -> None:
        for field in ("step_s", "checkpoint_every_s", "chips"):
            check_positive(field, getattr(self, field))
        for field in ("gradient_gb", "checkpoint_gb", "input_mbps"):
            check_not_negative(field, getattr(self, field))
        if not self.pods or len(set(self.pods)) < len(self.pods):
            raise InvalidInput(
                f"pods: {', '.join(self.pods) or 'an empty list'} is not allowed; must be one or more, "
                "each once"
            )


def job_traffic(plant: NetworkLayout, jobs: Sequence[PodJob], storage: Sequence[str]) -> IntArray:
    """(B, B) Mb/s that all these jobs send.

    InvalidInput names the job if one of its pods is attached to no block, if it needs storage and there is
    none, or if a pair of blocks would exceed the limit.
    """
    places = [plant.number(name) for name in storage]
    flow = np.zeros(plant.rates.shape)
    for n, job in enumerate(jobs):
        blocks = attached_blocks(plant, job.pods, f"job {n}")
        if not places and (job.checkpoint_gb > 0.0 or job.input_mbps > 0.0):
            raise InvalidInput(
                f"job {n}: writes or reads, but storage is empty; must name at least one block"
            )
        for block in blocks:
            for place in places:
                flow[block, place] += checkpoint_mbps(
                    len(blocks), job.checkpoint_gb, job.checkpoint_every_s, len(places)
                )
                flow[place, block] += input_read_mbps(job.chips, job.input_mbps, len(places))
        flow += ring_flow(len(flow), blocks, ring_mbps(len(blocks), job.gradient_gb, job.step_s))
        if not (flow <= PAIR_MAX_MBPS).all():
            raise InvalidInput(
                f"job {n}: sends too much between two blocks; must be at most {PAIR_MAX_MBPS:,} Mb/s"
            )
    traffic: IntArray = np.rint(flow).astype(np.int64)
    return np.where(np.eye(len(flow), dtype=np.bool_), 0, traffic)  # what stays in a block takes no trunk


def ring_flow(blocks: int, ring: Sequence[int], sent: float) -> FloatArray:
    """(B, B) flow between blocks when the pods on each block of a ring send `sent`, half of it in each
    direction.

    Traffic inside a block takes no trunk.
    """
    flow = np.zeros((blocks, blocks))
    for place, block in enumerate(ring):
        for other in (ring[(place + 1) % len(ring)], ring[place - 1]):
            if other != block:
                flow[block, other] += 0.5 * sent
    return flow
