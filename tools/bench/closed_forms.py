"""Group `availability`: the goodput figure compared with scipy's distributions, and all of `lightwave
reproduce`."""

import subprocess
import time
from collections.abc import Callable

import numpy as np

from shared.basics.errors import OperationFailed
from shared.models.availability.promised_goodput import (
    CUBES,
    FABRICS,
    FIGURE_HOST_AVAILABILITY,
    TARGET,
    goodput_figure,
)
from shared.models.availability.promised_goodput import figure_slices as slices_in_chips
from shared.models.superpod.wiring import CHIPS_PER_CUBE, HOSTS_PER_CUBE
from tools.bench.figure import BenchFigure

REPEATS = 9


def measure_availability(quick: bool, lightwave: str) -> list[BenchFigure]:
    """Measure the 48 points of the goodput figure, with our code and with scipy in the same run, and all
    claims in one process. `lightwave` is the command of this installation."""
    ours = [point.slices for point in goodput_figure()]
    if ours != _by_scipy():
        raise OperationFailed("goodput: scipy's distributions give different slices")
    ours_s, peer_s = _best(goodput_figure), _best(_by_scipy)
    how = f"{len(ours)} points, the best of {REPEATS} in one process, imports done"
    figures = [
        BenchFigure("goodput figure", round(1e3 * ours_s, 2), "ms", "-", how),
        BenchFigure(
            "scipy goodput figure", round(1e3 * peer_s, 2), "ms", "the peer", f"scipy.stats.binom; {how}"
        ),
        BenchFigure(
            "goodput over scipy",
            round(peer_s / ours_s, 1),
            "ratio",
            "-",
            "scipy's time over ours, same slices",
        ),
    ]
    if not quick:
        started = time.perf_counter()
        done = subprocess.run([lightwave, "reproduce", "-o", "json"], stdout=subprocess.DEVNULL, check=False)  # noqa: S603 -- own command
        if done.returncode != 0:
            raise OperationFailed(f"lightwave reproduce ended with {done.returncode}")
        taken_s = round(time.perf_counter() - started, 1)
        figures.append(
            BenchFigure(
                "reproduce, every claim",
                taken_s,
                "s",
                "under 180",
                "including lab runs of five seeds",
            )
        )
    return figures


def _by_scipy() -> list[int]:
    """Return the slices of every point of the figure, each from one call of a distribution over all
    counts."""
    from scipy.stats import binom

    found = []
    for fabric in FABRICS:
        for host in FIGURE_HOST_AVAILABILITY:
            for size in (chips // CHIPS_PER_CUBE for chips in slices_in_chips(CUBES)):
                cube, most = host**HOSTS_PER_CUBE, CUBES // size
                counts = np.arange(most + 1)
                if fabric == "static":
                    tail = binom.sf(counts - 1, most, cube**size)
                else:
                    tail = binom.sf(counts * size - 1, CUBES, cube)
                found.append(int(np.flatnonzero(tail >= TARGET)[-1]))
    return found


def _best(call: Callable[[], object]) -> float:
    """Return the shortest of several runs, in seconds."""
    taken = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        call()
        taken.append(time.perf_counter() - started)
    return min(taken)
