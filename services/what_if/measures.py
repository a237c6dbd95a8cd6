"""Measures of a run, over all fabrics of a site together, and their comparison with and without changes."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from schemas.api.forecast import IntervalReport, MeasureName, MeasureRow, MeasureValues
from schemas.envelope import Envelope
from services.scheduler.state import SchedulerState
from services.totals.network_totals import NetworkTotals, network_totals
from services.totals.pod_totals import PodTotals, pod_totals
from services.totals.slice_waits import SliceWaits
from services.what_if.drive import live_fabrics
from shared.basics.units import US_PER_HOUR, US_PER_MIN
from shared.engine.site import Site
from shared.models.jobs.goodput_accounting import chip_time_between
from shared.models.statistics.means import Interval, mean_interval
from shared.models.statistics.paired_runs import paired_difference

DISPLACING = frozenset({"SliceRequeued", "SliceEvicted"})
"""Message types by which a slice leaves its cubes against its owner's will."""
OPERATOR = "operator@"
"""Prefix of the ids of operators' requests."""


class SliceRecord:
    """Records slices that wait, degrade or are displaced, and the refusals of operators' requests."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self.waits = SliceWaits(site.now_us)
        self.refused: list[str] = []
        self.degraded: set[str] = set()
        self.displaced: set[str] = set()
        self._operator_requests: set[str] = set()
        """Ids of the messages that pass on an operator's request."""

    def see(self, cascade: Sequence[Envelope]) -> None:
        """Take the messages of a cascade."""
        for message in cascade:
            if message.type.startswith("Slice"):
                self._see_slice(message)
            elif message.type.endswith("Refused"):
                self._see_refusal(message)

    def _see_slice(self, message: Envelope) -> None:
        body = message.body.__dict__
        self.waits.see(message.type, message.fabric, message.at_us, body)
        name = str(body["slice"])
        if message.type == "SliceRequested" and _is_operators(message):
            self._operator_requests.add(message.id)
        elif message.type == "SliceRefused":
            self._see_refusal(message)
        elif message.type == "SliceDegraded":
            self.degraded.add(name)
        elif message.type in DISPLACING and not self._is_filler(name):
            self.displaced.add(name)

    def _is_filler(self, name: str) -> bool:
        fabric, _, number = name.rpartition("/slice-")
        state = self._site.instance(fabric, "scheduler").state
        if not isinstance(state, SchedulerState):
            raise TypeError(f"{fabric} has no scheduler")
        row = state.slices.get(int(number)) or state.ended.get(int(number))
        return row is not None and row.tier == "filler"

    def _see_refusal(self, message: Envelope) -> None:
        if _is_operators(message) or message.cause in self._operator_requests:
            self.refused.append(str(message.body.__dict__.get("reason", message.type)))


def _is_operators(message: Envelope) -> bool:
    return message.cause is not None and message.cause.startswith(OPERATOR)


@dataclass(frozen=True, slots=True)
class PodSpan:
    """What a pod did between two times."""

    name: str
    total_chip_us: int
    chip_us: Mapping[str, int]
    """Chip-time by use."""
    cube_us: int
    """Healthy cube-time."""
    span_us: int
    queued: int
    """Slices that wait at the end."""


@dataclass(frozen=True, slots=True)
class RunSpan:
    """What a site did between two times, up to `until_us`."""

    pods: tuple[PodSpan, ...]
    served: tuple[float, ...]
    """By network, the share of the demand that was served."""
    slices: SliceRecord
    until_us: int


class MeasureRecorder:
    """Observes a run from `from_us` on and computes its measures at the end."""

    def __init__(self, site: Site, from_us: int) -> None:
        self._site = site
        self._fabrics = live_fabrics(site)
        self._before = self._totals(from_us)
        self.slices = SliceRecord(site)

    def see(self, cascade: Sequence[Envelope]) -> None:
        """Take the messages of a cascade."""
        self.slices.see(cascade)

    def values(self, until_us: int) -> MeasureValues:
        """The measures between the start and `until_us`; None if there is no value."""
        after = self._totals(until_us)
        pods, served = list[PodSpan](), list[float]()
        for fabric in self._fabrics:
            begin, end = self._before[fabric], after[fabric]
            if isinstance(begin, NetworkTotals) and isinstance(end, NetworkTotals):
                served.append(_served_share(begin, end))
            elif isinstance(begin, PodTotals) and isinstance(end, PodTotals):
                pods.append(_pod_span(fabric, begin, end))
        span = RunSpan(tuple(pods), tuple(served), self.slices, until_us)
        return {name: measure.of(span) for name, measure in MEASURES.items()}

    def _totals(self, at_us: int) -> dict[str, PodTotals | NetworkTotals]:
        pods = {instance.fabric for instance in self._site.instances if instance.name == "scheduler"}
        return {
            fabric: pod_totals(self._site, fabric, at_us, links=False)
            if fabric in pods
            else network_totals(self._site, fabric, at_us)
            for fabric in self._fabrics
        }


