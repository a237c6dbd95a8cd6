"""Group `optics`: bit error rates of a full pod compared with the plain chain, and of a part compared with
the whole.

It also times the manufacture of all OCSes and of all pairings of a pod.
"""

import statistics
import time
from collections.abc import Callable

import numpy as np

from shared.models.optics.fast_lane_ber import LaneKernel
from shared.models.optics.lane_ber import lane_log10_ber
from shared.models.optics.link_design import LinkDesign, OcsPath, Strands
from shared.models.optics.manufactured_modules import Lanes, lanes_between, manufactured_modules
from shared.models.optics.palomar import manufacture
from shared.models.optics.qualification import Conditions, qualify_pod
from shared.models.superpod.wiring import ENDS_PER_CUBE, STRANDS
from tools.bench.figure import BenchFigure

LINK_ENDS = 64 * ENDS_PER_CUBE
COUNTS_ABOVE = -15.0
"""log10 of the lowest bit error rate that matters."""
CHANGED = 10
"""One strand in this many changes."""


def measure_optics(quick: bool) -> list[BenchFigure]:
    """Measure medians of repeated runs in this process. The runs of each ratio take turns."""
    repeats = 15 if quick else 101
    design = LinkDesign()
    everything, made = Strands(_ocs_of_a_pod()).each(), _modules_of_a_pod()
    kernel = LaneKernel(design)
    numbers = np.arange(0, LINK_ENDS * STRANDS, CHANGED)
    part, made_part = everything.part(numbers), made.part(numbers)
    plain_s, fast_s = _medians(
        repeats,
        lambda: lane_log10_ber(design, everything, made),
        lambda: kernel.lane_log10_ber(everything, made),
    )
    whole_s, part_s = _medians(
        repeats,
        lambda: kernel.lane_log10_ber(everything, made),
        lambda: kernel.lane_log10_ber(part, made_part),
    )
    exact = lane_log10_ber(design, everything, made)
    error = float(np.abs(kernel.lane_log10_ber(everything, made) - exact)[exact > COUNTS_ABOVE].max())
    lanes = f"{LINK_ENDS:,} link ends × 8 lanes, loss to bit error rate"
    median = f"median of {repeats}"
    made_s, qualified_s = _medians(
        max(3, repeats // 10),
        lambda: manufacture(7, "pod-0", np.arange(48)).insertion_loss_db(),
        lambda: qualify_pod(Conditions(7)),
    )
    return [
        BenchFigure(
            "optics pod, plain chain", _ms(plain_s), "ms", "-", f"{lanes}; float64 numpy and scipy, {median}"
        ),
        BenchFigure("optics pod", _ms(fast_s), "ms", "-", f"the same lanes, {median}"),
        BenchFigure(
            "optics plain over fast", round(plain_s / fast_s, 1), "ratio", "at least 2", "the two above"
        ),
        BenchFigure("optics error", round(error, 5), "log10 BER", "below 0.01", "largest of all these lanes"),
        BenchFigure("optics tenth of a pod", _ms(part_s), "ms", "-", f"every tenth strand changes, {median}"),
        BenchFigure(
            "optics full over tenth",
            round(whole_s / part_s, 1),
            "ratio",
            "at least 5",
            "of the fast way, in turns",
        ),
        BenchFigure(
            "optics OCSes made", _ms(made_s), "ms", "under 300", "48 OCSes, loss of all 136 × 136 pairs each"
        ),
        BenchFigure(
            "optics pod qualified", _ms(qualified_s), "ms", "-", "64 × 6,144 pairings of 8 lanes, one sweep"
        ),
    ]


def _ocs_of_a_pod() -> OcsPath:
    """Return what the OCSes put between the ends of a full pod, each cube joined to the next, as both sides
    see it."""
    made = manufacture(7, "pod-0", np.arange(48))
    north = np.arange(LINK_ENDS // 48)
    south = (north + STRANDS) % len(north)
    loss_db = made.insertion_loss_db()[:, north, south]
    north_db, south_db = made.north_return_loss_db[:, north], made.south_return_loss_db[:, south]
    both = ((loss_db, north_db, south_db), (loss_db, south_db, north_db))
    return OcsPath(*(np.stack(arrays).ravel() for arrays in zip(*both, strict=True)))


def _modules_of_a_pod() -> Lanes:
    """Return the lanes of those links as manufactured, one row per strand."""
    ends = np.arange(LINK_ENDS)
    return lanes_between(manufactured_modules(7, "pod-0", LINK_ENDS), ends, ends[::-1], STRANDS).each()


def _medians(repeats: int, *works: Callable[[], object]) -> list[float]:
    """Return the median wall time of each in seconds. They take turns, so that noise affects all alike."""
    spans: list[list[float]] = [[] for _ in works]
    for _ in range(repeats):
        for work, taken in zip(works, spans, strict=True):
            started = time.perf_counter()
            work()
            taken.append(time.perf_counter() - started)
    return [statistics.median(taken) for taken in spans]


def _ms(seconds: float) -> float:
    return round(1e3 * seconds, 3)
