"""Points that the papers state of availability and goodput, which claims and charts compare with."""

from shared.models.availability.promised_goodput import (
    CUBES,
    FABRICS,
    FIGURE_HOST_AVAILABILITY,
    OCS_KIND,
    TARGET,
)

LF_15A = ((0.999, 0.90), (0.999, 0.95), (0.999, 0.98))
RECONFIGURABLE, STATIC = FABRICS
StatedGoodput = tuple[float, str, int, float]
"""(host availability, fabric, chips of a slice, goodput)."""
LF_15B: tuple[StatedGoodput, ...] = (
    (0.999, STATIC, 1024, 0.25),
    *((host, RECONFIGURABLE, 1024, 0.75) for host in (0.995, 0.999)),
    (0.99, RECONFIGURABLE, 1024, 0.50),
    *((host, RECONFIGURABLE, 2048, 0.50) for host in FIGURE_HOST_AVAILABILITY),
)
T4_4: tuple[StatedGoodput, ...] = (
    *((host, RECONFIGURABLE, 1024, 0.75) for host in (0.99, 0.995)),
    *((host, RECONFIGURABLE, 2048, 0.50) for host in FIGURE_HOST_AVAILABILITY),
    *((host, RECONFIGURABLE, 3072, 0.75) for host in FIGURE_HOST_AVAILABILITY),
)
"""From the text of [T4], which states no number for a static pod: its Figure 4 only draws one. For 2,048 and
3,072 chips the text names no host availability; they are read as any of the figure's."""
NSDI_PLACEMENT = ((50, 0.99), (53, 0.93), (55, 0.78), (57, 0.51), (59, 0.22), (61, 0.05))
"""Digitised, ± 2 points."""
NSDI_PLACEMENT_FATAL = ((1, 0.94), (25, 0.94), (50, 0.94))


def stated_goodput(
    *, target: float, cubes: int, ocs_availability: float | None, kind: str
) -> tuple[StatedGoodput, ...]:
    """The points that a paper states for these model parameters, if any."""
    if (target, cubes) != (TARGET, CUBES):
        return ()
    if ocs_availability is None:
        return T4_4
    return LF_15B if (ocs_availability, kind) == (0.999, OCS_KIND) else ()