def _pod_span(name: str, begin: PodTotals, end: PodTotals) -> PodSpan:
    books = chip_time_between(begin.books, end.books)
    span_us = books.until_us - books.since_us
    return PodSpan(name, books.total_chip_us, books.chip_us, end.cube_us - begin.cube_us, span_us, end.queued)


def _served_share(begin: NetworkTotals, end: NetworkTotals) -> float:
    demanded = end.traffic.demanded_mbit - begin.traffic.demanded_mbit
    return (end.traffic.served_mbit - begin.traffic.served_mbit) / demanded if demanded else 1.0


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure of a run: its unit and meaning, and how it is computed. `digits` is the number of decimals to
    show."""

    unit: str
    meaning: str
    of: Callable[[RunSpan], float | None]
    digits: int = 2


def _goodput(span: RunSpan) -> float | None:
    whole = sum(pod.total_chip_us for pod in span.pods)
    return 100 * sum(pod.chip_us.get("productive", 0) for pod in span.pods) / whole if whole else None


def _chip_hours(*places: str) -> Callable[[RunSpan], float | None]:
    def of(span: RunSpan) -> float | None:
        chip_us = [pod.chip_us.get(place, 0) for pod in span.pods for place in places]
        return float(sum(chip_us)) / US_PER_HOUR if span.pods else None

    return of


def _mean_us(span: RunSpan, what: str) -> float | None:
    """The mean of the lengths of what slices waited for."""
    lengths = [us for pod in span.pods for us in span.slices.waits.lengths(pod.name, span.until_us)[what]]
    return sum(lengths) / len(lengths) if lengths else None


def _recovery_min(span: RunSpan) -> float | None:
    mean_us = _mean_us(span, "recoveries")
    return None if mean_us is None else mean_us / US_PER_MIN


def _wait_h(span: RunSpan) -> float | None:
    mean_us = _mean_us(span, "waits")
    return None if mean_us is None else mean_us / US_PER_HOUR


def _if_pods(of: Callable[[RunSpan], float]) -> Callable[[RunSpan], float | None]:
    """The measure of a site with pods; None for a site without any."""
    return lambda span: of(span) if span.pods else None


def _served(span: RunSpan) -> float | None:
    return 100 * sum(span.served) / len(span.served) if span.served else None


MEASURES: dict[MeasureName, Measure] = {
    "goodput": Measure("%", "share of all chip-time whose work was kept", _goodput),
    "lost": Measure(
        "chip-hours",
        "work that faults and drains destroyed, and the time until slices ran again",
        _chip_hours("lost", "recovering", "startup"),
        0,
    ),
    "degraded": Measure(
        "slices",
        "slices that continued with worse links",
        _if_pods(lambda span: float(len(span.slices.degraded))),
    ),
    "displaced": Measure(
        "slices",
        "slices, without filler, that were preempted or evicted",
        _if_pods(lambda span: float(len(span.slices.displaced))),
    ),
    "recovery": Measure(
        "min", "mean time from a failure under a slice until the slice ran again", _recovery_min
    ),
    "healthy": Measure(
        "cubes",
        "healthy cubes, averaged over the time",
        _if_pods(lambda span: sum(pod.cube_us / pod.span_us for pod in span.pods)),
    ),
    "wait": Measure(
        "h",
        "mean time that requested slices waited for cubes; those that still wait count so far",
        _wait_h,
    ),
    "queued": Measure(
        "slices",
        "slices that wait at the end",
        _if_pods(lambda span: float(sum(pod.queued for pod in span.pods))),
        1,
    ),
    "served": Measure("%", "share of the demand between pods that was served", _served),
}
"""All measures, in the order in which they are shown."""


def compare_measures(pairs: Sequence[tuple[MeasureValues, MeasureValues | None]]) -> tuple[MeasureRow, ...]:
    """Compare runs in pairs, (without the changes, with them) under the same draws: the means with their 95 %
    intervals, and the mean difference within the pairs. The second of a pair is None without changes."""
    return tuple([_measure_row(name, pairs) for name in MEASURES])


def _measure_row(
    name: MeasureName, pairs: Sequence[tuple[MeasureValues, MeasureValues | None]]
) -> MeasureRow:
    measure = MEASURES[name]
    both = [(left[name], done[name]) for left, done in pairs if done is not None]
    known = [(left, done) for left, done in both if left is not None and done is not None]
    difference = paired_difference([b for _, b in known], [a for a, _ in known]).interval if known else None
    return MeasureRow(
        name=name,
        unit=measure.unit,
        meaning=measure.meaning,
        digits=measure.digits,
        without=_mean([left[name] for left, _ in pairs]),
        requested=_mean([done for _, done in both]),
        difference=None if difference is None else interval_report(difference),
    )


def _mean(values: Sequence[float | None]) -> IntervalReport | None:
    known = [value for value in values if value is not None]
    return interval_report(mean_interval(known)) if known else None


def interval_report(interval: Interval) -> IntervalReport:
    """The interval as JSON can carry it: without infinite bounds."""
    return IntervalReport(
        value=interval.value,
        low=_finite(interval.low),
        high=_finite(interval.high),
        deviation=_finite(interval.deviation),
        runs=interval.runs,
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
