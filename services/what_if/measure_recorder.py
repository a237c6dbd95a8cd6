"""Measures of a run, over all fabrics of a site together, and their comparison with and without changes."""

import math
from collections.abc import Sequence

from schemas.api.forecast import IntervalReport, MeasureName, MeasureRow, MeasureValues
from schemas.envelope import Envelope
from schemas.messages.scheduler import SliceDegraded, SliceEvicted, SliceRefused, SliceRequeued
from schemas.messages.workload import SliceRequested
from services.scheduler.state import SchedulerState
from services.totals.fabric_spans import FabricTotals, fabric_span
from services.totals.measures import FORECAST_MEASURES
from services.totals.network_totals import network_totals
from services.totals.pod_totals import pod_totals
from services.totals.slice_log import PodLog
from services.totals.slice_waits import SliceWaits
from services.what_if.run_copy import kind_of_fabric, live_fabrics
from shared.engine.site import Site
from shared.models.statistics.means import Interval, mean_interval
from shared.models.statistics.paired_runs import paired_difference

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

    def log(self, pod: str, at_us: int) -> PodLog:
        """Waits and disruptions of a pod's slices up to `at_us`."""
        return PodLog(
            lengths=self.waits.lengths(pod, at_us),
            degraded=_count_of(pod, self.degraded),
            displaced=_count_of(pod, self.displaced),
        )

    def _see_slice(self, message: Envelope) -> None:
        self.waits.see(message.fabric, message.at_us, message.body)
        match message.body:
            case SliceRequested() if _is_operators(message):
                self._operator_requests.add(message.id)
            case SliceRefused():
                self._see_refusal(message)
            case SliceDegraded(slice=name):
                self.degraded.add(name)
            case SliceRequeued(slice=name) | SliceEvicted(slice=name) if not self._is_filler(name):
                self.displaced.add(name)  # it left its cubes against its owner's will

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


def _count_of(pod: str, slices: set[str]) -> int:
    return sum(name.rpartition("/slice-")[0] == pod for name in slices)


def _is_operators(message: Envelope) -> bool:
    return message.cause is not None and message.cause.startswith(OPERATOR)


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
        spans = [
            fabric_span(
                kind_of_fabric(self._site, fabric),
                after[fabric],
                before,
                self.slices.log(fabric, until_us),
            )
            for fabric, before in self._before.items()
        ]
        return {name: measure.value(spans) for name, measure in FORECAST_MEASURES.items()}

    def _totals(self, at_us: int) -> dict[str, FabricTotals]:
        """Of the fabrics with slices and of those with traffic; others have no measures."""
        services = {(instance.fabric, instance.name) for instance in self._site.instances}
        totals: dict[str, FabricTotals] = {}
        for fabric in self._fabrics:
            if (fabric, "scheduler") in services:
                totals[fabric] = pod_totals(self._site, fabric, at_us, links=False)
            elif (fabric, "traffic") in services:
                totals[fabric] = network_totals(self._site, fabric, at_us)
        return totals


def compare_measures(pairs: Sequence[tuple[MeasureValues, MeasureValues | None]]) -> tuple[MeasureRow, ...]:
    """Compare runs in pairs, (without the changes, with them) under the same draws: the means with their 95 %
    intervals, and the mean difference within the pairs. The second of a pair is None without changes."""
    return tuple([_measure_row(name, pairs) for name in FORECAST_MEASURES])


def _measure_row(
    name: MeasureName, pairs: Sequence[tuple[MeasureValues, MeasureValues | None]]
) -> MeasureRow:
    measure = FORECAST_MEASURES[name]
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
