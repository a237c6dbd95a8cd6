"""Measures of a run: name, unit, meaning, and computation from the lab's reports on all fabrics together."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ops.lab.availability_time import BLOCK_SIZES
from services.service_names import kinds_with
from shared.basics.units import US_PER_HOUR, US_PER_S
from shared.models.jobs.goodput_accounting import UNUSABLE

PODS = frozenset(kinds_with("scheduler"))
SUPERPODS = PODS & frozenset(kinds_with("ocs"))
NETWORKS = frozenset(kinds_with("traffic"))
"""Kinds of fabrics with slices, with slices and OCSes, and with traffic."""
HOURS_A_DAY = 24.0
PLACED = (1, 8, 16, 32, 40, 48, *range(50, 65))
"""Job sizes in cubes for which placement is measured."""
Rows = Sequence[Mapping[str, Any]]
"""Reports of one run's fabrics of the kinds that a measure applies to (`ops.lab.pod_report`)."""


@dataclass(frozen=True, slots=True)
class ExperimentMeasure:
    """A measure. `of` computes it; None if the run has no data for it.

    `better` is "more", "less" or "". Measures `over_time` also have hourly values. An `is_quantile` measure
    of durations is far from normally distributed over runs.
    """

    unit: str
    meaning: str
    of: Callable[[Rows], float | None]
    kinds: frozenset[str] = PODS
    better: str = ""
    over_time: bool = True
    is_quantile: bool = False


def _share(part: Callable[[Mapping[str, Any]], float], whole: Callable[[Mapping[str, Any]], float]) -> Any:
    """Of all fabrics together."""

    def of(rows: Rows) -> float | None:
        total = sum(map(whole, rows))
        return sum(map(part, rows)) / total if total else None

    return of


def _sum(of: Callable[[Mapping[str, Any]], float | None]) -> Any:
    def whole(rows: Rows) -> float:
        return float(sum(of(row) or 0.0 for row in rows))

    return whole


def _a_day(of: Callable[[Mapping[str, Any]], float]) -> Any:
    """The mean of a fabric and day."""
    return _share(of, lambda row: row["span_us"] / US_PER_HOUR / HOURS_A_DAY)


def _chip_us(place: str) -> Callable[[Mapping[str, Any]], float]:
    return lambda row: float(row["goodput"]["chip_us"].get(place, 0))


def _chip_hours(place: str) -> Callable[[Mapping[str, Any]], float]:
    chip_us = _chip_us(place)
    return lambda row: chip_us(row) / US_PER_HOUR


def _total(row: Mapping[str, Any]) -> float:
    return float(row["goodput"]["total_chip_us"])


def _usable(row: Mapping[str, Any]) -> float:
    return _total(row) - sum(_chip_us(place)(row) for place in UNUSABLE)


def _allocated(row: Mapping[str, Any]) -> float:
    return row["utilisation"] * _usable(row) if _usable(row) else 0.0


def _slices(word: str) -> Callable[[Mapping[str, Any]], float]:
    return lambda row: float(row["slices"][word])


def _mean(word: str) -> Any:
    """Of networks, over all of them alike."""
    return lambda rows: sum(row[word] for row in rows) / len(rows) if rows else None


