"""The one table of measures: name, unit, how to read it, and how it is computed from what fabrics did.

Experiments and `lightwave.lab` compute all of `MEASURES`. Reports of the lab print single figures of the same
spans. Forecasts and what-if queries compute `FORECAST_MEASURES`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from services.service_names import kinds_with
from services.totals.availability_time import BLOCK_SIZES
from services.totals.fabric_spans import FabricSpan, NetworkSpan, PodSpan
from shared.basics.units import US_PER_HOUR, US_PER_MIN, US_PER_S

if TYPE_CHECKING:
    from schemas.api.forecast import MeasureName

PODS, SUPERPODS, NETWORKS = ("scheduler",), ("scheduler", "ocs"), ("traffic",)
"""The services of fabrics with slices, with slices and OCSes, and with traffic. Measures name services, not
kinds, because kinds may be registered later."""
HOURS_A_DAY = 24.0
PLACED = (1, 8, 16, 32, 40, 48, *range(50, 65))
"""Job sizes in cubes for which placement is measured."""
PERCENT = 100
Compute = Callable[[Sequence[FabricSpan]], float | None]
"""The value of a measure over the fabrics of its kinds, of which there is one or more; None without data."""
PodFigure = Callable[[PodSpan], float]
NetworkFigure = Callable[[NetworkSpan], float]


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure of what fabrics did in a run or in a part of it.

    `better` is "more", "less" or "". Measures `over_time` also have hourly values. An `is_quantile` measure
    of durations is far from normally distributed over runs. `digits` is the number of decimals that forecasts
    show. Fabrics with all of its `services` have the measure.
    """

    name: str
    unit: str
    meaning: str
    compute: Compute
    services: tuple[str, ...] = PODS
    better: str = ""
    over_time: bool = True
    is_quantile: bool = False
    digits: int = 2

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of fabrics that have the measure, of those that are registered now."""
        return frozenset.intersection(*[frozenset(kinds_with(service)) for service in self.services])

    def value(self, spans: Sequence[FabricSpan]) -> float | None:
        """The value over all fabrics of its kinds; None if there are none, or no data."""
        kinds = self.kinds
        mine = [span for span in spans if span.kind in kinds]
        return self.compute(mine) if mine else None


def _pods(spans: Sequence[FabricSpan]) -> list[PodSpan]:
    return [span for span in spans if isinstance(span, PodSpan)]


def _share(part: PodFigure, whole: PodFigure) -> Compute:
    """Of all pods together."""

    def compute(spans: Sequence[FabricSpan]) -> float | None:
        pods = _pods(spans)
        total = sum(map(whole, pods))
        return sum(map(part, pods)) / total if total else None

    return compute


def _sum(of: PodFigure) -> Compute:
    return lambda spans: float(sum([of(pod) for pod in _pods(spans)]))


def _a_day(of: PodFigure) -> Compute:
    """The mean of a pod and day."""
    return _share(of, lambda pod: pod.span_us / US_PER_HOUR / HOURS_A_DAY)


def _kept_share(scale: int = 1) -> Compute:
    """The share of all chip-time whose work was kept, times `scale`."""

    def compute(spans: Sequence[FabricSpan]) -> float | None:
        pods = _pods(spans)
        kept = [pod.chip_us.get("productive", 0) for pod in pods]
        whole = [pod.total_chip_us for pod in pods]
        if not sum(whole):
            return None
        # A float cannot hold 100 times the chip-time of a day: percentages are computed of whole numbers.
        return scale * sum(kept) / sum(whole) if scale > 1 else sum(map(float, kept)) / sum(map(float, whole))

    return compute


def _network_mean(of: NetworkFigure, scale: int = 1) -> Compute:
    """Over all networks alike, times `scale`."""

    def compute(spans: Sequence[FabricSpan]) -> float | None:
        networks = [span for span in spans if isinstance(span, NetworkSpan)]
        return scale * sum(map(of, networks)) / len(networks) if networks else None

    return compute


def _chip_hours(category: str) -> PodFigure:
    return lambda pod: float(pod.chip_us.get(category, 0)) / US_PER_HOUR


def _total_chip_hours(*categories: str) -> Compute:
    def compute(spans: Sequence[FabricSpan]) -> float:
        return (
            float(sum([pod.chip_us.get(category, 0) for pod in _pods(spans) for category in categories]))
            / US_PER_HOUR
        )

    return compute


def _allocated(pod: PodSpan) -> float:
    return pod.utilisation * pod.usable_chip_us if pod.usable_chip_us else 0.0


def _slices(word: str) -> PodFigure:
    return lambda pod: float(pod.slices[word])


def _cross_connects(pod: PodSpan) -> float:
    if pod.cross_connects is None:
        raise ValueError(f"a {pod.kind} has no OCSes")
    return pod.cross_connects


def _lengths(spans: Sequence[FabricSpan], of: str) -> list[int]:
    return [us for pod in _pods(spans) for us in pod.log.lengths[of]]


def _rank(of: str, share: float, unit_us: float) -> Compute:
    """Return the duration that a given share of all durations of all pods does not exceed (nearest rank)."""

    def compute(spans: Sequence[FabricSpan]) -> float | None:
        lengths = sorted(_lengths(spans, of))
        return lengths[-(-len(lengths) * round(100 * share) // 100) - 1] / unit_us if lengths else None

    return compute


def _longest(of: str, unit_us: float) -> Compute:
    return lambda spans: max(_lengths(spans, of), default=0) / unit_us


def _mean_length(of: str, unit_us: float) -> Compute:
    def compute(spans: Sequence[FabricSpan]) -> float | None:
        lengths = _lengths(spans, of)
        return sum(lengths) / len(lengths) / unit_us if lengths else None

    return compute


def _cube_spans(pod: PodSpan, *, if_all_ocs: bool) -> Sequence[int]:
    spans = pod.log.availability_time
    if spans is None:
        raise ValueError("the availability of cubes was not recorded")
    return spans.all_ocs if if_all_ocs else spans.available


def _placeable_share(cubes: int, *, if_all_ocs: bool = False) -> Compute:
    """Return the share of all pods' time in which at least this many cubes were available."""
    return _share(lambda pod: sum(_cube_spans(pod, if_all_ocs=if_all_ocs)[cubes:]), lambda pod: pod.span_us)


