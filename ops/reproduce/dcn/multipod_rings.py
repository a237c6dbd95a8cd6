"""Claims about pods joined by the datacenter network: their bandwidth inside and across, and what multislice
jobs gain if pods and links are chosen."""

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
"""Number of the eight pods on which the hybrid's job runs."""
POD = (16, 16, 16)
LINK_GB_S = 50
"""Bandwidth of an ICI link, one way, in GB/s ([T4] Table 4)."""
POD_BLOCK = Block("block-0", 400, 512)
"""The block of a pod in `ops/sites/campus.yaml`."""


@lru_cache(maxsize=1)
def _ring_rates() -> list[tuple[float, float, float, float]]:
    """Return four ring rates per matrix: on the mesh with given pods and with chosen ones; on links
    engineered for the rings with given pods and with chosen ones."""
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
        f"with chosen pods alone {pods:.2f} ×, with engineered links alone {links:.2f} × (medians); "
        f"{median(row[0] for row in rates) / 1e6:.0f} Tb/s per pod on the mesh, "
        f"{median(row[3] for row in rates) / 1e6:.0f} in the hybrid. A step's exchange gets shorter by "
        "the same factor",
    )


def _over(rate: float, fixed: float) -> float:
    """Return the ratio of two rates; not a number if neither carries a ring."""
    if fixed > 0.0:
        return rate / fixed
    return math.inf if rate > 0.0 else math.nan


def _inside_over_across() -> Measured:
    """Return the bandwidth of all ICI links of a pod's chips over that of all uplinks of its block, in one
    direction."""
    pod = slice_topology(POD)
    inside = pod.chips * pod.neighbours.shape[1] * LINK_GB_S * 8.0
    across = POD_BLOCK.gbps
    return Measured(
        inside / across,
        note=f"{inside / 1e6:.2f} Pb/s over {across / 1e3:.1f} Tb/s; an uplink counts with the rate of a "
        f"module, although it is one of its two strands; with half the rate {2.0 * inside / across:.0f} × "
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
        "Chosen pods and links engineered for a job's rings give it more bandwidth across pods than a "
        "fixed mesh",
        "[LF] 2.2, Fig. 2 (derived)",
        Stated(1, "×", "above"),
        derived("the paper states substantial performance benefits without a number"),
        "model",
        _hybrid,
        f"a job on {JOB_PODS} of {len(PODS)} pods in addition to the hour's demand; pods that are not "
        "chosen are the first ones; engineered links know the hour and the fixed side does not, so the "
        "direction could hardly differ",
    ),
)
