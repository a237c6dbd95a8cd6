"""What a slice keeps when traffic is routed around links that are gone, and what that costs a job.

In integers and at once, for decisions on a live log: the closed form of the loads of the routing tables
(`routing`), which tests hold it against. In a torus the traffic along a dimension moves over to the lines
beside the broken ones, so that what is left of the narrowest plane of links carries all of it; a dimension
shorter than the longest has as much to spare. In a twisted torus all three dimensions are filled alike and
share the load of what is gone.
"""

from schemas.names import Shape

WHOLE_PPM = 1_000_000
"""Parts per million."""


def kept_ppm(shape: Shape, twisted: bool, left_ppm: tuple[int, int, int]) -> int:
    """The share of its all-to-all throughput that a torus keeps; 0 where no dimension order leads around.

    `left_ppm` is, for x, y and z, which share of the links across a plane is left, in the plane that has lost
    most: 15/16 where one OCS of that dimension is out.
    """
    if not all(left_ppm):
        return 0
    if twisted:
        return sum(left_ppm) // len(left_ppm)
    longest = max(shape)
    return min(WHOLE_PPM, *[left * longest // side for left, side in zip(left_ppm, shape, strict=True)])


def speed_ppm(kept: int, communication_ppm: int) -> int:
    """How fast a job steps that spends this share of a step at full speed on communication, where so much of
    the throughput is kept: 1 ÷ (1 + tax), with tax = communication share × (1 ÷ kept − 1). 0 if none is
    kept."""
    if not kept:
        return 0
    tax_ppm = communication_ppm * (WHOLE_PPM - kept) // kept
    return WHOLE_PPM * WHOLE_PPM // (WHOLE_PPM + tax_ppm)
