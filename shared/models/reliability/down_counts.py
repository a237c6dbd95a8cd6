"""Number of machines down: many replications of the birth-death chain at once.

If only counts are needed, a replication is a number. It moves up or down by a draw that is compared with the
share of failures among the events of its state. Each state is weighted by the mean time that the chain stays
in it. That is less noisy than drawn times and needs no draws (discrete-time conversion, Hordijk, Iglehart and
Schassberger 1976).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shared.basics.checks import check_count, check_positive
from shared.basics.keyed_random import draw_bits_array
from shared.models.reliability.draws import FloatArray, counts

ComplexArray = npt.NDArray[np.complex128]
BLOCK = 16_384
"""Approximate number of draws made at once."""
_DRAWS = 2.0**32


@dataclass(frozen=True, slots=True)
class Counted:
    """`down` is the mean number down over all replications, weighted by time; `error` is its standard error
    between replications.

    `events` is the number of events without the warm-up.
    """

    down: float
    error: float
    events: int
    by_replication: FloatArray
    """The mean number down of each, shape (replications,)."""


def count_down(
    machines: int,
    crews: int,
    failure_rate: float,
    repair_rate: float,
    *,
    seed: int,
    replications: int,
    events: int,
    warm_up: int = 0,
    begin: int = 0,
) -> Counted:
    """The mean number down, from `replications` of `events` events each after a `warm_up`, starting with
    `begin` machines down.

    InvalidInput if a value is out of range.
    """
    check_count("machines", machines, 1)
    check_count("replications", replications, 2, 10_000_000)
    check_count("events", events, 1, 1_000_000_000)
    check_count("warm-up", warm_up, 0, 1_000_000_000)
    check_count("begin", begin, 0, machines)
    check_count("crews", crews, 1)
    share, weight = _chain(
        machines,
        crews,
        check_positive("failure-rate", failure_rate),
        check_positive("repair-rate", repair_rate),
    )
    state = np.full(replications, begin, dtype=np.int64)
    total, here = np.zeros((2, replications), dtype=weight.dtype)
    least, up = np.empty(replications, dtype=share.dtype), np.empty(replications, dtype=np.bool_)
    for n, draw in enumerate(_draws(seed, replications, warm_up + events)):
        if n >= warm_up:
            weight.take(state, out=here, mode="clip")
            total += here
        share.take(state, out=least, mode="clip")
        np.less(draw, least, out=up)
        state += up
        state += up
        state -= 1
    time, area = total.real, total.imag
    # A ratio of sums: replications whose chains stayed longer cover more time.
    down = float(area.sum() / time.sum())
    off = (area - down * time) / time.mean()
    error = math.sqrt(float((off * off).sum()) / (replications - 1) / replications)
    return Counted(down, error, events * replications, area / time)


def _chain(
    machines: int, crews: int, failure_rate: float, repair_rate: float
) -> tuple[npt.NDArray[np.uint32], ComplexArray]:
    """By number down, shape (machines + 1,): the share of failures among events, times 2³², and the mean
    times.

    The mean time until an event, and that times the number down, are one complex number, so one lookup gives
    both.
    """
    down = np.arange(machines + 1)
    ups = (machines - down) * failure_rate
    both = ups + np.minimum(down, crews) * repair_rate
    # With all machines down none can fail: no draw is below the share. With none down the next event is a
    # failure.
    share = np.minimum(np.rint(ups / both * _DRAWS), _DRAWS - 1.0).astype(np.uint32)
    return share, np.asarray((1.0 + 1j * down) / both, dtype=np.complex128)


def _draws(seed: int, replications: int, steps: int) -> Iterator[npt.NDArray[np.uint32]]:
    """A 32-bit draw for each replication, step after step, each shape (replications,): both halves of keyed
    draws.

    With none down, a draw of all ones must fail a machine as well; it does not occur.
    """
    words = (replications + 1) // 2
    block = max(1, BLOCK // words)
    for first in range(0, steps, block):
        many = min(block, steps - first)
        bits = draw_bits_array(seed, "counts", "kernel jump", counts(first * words, many * words))
        halves = np.minimum(bits.view(np.uint32), np.uint32(_DRAWS - 2.0)).reshape(many, 2 * words)
        yield from halves[:, :replications]
