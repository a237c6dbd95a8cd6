"""Capacity that a slice keeps when traffic is routed around missing links, and the effect on a job's speed.

In integers and instantly, for decisions on a live log: a closed form of the loads of the routing tables
(`routing`), checked against them in tests. In a torus the traffic along a dimension moves to the lines next
to the broken ones, so the remaining links of the narrowest plane carry all of it. A dimension shorter than
the longest has spare capacity in proportion. In a twisted torus all three dimensions are equally loaded and
share the lost load.
"""

from schemas.names import Shape

WHOLE_PPM = 1_000_000
"""Parts per million."""


def kept_ppm(shape: Shape, twisted: bool, left_ppm: tuple[int, int, int]) -> int:
    """The share of its all-to-all throughput that a torus keeps; 0 if no dimension order leads around.

    `left_ppm` is, for x, y and z, the remaining share of the links across the plane that has lost most: 15/16
    if one OCS of that dimension is out.
    """
    if not all(left_ppm):
        return 0
    if twisted:
        return sum(left_ppm) // len(left_ppm)
    longest = max(shape)
    return min(WHOLE_PPM, *[left * longest // side for left, side in zip(left_ppm, shape, strict=True)])


def speed_ppm(kept: int, communication_ppm: int) -> int:
    """Step speed of a job with this communication share at full speed and this share of throughput kept.

    1 ÷ (1 + tax), with tax = communication share × (1 ÷ kept − 1). 0 if none is kept.
    """
    if not kept:
        return 0
    tax_ppm = communication_ppm * (WHOLE_PPM - kept) // kept
    return WHOLE_PPM * WHOLE_PPM // (WHOLE_PPM + tax_ppm)
