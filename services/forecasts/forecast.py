"""Forecasts: many random futures of a site, each with and without the changes, under the same draws."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from schemas.api.changes import TimedRequest
from schemas.api.forecast import ForecastResult, FutureMeasures, FuturePair, MeasureName, RefusedFutures
from services.forecasts.futures import run_future
from services.what_if.measure_recorder import compare_measures
from shared.basics.errors import InvalidInput
from shared.runtimes.process_pool import WorkerPool, stop_requested
from shared.storage.snapshots.site_snapshot import from_bytes

WORST_BY: tuple[MeasureName, ...] = ("goodput", "served")
"""Measures by which the worst future is chosen: the first that has values."""


@dataclass(frozen=True, slots=True)
class ForecastCase:
    """What to drive: a snapshot as bytes, from when and for how long, and the requests."""

    snapshot_bytes: bytes
    from_us: int
    for_us: int
    requests: tuple[TimedRequest, ...] = ()


def run_forecast(
    case: ForecastCase,
    futures: int,
    workers: WorkerPool,
    report_progress: Callable[[int], None] = lambda _done: None,
) -> ForecastResult:
    """Run futures 1 to `futures` of a case; calls `report_progress` with the number that is done.

    Raise InvalidInput with the reason if every future refuses a change.
    """
    pairs = []
    for pair in workers.each(partial(run_pair, case), range(1, futures + 1)):
        pairs.append(pair)
        report_progress(len(pairs))
    refused = Counter(
        reason
        for pair in pairs
        if pair.requested is not None
        for reason in dict.fromkeys(pair.requested.refused)
    )
    never = [reason for reason, count in refused.items() if count == futures]
    if never:
        raise InvalidInput(never[0])
    worst, by, value = _worst(pairs)
    each = [
        FutureMeasures(
            future=number,
            without=pair.without.figures,
            requested=None if pair.requested is None else pair.requested.figures,
        )
        for number, pair in enumerate(pairs, 1)
    ]
    return ForecastResult(
        rows=compare_measures([(one.without, one.requested) for one in each]),
        futures=futures,
        worst=worst,
        worst_by=by,
        worst_value=value,
        refused=tuple(RefusedFutures(reason=reason, futures=count) for reason, count in refused.items()),
        messages=sum(
            side.messages for pair in pairs for side in (pair.without, pair.requested) if side is not None
        ),
        each=tuple(each),
    )


def run_pair(case: ForecastCase, salt: int | None, *, events: bool = False) -> FuturePair:
    """One future of a case, without and with the requests; see `run_future` for `salt` and `events`."""
    snapshot = from_bytes(case.snapshot_bytes)
    run = partial(
        run_future, snapshot, case.from_us, case.for_us, salt=salt, events=events, stop=stop_requested
    )
    return FuturePair(without=run(), requested=run(case.requests) if case.requests else None)


def _worst(pairs: Sequence[FuturePair]) -> tuple[int | None, MeasureName | None, float | None]:
    """(number, measure, value) of the worst future; None if no measure has values."""
    for name in WORST_BY:
        values = [(_change(pair, name), number) for number, pair in enumerate(pairs, 1)]
        known = [(value, number) for value, number in values if value is not None]
        if known:
            value, number = min(known)
            return number, name, value
    return None, None, None


def _change(pair: FuturePair, name: MeasureName) -> float | None:
    """The change of a measure by the requests; without requests, the measure itself."""
    before = pair.without.figures[name]
    if pair.requested is None:
        return before
    after = pair.requested.figures[name]
    return None if before is None or after is None else after - before
