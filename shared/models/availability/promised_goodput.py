"""Goodput of equal slices: the share of a pod that can be promised to them ([LF] 4.2.2, Figure 15b; [T4] 2.3,
Figure 4).

A cube works if its 16 hosts do: a = A_host^16. A reconfigurable fabric makes k slices of s cubes from any k·s
working cubes: P(Binomial(cubes, a) ≥ k·s). A static fabric has fixed groups of s cubes, each of which works
as a whole or not at all: P(Binomial(cubes // s, a^s) ≥ k). The largest k whose probability meets the target
can be promised; the remaining cubes are held back.
"""

from dataclasses import asdict, dataclass

import numpy as np

from shared.basics.checks import check_count, check_probability
from shared.basics.errors import InvalidInput
from shared.models.availability.binomial import tails
from shared.models.availability.fabric_availability import fabric_availability, fabric_ocs
from shared.models.superpod.shapes import POD_CUBES_MAX
from shared.models.superpod.wiring import CHIPS_PER_CUBE, HOSTS_PER_CUBE

TARGET = 0.97
"""The overall system availability that [LF] 4.2.2 keeps constant; [T4] gives none."""
CUBES = 64
FABRICS = ("reconfigurable", "static")
OCS_KIND = "cwdm8-bidi"
"""Modules of the fabric when the availability of its OCSes counts. With 48 OCSes of 99.9 % the fabric alone
is below 97 %, so no slice could be promised; the statement of [LF] 4.2.2 is true with 24 (derived)."""
FIGURE_HOST_AVAILABILITY = (0.99, 0.995, 0.999)
"""The three curves of [LF] Figure 15b and [T4] Figure 4."""


@dataclass(frozen=True, slots=True)
class Goodput:
    """What a pod can promise.

    `goodput` is the share of its chips in `slices` slices that are available together with this
    `probability`; `held_back_cubes` are the rest.
    """

    goodput: float
    slices: int
    probability: float
    held_back_cubes: int


@dataclass(frozen=True, slots=True)
class GoodputPoint:
    """One point of the figure: its inputs and results."""

    host_availability: float
    slice_chips: int
    fabric: str
    goodput: float
    slices: int
    probability: float
    held_back_cubes: int


def promised_goodput(
    host_availability: float,
    slice_chips: int,
    fabric: str,
    *,
    target: float = TARGET,
    cubes: int = CUBES,
    ocs_availability: float | None = None,
    kind: str = OCS_KIND,
) -> Goodput:
    """The largest number of equal slices that can be promised with probability `target`, and their goodput.

    With `ocs_availability`, the OCSes of a reconfigurable fabric with this kind of modules must work as well,
    and `probability` includes them. This also applies to slices of one cube, because their wrap-around links
    pass the OCSes ([LF] A), although [LF] 4.2.2 gives them the same goodput on a static fabric.

    InvalidInput if a value is out of range, or if a slice is not a multiple of 64 chips or does not fit the
    pod.
    """
    check_probability("host-availability", host_availability)
    check_probability("target", target)
    check_count("cubes", cubes, 1, POD_CUBES_MAX)
    size = _slice_cubes(slice_chips, cubes)
    if fabric not in FABRICS:
        raise InvalidInput(f"fabric: {fabric!r} is not a known fabric; must be one of {', '.join(FABRICS)}")
    ocs = fabric_ocs(kind)
    all_up = 1.0 if ocs_availability is None else fabric_availability(ocs_availability, ocs)
    cube_availability = host_availability**HOSTS_PER_CUBE
    if fabric == "static":
        up = 1.0
        enough, short = tails(cubes // size, cube_availability**size)
    else:
        up = all_up
        enough, short = (side[::size] for side in tails(cubes, cube_availability))
    # Compare the complement when the share is near 1: it keeps digits that 1 would swallow.
    wanted = 0.0 if target == 0.0 else target / up if up > 0.0 else np.inf
    promised = np.flatnonzero(enough >= wanted if wanted < 0.5 else short <= 1.0 - wanted)
    slices = int(promised[-1]) if promised.size else 0
    return Goodput(
        goodput=slices * size / cubes,
        slices=slices,
        # Nothing is promised, so no failure of cubes or fabric matters.
        probability=float(up * enough[slices]) if slices else 1.0,
        held_back_cubes=cubes - slices * size,
    )


def goodput_figure(
    *,
    host_availabilities: tuple[float, ...] = FIGURE_HOST_AVAILABILITY,
    fabrics: tuple[str, ...] = FABRICS,
    target: float = TARGET,
    cubes: int = CUBES,
    ocs_availability: float | None = None,
    kind: str = OCS_KIND,
) -> list[GoodputPoint]:
    """Every point of the figure, by fabric, host availability and slice size."""
    points = []
    for fabric in fabrics:
        for host in host_availabilities:
            for chips in figure_slices(cubes):
                found = promised_goodput(
                    host,
                    chips,
                    fabric,
                    target=target,
                    cubes=cubes,
                    ocs_availability=ocs_availability,
                    kind=kind,
                )
                points.append(GoodputPoint(host, chips, fabric, **asdict(found)))
    return points


def figure_slices(cubes: int) -> list[int]:
    """Slice sizes of the figure in chips: every power of two of cubes, three quarters of the pod, and the
    pod."""
    sizes = {1 << bit for bit in range(cubes.bit_length()) if 1 << bit <= cubes}
    return sorted(CHIPS_PER_CUBE * size for size in {*sizes, max(1, 3 * cubes // 4), cubes})


def _slice_cubes(slice_chips: int, cubes: int) -> int:
    size, rest = divmod(slice_chips, CHIPS_PER_CUBE)
    if rest or not 1 <= size <= cubes:
        nearest = CHIPS_PER_CUBE * min(max((slice_chips + CHIPS_PER_CUBE // 2) // CHIPS_PER_CUBE, 1), cubes)
        raise InvalidInput(
            f"slice-chips: {slice_chips} is not allowed; must be a multiple of {CHIPS_PER_CUBE} up to "
            f"{CHIPS_PER_CUBE * cubes:,}, the chips of the pod; the nearest is {nearest}"
        )
    return size