def _block_share(cubes: int) -> Compute:
    """Of the time of all pods that are as large, that in which a given block was available."""

    def compute(spans: Sequence[FabricSpan]) -> float | None:
        large = [
            (found.blocks[cubes], pod.span_us)
            for pod in _pods(spans)
            if (found := pod.log.availability_time) is not None and cubes in found.blocks
        ]
        whole_us = sum([span_us for _, span_us in large])
        return sum([us for us, _ in large]) / whole_us if whole_us else None

    return compute


_TABLE = (
    Measure(
        "goodput",
        "share",
        "chip-time whose work was kept, of all",
        _kept_share(),
        better="more",
    ),
    Measure(
        "utilisation",
        "share",
        "chip-time that slices had, of what was healthy and not drained",
        _share(_allocated, lambda pod: pod.usable_chip_us),
        better="more",
    ),
    Measure(
        "productive_share",
        "share",
        "chip-time whose work was kept, of what was healthy and not drained: what utilisation was worth",
        _share(lambda pod: float(pod.chip_us.get("productive", 0)), lambda pod: pod.usable_chip_us),
        better="more",
    ),
    Measure(
        "cube_availability",
        "share",
        "cube-time that was healthy, of all",
        _share(lambda pod: pod.cube_us, lambda pod: pod.cubes * pod.span_us),
        better="more",
    ),
    *[
        Measure(
            f"chip_hours_{category}_a_day",
            "chip-hours",
            f"chip-hours a pod and day: {words}",
            _a_day(_chip_hours(category)),
            better="less",
        )
        for category, words in {
            "lost": "work that faults took, and what went by before they were noticed",
            "recovering": "from a fault until the slice was ready again",
            "startup": "from the admission to the first step",
            "checkpointing": "writing checkpoints",
            "degraded": "what steps took longer on worse links",
            "unhealthy": "chips that nothing could run on",
            "drained": "chips that were taken out for maintenance",
        }.items()
    ],
    *[
        Measure(
            f"slices_{word}_a_day", "slices", f"slices a pod and day that were {word}", _a_day(_slices(word))
        )
        for word in ("requested", "admitted", "completed", "evicted", "refused", "swapped")
    ],
    Measure(
        "queue_h_p50",
        "hours",
        "wait for cubes that half of the slices do not exceed",
        _rank("waits", 0.5, US_PER_HOUR),
        better="less",
        over_time=False,
        is_quantile=True,
    ),
    Measure(
        "queue_h_p95",
        "hours",
        "wait for cubes that 95 % of the slices do not exceed",
        _rank("waits", 0.95, US_PER_HOUR),
        better="less",
        over_time=False,
        is_quantile=True,
    ),
    Measure(
        "queue_h_most",
        "hours",
        "longest wait for cubes",
        _longest("waits", US_PER_HOUR),
        better="less",
        over_time=False,
    ),
    Measure(
        "startup_s_p50",
        "seconds",
        "from cubes to running, in the median",
        _rank("startups", 0.5, US_PER_S),
        better="less",
        over_time=False,
        is_quantile=True,
    ),
    Measure(
        "recovery_s_p50",
        "seconds",
        "from a fault to running again, in the median",
        _rank("recoveries", 0.5, US_PER_S),
        better="less",
        over_time=False,
        is_quantile=True,
    ),
    Measure(
        "recovery_s_p95",
        "seconds",
        "the same, that 95 % do not exceed",
        _rank("recoveries", 0.95, US_PER_S),
        better="less",
        over_time=False,
        is_quantile=True,
    ),
    Measure(
        "jobs_met",
        "share",
        "slices that something failed under while they ran, of those that started and ended",
        _share(lambda pod: pod.log.jobs["disrupted"], lambda pod: pod.log.jobs["ended"]),
        better="less",
        over_time=False,
    ),
    *[
        Measure(
            f"placeable_{cubes}",
            "share",
            f"time in which {cubes} cubes or more were healthy and not drained",
            _placeable_share(cubes),
            better="more",
            over_time=False,
        )
        for cubes in PLACED
    ],
    *[
        Measure(
            f"placeable_{cubes}_if_all_ocs",
            "share",
            f"the same, where no part of an OCS was down either: {cubes} cubes if any such fault is fatal",
            _placeable_share(cubes, if_all_ocs=True),
            services=SUPERPODS,
            better="more",
            over_time=False,
        )
        for cubes in PLACED
    ],
    *[
        Measure(
            f"block_{cubes}",
            "share",
            f"time in which all cubes of a given block of {cubes} were healthy and not drained",
            _block_share(cubes),
            better="more",
            over_time=False,
        )
        for cubes in BLOCK_SIZES
    ],
    Measure("faults_a_day", "faults", "faults a pod and day", _a_day(lambda pod: sum(pod.faults.values()))),
    Measure("repairs_a_day", "repairs", "repairs done a pod and day", _a_day(lambda pod: pod.repairs)),
    Measure(
        "cross_connects_a_day",
        "circuits",
        "circuits that OCSes made, a pod and day",
        _a_day(_cross_connects),
        services=SUPERPODS,
    ),
    Measure("queued", "slices", "slices that wait at the end", _sum(_slices("queued")), better="less"),
    Measure(
        "running",
        "slices",
        "slices in the state running at the end, not degraded or recovering",
        _sum(_slices("running")),
    ),
    Measure(
        "served",
        "share",
        "traffic that was served, of the demand",
        _network_mean(lambda network: network.served),
        services=NETWORKS,
        better="more",
        over_time=False,
    ),
    Measure(
        "overfull",
        "share",
        "time in which a trunk was overfull",
        _network_mean(lambda network: network.overfull),
        services=NETWORKS,
        better="less",
        over_time=False,
    ),
    Measure(
        "path_length",
        "hops",
        "mean path of traffic",
        _network_mean(lambda network: network.mean_path),
        services=NETWORKS,
        better="less",
        over_time=False,
    ),
)


