"""Many futures of a site, each with and without what is asked, under the same draws: what it would cost."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from ops.forecast.forecast_measures import MEASURES
from ops.forecast.future_run import FutureRun, run_future
from ops.local.process_pool import WorkerPool
from ops.requests.timed_requests import TimedRequest
from shared.basics.errors import InvalidInput
from shared.models.statistics.means import Interval, mean_interval
from shared.models.statistics.paired_runs import paired_difference
from shared.storage.snapshots.site_snapshot import from_bytes

FUTURES_MAX = 10_000
WORST_BY = ("goodput", "served")
"""What makes a future the worst one: the first of these that it has."""


FuturePair = tuple[FutureRun, FutureRun | None]
"""A future without what is asked and, where anything is, with it."""


@dataclass(frozen=True, slots=True)
class ForecastCase:
    """A snapshot, as bytes; the moment from which it is looked at, and for how long; and what is asked."""

    snapshot_bytes: bytes
    from_us: int
    for_us: int
    requests: tuple[TimedRequest, ...] = ()


@dataclass(frozen=True, slots=True)
class ForecastRow:
    """One figure of all futures: in the mean without what is asked, with it, and the difference of both in
    the same futures; None where nothing is asked, or no future tells of it."""

    name: str
    unit: str
    meaning: str
    digits: int
    without: Interval | None
    requested: Interval | None
    difference: Interval | None


@dataclass(frozen=True, slots=True)
class Forecast:
    """`worst` is the number of the future that comes off worst by the figure `worst_by`: by what is asked, or
    in itself where nothing is; None where no future has that figure. `refused` has what some futures refused
    of what was asked → in how many."""

    rows: tuple[ForecastRow, ...]
    futures: int
    worst: int | None
    worst_by: str | None
    worst_value: float | None
    refused: dict[str, int]
    messages: int
    each: tuple[FuturePair, ...]


def run_forecast(
    case: ForecastCase,
    futures: int,
    workers: WorkerPool,
    report_progress: Callable[[int], None] = lambda _done: None,
) -> Forecast:
    """InvalidInput where every future refuses what is asked: it cannot be. `tell` hears how many are done."""
    pairs = []
    for pair in workers.each(partial(run_pair, case), range(1, futures + 1)):
        pairs.append(pair)
        report_progress(len(pairs))
    refused = Counter(
        reason for _, done in pairs if done is not None for reason in dict.fromkeys(done.refused)
    )
    never = [reason for reason, count in refused.items() if count == futures]
    if never:
        raise InvalidInput(never[0])
    worst, by, value = _worst(pairs)
    return Forecast(
        tuple([_row(name, pairs) for name in MEASURES]),
        futures,
        worst,
        by,
        value,
        dict(refused),
        sum(one.messages for pair in pairs for one in pair if one is not None),
        tuple(pairs),
    )


def run_pair(case: ForecastCase, salt: int | None, *, keep: bool = False) -> FuturePair:
    """One future of a case on both sides."""
    snapshot = from_bytes(case.snapshot_bytes)
    left = run_future(snapshot, case.from_us, case.for_us, salt=salt, keep=keep)
    if not case.requests:
        return left, None
    return left, run_future(snapshot, case.from_us, case.for_us, case.requests, salt=salt, keep=keep)


def _row(name: str, pairs: Sequence[FuturePair]) -> ForecastRow:
    figure = MEASURES[name]
    both = [(left.figures[name], done.figures[name]) for left, done in pairs if done is not None]
    known = [(a, b) for a, b in both if a is not None and b is not None]
    return ForecastRow(
        name,
        figure.unit,
        figure.meaning,
        figure.digits,
        _mean([left.figures[name] for left, _ in pairs]),
        _mean([b for _, b in both]),
        paired_difference([b for _, b in known], [a for a, _ in known]).interval if known else None,
    )


def _mean(values: Sequence[float | None]) -> Interval | None:
    known = [value for value in values if value is not None]
    return mean_interval(known) if known else None


def _worst(pairs: Sequence[FuturePair]) -> tuple[int | None, str | None, float | None]:
    for name in WORST_BY:
        values = [(_cost(pair, name), number) for number, pair in enumerate(pairs, 1)]
        known = [(cost, number) for cost, number in values if cost is not None]
        if known:
            cost, number = min(known)
            return number, name, cost
    return None, None, None


def _cost(pair: FuturePair, name: str) -> float | None:
    """How much more of a figure there is with what is asked, or how much there is where nothing is."""
    left, done = pair
    before = left.figures[name]
    if done is None:
        return before
    after = done.figures[name]
    return None if before is None or after is None else after - before
