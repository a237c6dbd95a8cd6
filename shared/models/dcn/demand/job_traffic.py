"""What the jobs on a site's pods send over the network: checkpoints to storage, input from it, and the sums
of gradients that jobs over several pods make.

A job that runs on P pods sums its gradients in each pod over the pod's own links and across pods in two
rings ([LF] Fig. 2 c; one each way is our reading): of G bytes a step every pod sends 2·(P − 1)/P·G, the
least that an all-reduce takes (Patarasuk and Yuan 2009), half of it to the next pod and half to the one
before. What is written and read is spread evenly over the blocks of storage. All are means over time: bursts
are the storage's to smooth.
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
    """A job on so many chips in each of its pods, in the order of its rings. `checkpoint_gb` of the whole job
    every `checkpoint_every_s`, of which each pod writes its part; `input_mbps` read by every chip;
    `gradient_gb` summed over all pods every `step_s`."""

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
                f"pods: {', '.join(self.pods) or 'none'} is not allowed; must be one or more, each once"
            )


def job_traffic(plant: NetworkLayout, jobs: Sequence[PodJob], storage: Sequence[str]) -> IntArray:
    """(B, B) Mb/s that all these jobs send. InvalidInput names the job and the pod that hangs on no block, or
    says that there is no storage for what it writes and reads, or with which job a pair of blocks has more to
    send than any may."""
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
    """(B, B) what goes from block to block when the pods on each of the blocks of a ring send so much: half
    of it either way round. What stays in a block takes no trunk."""
    flow = np.zeros((blocks, blocks))
    for place, block in enumerate(ring):
        for other in (ring[(place + 1) % len(ring)], ring[place - 1]):
            if other != block:
                flow[block, other] += 0.5 * sent
    return flow
