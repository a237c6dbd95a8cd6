"""Claims on pods that meet over the datacenter network: how much more they have inside than across, and what
jobs over several of them gain where pods and links are chosen."""

import math
from functools import lru_cache
from statistics import median

from ops.reproduce.claim import Measured, PaperClaim, Stated, derived, over_matrices
from ops.reproduce.dcn.study import MATRICES, PODS, VERDICT, hour_and_before
from shared.models.dcn.engineering.baselines import uniform_mesh
from shared.models.dcn.engineering.ring_topology import (
    links_for_rings,
    ring_rate,
    roomiest,
)
from shared.models.network.blocks import Block
from shared.models.topology import slice_topology

JOB_PODS = 4
"""Of the eight: over which the job of the hybrid runs."""
POD = (16, 16, 16)
LINK_GB_S = 50
"""Of an ICI link, one way ([T4] Table 4)."""
POD_BLOCK = Block("block-0", 400, 512)
"""What a pod of `ops/sites/campus.yaml` hangs on."""


@lru_cache(maxsize=1)
def _ring_rates() -> list[tuple[float, float, float, float]]:
    """Of each matrix the ring rate (on the mesh with the pods given, with those chosen; on links made for the
    rings with those given, with those chosen)."""
    plant = VERDICT.plant
    mesh, given = uniform_mesh(plant), PODS[:JOB_PODS]
    found = []
    for number in range(MATRICES):
        hour, _ = hour_and_before(VERDICT, plant, number)
        chosen = roomiest(plant, hour, PODS, JOB_PODS)
        found.append(
            (
                ring_rate(plant, mesh, hour, given),
                ring_rate(plant, mesh, hour, chosen),
                ring_rate(plant, links_for_rings(plant, hour, given), hour, given),
                ring_rate(plant, links_for_rings(plant, hour, chosen), hour, chosen),
            )
        )
    return found


def _hybrid() -> Measured:
    rates = _ring_rates()
    pods, links = (over_matrices([_over(row[place], row[0]) for row in rates]).value for place in (1, 2))
    return over_matrices(
        [_over(row[3], row[0]) for row in rates],
        f"by the choice of pods alone {pods:.2f} ×, by links alone {links:.2f} × (medians); "
        f"{median(row[0] for row in rates) / 1e6:.0f} Tb/s a pod on the mesh, "
        f"{median(row[3] for row in rates) / 1e6:.0f} in the hybrid. So much shorter gets what a step "
        "exchanges",
    )


def _over(rate: float, fixed: float) -> float:
    """No figure where neither carries a ring."""
    if fixed > 0.0:
        return rate / fixed
    return math.inf if rate > 0.0 else math.nan


def _inside_over_across() -> Measured:
    """Gb/s of all ICI links of a pod's chips over those of all uplinks of its block, one way either."""
    pod = slice_topology(POD)
    inside = pod.chips * pod.neighbours.shape[1] * LINK_GB_S * 8.0
    across = POD_BLOCK.gbps
    return Measured(
        inside / across,
        note=f"{inside / 1e6:.2f} Pb/s over {across / 1e3:.1f} Tb/s; an uplink has the rate of a module, of "
        f"which it is one strand of two; with half {2.0 * inside / across:.0f} × "
        "(docs/explanation/dcn.md, The plant)",
    )


CLAIMS: tuple[PaperClaim, ...] = (
    PaperClaim(
        "dcn/inside-over-across",
        "A pod's chips have 50 to 100 × more bandwidth inside the pod than across the datacenter network",
        "[LF] 2.2 (derived)",
        Stated(75, "×", 25.0),
        derived("the paper does not state which pods and blocks it means: these are the example campus's"),
        "closed form",
        _inside_over_across,
    ),
    PaperClaim(
        "dcn/hybrid",
        "Pods chosen and links made for a job's rings give it more bandwidth across pods than a fixed mesh",
        "[LF] 2.2, Fig. 2 (derived)",
        Stated(1, "×", "above"),
        derived("the paper states substantial performance benefits without a number"),
        "model",
        _hybrid,
        f"a job on {JOB_PODS} of {len(PODS)} pods in addition to the hour's demand; where not chosen, "
        "its pods are "
        "the first; links know the hour, and the fixed side neither: the direction could hardly be another",
    ),
)
