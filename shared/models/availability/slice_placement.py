"""Probability that a slice can be placed, with and without routing around failed OCSes (NSDI 2024,
"Resiliency at Scale").

A slice of k cubes needs k working cubes anywhere: P(Binomial(cubes, a) ≥ k). It also needs the fabric: with
at most f failed OCSes routed around, P(Binomial(ocs, 1 − A) ≤ f). f = 0 makes every fault fatal. The circuits
of a slice of one cube join its opposite faces and pass the same OCSes, so it counts in the same way.
"""

from dataclasses import dataclass

from shared.basics.checks import check_count, check_probability
from shared.models.availability.binomial import at_least
from shared.models.availability.fabric_availability import fabric_availability, fabric_ocs
from shared.models.superpod.shapes import POD_CUBES_MAX


@dataclass(frozen=True, slots=True)
class PlacementProbability:
    """P(a slice of `slice_cubes` cubes can be placed)."""

    slice_cubes: int
    with_fault_routing: float
    without_fault_routing: float


def placement_curve(
    cube_availability: float,
    ocs_availability: float,
    *,
    cubes: int = 64,
    kind: str = "cwdm4-bidi",
    faults_tolerated: int | None = None,
) -> list[PlacementProbability]:
    """The placement probability of slices of 1 … cubes cubes.

    `faults_tolerated` is the number of failed OCSes that routing can avoid at a time, None for any number.
    InvalidInput if a value is out of range.
    """
    check_probability("cube-availability", cube_availability)
    check_probability("ocs-availability", ocs_availability)
    check_count("cubes", cubes, 1, POD_CUBES_MAX)
    ocs = fabric_ocs(kind)
    tolerated = ocs if faults_tolerated is None else check_count("faults-tolerated", faults_tolerated, 0, ocs)
    routed = float(at_least(ocs, ocs_availability)[ocs - tolerated])
    all_up = fabric_availability(ocs_availability, ocs)
    enough = at_least(cubes, cube_availability)
    return [
        PlacementProbability(k, float(enough[k]) * routed, float(enough[k]) * all_up)
        for k in range(1, cubes + 1)
    ]