MEASURES: Mapping[str, Measure] = {measure.name: measure for measure in _TABLE}
"""Measures of experiments and of runs of the lab, by name."""


def _percent(name: str, meaning: str, compute: Compute) -> Measure:
    """A share of `MEASURES` as the API shows it: in percent."""
    return replace(MEASURES[name], unit="%", meaning=meaning, compute=compute)


FORECAST_MEASURES: "Mapping[MeasureName, Measure]" = {
    "goodput": _percent("goodput", "share of all chip-time whose work was kept", _kept_share(PERCENT)),
    "lost": Measure(
        "lost",
        "chip-hours",
        "work that faults and drains destroyed, and the time until slices ran again",
        _total_chip_hours("lost", "recovering", "startup"),
        digits=0,
    ),
    "degraded": Measure(
        "degraded",
        "slices",
        "slices that continued with worse links",
        _sum(lambda pod: float(pod.log.degraded)),
    ),
    "displaced": Measure(
        "displaced",
        "slices",
        "slices, without filler, that were preempted or evicted",
        _sum(lambda pod: float(pod.log.displaced)),
    ),
    "recovery": Measure(
        "recovery",
        "minutes",
        "mean time from a failure under a slice until the slice ran again",
        _mean_length("recoveries", US_PER_MIN),
    ),
    "recoveries": Measure(
        "recoveries",
        "slices",
        "slices that ran again after a failure under them",
        lambda spans: float(len(_lengths(spans, "recoveries"))),
    ),
    "recovering": Measure(
        "recovering",
        "hours",
        "all recoveries together, each from the failure until the slice ran again",
        lambda spans: sum(_lengths(spans, "recoveries")) / US_PER_HOUR,
    ),
    "healthy": Measure(
        "healthy",
        "cubes",
        "healthy cubes, averaged over the time",
        _sum(lambda pod: pod.cube_us / pod.span_us),
    ),
    "wait": Measure(
        "wait",
        "h",
        "mean time that requested slices waited for cubes; those that still wait count so far",
        _mean_length("waits", US_PER_HOUR),
    ),
    "queued": replace(MEASURES["queued"], digits=1),
    "served": _percent(
        "served",
        "share of the demand between pods that was served",
        _network_mean(lambda network: network.served, PERCENT),
    ),
}
"""Measures of forecasts, in the order in which they are shown.

`goodput`, `queued` and `served` are those of `MEASURES`. The others are other quantities: totals and means of
the hours or days after a change, where experiments need rates a day and quantiles of months.
"""
