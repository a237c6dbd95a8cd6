"""The kernel with the history of every part: when it failed, when its repair began and when it ended.

In plain Python, or compiled by numba with the same bits.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shared.basics.checks import check_positive
from shared.models.reliability.draws import FloatArray, IntArray, exponentials, lognormals
from shared.models.reliability.event_loop import (
    COUNTS,
    FREE,
    FREE_SPECIAL,
    NOT_YET,
    OPENED,
    RECORDS,
    advance,
    next_queue,
)
from shared.models.reliability.fault_stream import MARGIN, FaultStream
from shared.models.reliability.repair_shop import Shop

FAULTS_PER_PIECE = 8_192
"""Approximate number of faults drawn at once."""
Loop = Callable[..., None]
"""`plain`, or the compiled form: `advance` with its `next_queue`."""
RepairDraws = Callable[[int, int], FloatArray]
"""Function from the first repair number and a count to repair times of mean 1."""


@dataclass(frozen=True, slots=True)
class FaultPiece:
    """Faults of a period that ends at `end`: start times, struck parts, and notice times (empty: at once)."""

    end: float
    at: FloatArray
    struck_parts: IntArray
    noticed: FloatArray


@dataclass(frozen=True, slots=True)
class FailureHistory:
    """Every failure up to `until` in order of time, arrays of shape (failures,).

    `part` is its number over all classes. It `failed`, its repair `began` and it was `mended` at these times,
    NaN if later than `until`. `asked` numbers repairs in order of their requests, −1 for those not noticed
    yet.
    """

    shop: Shop
    until: float
    part: IntArray
    failed: FloatArray
    asked: IntArray
    began: FloatArray
    mended: FloatArray

    @property
    def events(self) -> int:
        """Failures and completed repairs."""
        return len(self.failed) + int(np.isfinite(self.mended).sum())

    def mean_down(self, since: float = 0.0) -> float:
        """Mean number of parts down from `since` on."""
        ended = np.where(np.isnan(self.mended), self.until, self.mended)
        spans = np.maximum(ended, since) - np.maximum(self.failed, since)
        return float(spans.sum()) / (self.until - since)

    def mean_wait(self) -> float:
        """Mean time from failure to the start of repair, over repairs that have begun; NaN if
        there is none."""
        waits = (self.began - self.failed)[np.isfinite(self.began)]
        return float(waits.mean()) if waits.size else math.nan


def plain(*groups: Any) -> None:
    """The loop in plain Python."""
    advance(next_queue, *groups)


def simulate(shop: Shop, seed: int, until: float, loop: Loop = plain) -> FailureHistory:
    """Simulates from time 0 with all parts working. InvalidInput unless `until` is above 0.

    `loop` is the plain one, or that of `shared.models.reliability.compiled_kernel`.
    """
    faults = FaultStream(shop, seed).rate * check_positive("until", until)
    room = math.ceil(faults + MARGIN * math.sqrt(faults)) + 1
    return replay(shop, pieces_of(shop, seed, until), repair_draws(shop, seed), loop, room)


def pieces_of(shop: Shop, seed: int, until: float) -> Iterator[FaultPiece]:
    """The faults of a shop for a seed, each noticed at once."""
    stream = FaultStream(shop, seed)
    many = max(1, math.ceil(stream.rate * until / FAULTS_PER_PIECE))
    nothing = np.empty(0)
    for n in range(1, many + 1):
        end = until * (n / many)
        faults = stream.until(end)
        yield FaultPiece(end, faults.at, faults.struck_parts, nothing)


def repair_draws(shop: Shop, seed: int) -> RepairDraws:
    """The repair times of a shop for a seed."""
    sigma = shop.sigma
    if sigma is None:
        return lambda first, many: exponentials(seed, "shop", "kernel repair", first, many)
    return lambda first, many: lognormals(seed, "shop", "kernel repair", first, many, sigma)


def replay(
    shop: Shop, pieces: Iterable[FaultPiece], units: RepairDraws, loop: Loop = plain, room: int = 0
) -> FailureHistory:
    """The history for given faults and repair times.

    Pieces follow each other in time; parts are numbered over all classes. `room` is the expected maximum
    number of failures.
    """
    loop_state = _LoopState(shop, loop, room)
    end = 0.0
    for piece in pieces:
        loop_state.take(piece, units)
        end = piece.end
    return loop_state.history(end)


def _as_list(values: npt.NDArray[Any]) -> Any:
    return values.tolist()


class _LoopState:
    """The mutable state of the loop, as lists or as arrays."""

    def __init__(self, shop: Shop, loop: Loop, room: int) -> None:
        self._shop = shop
        self._room = room
        self._make: Callable[[npt.NDArray[Any]], Any] = _as_list if loop is plain else np.asarray
        self._loop = loop
        classes = shop.classes
        priorities = 1 + max(one.repair_priority for one in classes)
        whole, real = np.int64, np.float64
        make = self._make
        self._by_shop = (
            make(np.repeat(np.arange(len(classes), dtype=whole), [one.number for one in classes])),
            make(np.array([one.repair_time for one in classes], dtype=real)),
            make(np.array([2 * one.repair_priority + one.special for one in classes], dtype=whole)),
        )
        self._down = make(np.zeros(shop.parts, dtype=np.int8))
        self._records: list[Any] = [make(np.empty(0, dtype=kind)) for kind, _ in _COLUMNS]
        self._queues = (make(np.full(2 * priorities, -1)), make(np.full(2 * priorities, -1)))
        # Each part is noticed or repaired only once at a time.
        self._work = (make(np.zeros(shop.parts)), make(np.zeros(shop.parts, dtype=whole)))
        first = np.zeros(COUNTS, dtype=whole)
        first[FREE], first[FREE_SPECIAL] = shop.crews, shop.specialists
        self._counts = make(first)

    def take(self, piece: FaultPiece, units: RepairDraws) -> None:
        counts, make = self._counts, self._make
        opened, records = int(counts[OPENED]), int(counts[RECORDS])
        most = records + len(piece.at)
        self._records = [
            self._grown(column, most, kind, empty)
            for column, (kind, empty) in zip(self._records, _COLUMNS, strict=True)
        ]
        # Faults not noticed before this piece may be noticed in it.
        drawn = make(units(opened, most - opened))
        self._loop(
            piece.end,
            (make(piece.at), make(piece.struck_parts), make(piece.noticed)),
            self._by_shop,
            (drawn, opened),
            (tuple(self._records), self._queues, self._work, self._down, counts),
        )

    def _grown(self, column: Any, most: int, kind: Any, empty: float) -> Any:
        if isinstance(column, list):
            column += self._make(np.full(max(0, most - len(column)), empty, dtype=kind))
            return column
        if most <= len(column):
            return column
        # Growing copies the arrays, so it is done rarely.
        grown = np.full(max(most, self._room, 2 * len(column)), empty, dtype=kind)
        grown[: len(column)] = column
        return grown

    def history(self, until: float) -> FailureHistory:
        many = int(self._counts[RECORDS])
        part, failed, asked, begun, mended = (
            np.asarray(column[:many], dtype=kind)
            for column, (kind, _) in zip(self._records[:5], _COLUMNS[:5], strict=True)
        )
        for column in (begun, mended):
            column[column < 0.0] = np.nan
        return FailureHistory(self._shop, until, part, failed, asked, begun, mended)


_COLUMNS: tuple[tuple[Any, float], ...] = (
    (np.int32, 0),
    (np.float64, 0.0),
    (np.int32, -1),
    (np.float64, NOT_YET),
    (np.float64, NOT_YET),
    (np.float64, 0.0),
    (np.int8, 0),
    (np.int32, -1),
)
"""Of records: type and initial value."""