def _rank(of: str, share: float, unit_us: float) -> Any:
    """Of all lengths of time of all fabrics, that which so many do not exceed (nearest rank)."""

    def found(rows: Rows) -> float | None:
        lengths = sorted(us for row in rows for us in row["lengths"][of])
        return lengths[-(-len(lengths) * round(100 * share) // 100) - 1] / unit_us if lengths else None

    return found


def _availability_share(what: str, cubes: int) -> Any:
    """Of the time of all fabrics, that in which at least so many cubes were available."""

    def found(rows: Rows) -> float | None:
        spans = [row["availability_time"][what] for row in rows]
        whole_us = sum(row["span_us"] for row in rows)
        return sum(sum(of[cubes:]) for of in spans) / whole_us if whole_us else None

    return found


def _block_share(cubes: int) -> Any:
    """Of the time of all fabrics that are as large, that in which a given block was available."""

    def found(rows: Rows) -> float | None:
        large = [row for row in rows if cubes in row["availability_time"]["blocks"]]
        whole_us = sum(row["span_us"] for row in large)
        return (
            sum(row["availability_time"]["blocks"][cubes] for row in large) / whole_us if whole_us else None
        )

    return found


def _longest(of: str, unit_us: float) -> Any:
    return lambda rows: max((us for row in rows for us in row["lengths"][of]), default=0) / unit_us


MEASURES: dict[str, ExperimentMeasure] = {
    "goodput": ExperimentMeasure(
        "share",
        "chip-time whose work was kept, of all",
        _share(_chip_us("productive"), _total),
        better="more",
    ),
    "utilisation": ExperimentMeasure(
        "share",
        "chip-time that slices had, of what was healthy and not drained",
        _share(_allocated, _usable),
        better="more",
    ),
    "cube_availability": ExperimentMeasure(
        "share",
        "cube-time that was healthy, of all",
        _share(lambda r: r["cube_us"], lambda r: r["cubes"] * r["span_us"]),
        better="more",
    ),
    **{
        f"chip_hours_{place}_a_day": ExperimentMeasure(
            "chip-hours",
            f"chip-hours a pod and day: {words}",
            _a_day(_chip_hours(place)),
            better="less",
        )
        for place, words in {
            "lost": "work that faults took, and what went by before they were noticed",
            "recovering": "from a fault until the slice was ready again",
            "startup": "from the admission to the first step",
            "checkpointing": "writing checkpoints",
            "degraded": "what steps took longer on worse links",
            "unhealthy": "chips that nothing could run on",
            "drained": "chips that were taken out for maintenance",
        }.items()
    },
    **{
        f"slices_{word}_a_day": ExperimentMeasure(
            "slices", f"slices a pod and day that were {word}", _a_day(_slices(word))
        )
        for word in ("requested", "admitted", "completed", "evicted", "refused", "swapped")
    },
    "queue_h_p50": ExperimentMeasure(
        "hours",
        "wait for cubes that half of the slices do not exceed",
        _rank("waits", 0.5, US_PER_HOUR),
        better="less",
        over_time=False,
        is_quantile=True,
    ),
    "queue_h_p95": ExperimentMeasure(
        "hours",
        "wait for cubes that 95 % of the slices do not exceed",
        _rank("waits", 0.95, US_PER_HOUR),
        better="less",
        over_time=False,
        is_quantile=True,
    ),
    "queue_h_most": ExperimentMeasure(
        "hours", "longest wait for cubes", _longest("waits", US_PER_HOUR), better="less", over_time=False
    ),
    "startup_s_p50": ExperimentMeasure(
        "seconds",
        "from cubes to running, in the median",
        _rank("startups", 0.5, US_PER_S),
        better="less",
        over_time=False,
        is_quantile=True,
    ),
    "recovery_s_p50": ExperimentMeasure(
        "seconds",
        "from a fault to running again, in the median",
        _rank("recoveries", 0.5, US_PER_S),
        better="less",
        over_time=False,
        is_quantile=True,
    ),
    "recovery_s_p95": ExperimentMeasure(
        "seconds",
        "the same, that 95 % do not exceed",
        _rank("recoveries", 0.95, US_PER_S),
        better="less",
        over_time=False,
        is_quantile=True,
    ),
    "jobs_met": ExperimentMeasure(
        "share",
        "slices that something failed under while they ran, of those that started and ended",
        _share(lambda row: row["jobs"]["disrupted"], lambda row: row["jobs"]["ended"]),
        better="less",
        over_time=False,
    ),
    **{
        f"placeable_{cubes}": ExperimentMeasure(
            "share",
            f"time in which {cubes} cubes or more were healthy and not drained",
            _availability_share("available", cubes),
            better="more",
            over_time=False,
        )
        for cubes in PLACED
    },
    **{
        f"placeable_{cubes}_if_all_ocs": ExperimentMeasure(
            "share",
            f"the same, where no part of an OCS was down either: {cubes} cubes if any such fault is fatal",
            _availability_share("all_ocs", cubes),
            kinds=SUPERPODS,
            better="more",
            over_time=False,
        )
        for cubes in PLACED
    },
    **{
        f"block_{cubes}": ExperimentMeasure(
            "share",
            f"time in which all cubes of a given block of {cubes} were healthy and not drained",
            _block_share(cubes),
            better="more",
            over_time=False,
        )
        for cubes in BLOCK_SIZES
    },
    "faults_a_day": ExperimentMeasure(
        "faults", "faults a pod and day", _a_day(lambda row: sum(row["faults"].values()))
    ),
    "repairs_a_day": ExperimentMeasure(
        "repairs", "repairs done a pod and day", _a_day(lambda row: row["repairs"])
    ),
    "cross_connects_a_day": ExperimentMeasure(
        "circuits",
        "circuits that OCSes made, a pod and day",
        _a_day(lambda row: row["cross_connects"]),
        kinds=SUPERPODS,
    ),
    "queued": ExperimentMeasure(
        "slices", "slices that wait at the end", _sum(_slices("queued")), better="less"
    ),
    "running": ExperimentMeasure("slices", "slices that run at the end", _sum(_slices("running"))),
    "served": ExperimentMeasure(
        "share",
        "traffic that was served, of what was asked",
        _mean("served"),
        kinds=NETWORKS,
        better="more",
        over_time=False,
    ),
    "overfull": ExperimentMeasure(
        "share",
        "time in which a trunk was overfull",
        _mean("overfull"),
        kinds=NETWORKS,
        better="less",
        over_time=False,
    ),
    "path_length": ExperimentMeasure(
        "hops", "mean path of traffic", _mean("mean_path"), kinds=NETWORKS, better="less", over_time=False
    ),
}
