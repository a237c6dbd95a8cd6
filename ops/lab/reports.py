"""Reports of the lab: the output of `lab run` for the run and for each fabric."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields

from ops.lab.recorded_faults import FaultCounts
from ops.lab.workload_trace import TraceCounts
from ops.report.intervals import ReportFields
from schemas.api.goodput_report import GoodputSpan
from services.totals.fabric_spans import FabricSpan, NetworkSpan, PodSpan
from services.totals.measures import MEASURES
from services.totals.pod_totals import PodTotals
from services.totals.slice_waits import SliceWaitRow
from shared.models.jobs.goodput_accounting import (
    ChipTime,
    chip_time_between,
    chip_time_spans,
    goodput_span,
)

SPANS_MAX = 120
"""Maximum number of spans with goodput in a report."""


@dataclass(frozen=True, slots=True)
class GoodputHistory:
    """The use of a pod's chip-time: in total, and in each part of the run."""

    span: GoodputSpan
    spans: tuple[GoodputSpan, ...]


def goodput_history(chip_times: Sequence[ChipTime], since: PodTotals | None) -> GoodputHistory:
    """Return the history since `since`, or since the commissioning. Its parts lie between consecutive
    readings of the chip-time, or between every few of them if there are many."""
    every = -(-len(chip_times) // SPANS_MAX)
    begin = chip_times[-1].at_start if since is None else since.chip_time
    chosen = [begin, *chip_times[every - 1 : -1 : every], chip_times[-1]]
    return GoodputHistory(
        goodput_span(chip_time_between(begin, chip_times[-1])),
        tuple([goodput_span(chip_time) for chip_time in chip_time_spans(chosen)]),
    )


@dataclass(frozen=True, slots=True)
class SliceDurations:
    """The durations of waits for cubes, start-ups and recoveries of a pod's slices, after the warm-up."""

    quantiles: Mapping[str, Mapping[str, int | None]]
    """`startups` and `recoveries` → count, quantiles and maximum in microseconds."""
    waits: Sequence[SliceWaitRow]
    """One row per tier and size."""


@dataclass(frozen=True, slots=True)
class FabricReport:
    """The report of a fabric from the end of the warm-up to the end of a run.

    `span` is None for fabrics without totals, `durations` for fabrics without slices. `history` is None
    unless requested.
    """

    fabric: str
    kind: str
    site: str
    seed: int
    span: FabricSpan | None
    durations: SliceDurations | None = None
    history: GoodputHistory | None = None

    def json(self) -> ReportFields:
        """Return the report as `lab run -o json` prints it, without the history."""
        head: ReportFields = {
            "fabric": self.fabric,
            "kind": self.kind,
            "site": self.site,
            "seed": self.seed,
        }
        body = span_json(self.span) if self.span is not None else {}
        if self.durations is None:
            return head | body
        waits = [row.model_dump() for row in self.durations.waits]
        return head | body | {**self.durations.quantiles, "waits": waits}


@dataclass(frozen=True, slots=True)
class RecordedCounts:
    """The counts of rows played from a run's recorded files; None without such a file."""

    trace: TraceCounts | None = None
    faults: FaultCounts | None = None


@dataclass(frozen=True, slots=True)
class LabReport:
    """The report of a lab run, with a report per fabric.

    `interrupted` is true if it stopped early. `fabric_days` counts the days after the warm-up. `seed` is the
    seed of all fabrics, None if they have several. `repeat` is the command that repeats the run.
    `stop_signal` is the number of the signal that stopped it; the printed report omits it. The printed report
    contains those files in `recorded` that the run has.
    """

    fabric_days: float
    warmup_days: float
    interrupted: bool
    wall_s: float
    messages: int
    messages_per_s: int
    log_sha256: str
    state_sha256: str
    seed: int | None
    version: str
    repeat: str
    fabrics: tuple[FabricReport, ...]
    stop_signal: int | None = None
    recorded: RecordedCounts = RecordedCounts()

    def json(self) -> ReportFields:
        """Return the object that `lab run -o json` prints."""
        names = [one.name for one in fields(self) if one.name not in ("stop_signal", "recorded")]
        found: ReportFields = {name: getattr(self, name) for name in names}
        for name, counts in (("trace", self.recorded.trace), ("faults", self.recorded.faults)):
            if counts is not None:
                found[name] = asdict(counts)
        return found | {"fabrics": [report.json() for report in self.fabrics]}


def span_json(span: FabricSpan) -> ReportFields:
    """Return the figures of a span, as reports print them."""
    return _network_json(span) if isinstance(span, NetworkSpan) else _pod_json(span)


def cube_availability(pod: PodSpan) -> float:
    """Return the healthy cube-time as a share of all cube-time; 1 if no time has passed."""
    found = MEASURES["cube_availability"].value([pod])
    return 1.0 if found is None else found


def productive_share(pod: PodSpan) -> float:
    """Chip-time whose work was kept, as a share of the same chip-time as utilisation; 0 without any."""
    return MEASURES["productive_share"].value([pod]) or 0.0


def _pod_json(pod: PodSpan) -> ReportFields:
    found: ReportFields = {
        "slices": pod.slices,
        "utilisation": pod.utilisation,
        "utilisation_by_tier": pod.utilisation_by_tier,
        "productive_share": productive_share(pod),
        "goodput": {"total_chip_us": pod.total_chip_us, "chip_us": pod.chip_us},
        "cube_availability": cube_availability(pod),
        "cubes": pod.cubes,
        "cube_us": pod.cube_us,
        "span_us": pod.span_us,
        "faults": pod.faults,
        "repairs": pod.repairs,
        "links": pod.links,
    }
    return found if pod.cross_connects is None else found | {"cross_connects": pod.cross_connects}


def _network_json(network: NetworkSpan) -> ReportFields:
    return {one.name: getattr(network, one.name) for one in fields(network) if one.name != "kind"}
