"""Prometheus metrics of every fabric and of the runtime."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from schemas.api.network_rows import NetworkFigures
from schemas.api.rows import FabricRow, RepairCounts, SliceCounts, WaitTimes
from services.gateway.fabrics import living_fabrics
from services.gateway.metrics.goodput_report import chip_time_now
from services.gateway.metrics.telemetry_metrics import reading_metrics
from services.gateway.resources.fabric_rows import fabric_row
from services.gateway.runtime_ports import TwinPorts
from shared.basics.errors import LightwaveError
from shared.basics.units import US_PER_S
from shared.models.jobs.goodput_accounting import TIERS, ChipTime
from shared.runtimes.simulated_clock import ClockState

FabricFigure = Callable[[FabricRow], float | None]
"""One value of a fabric; None if it has no such value."""
LabelledFigures = Callable[[FabricRow], dict[str, float]]
"""Several values of a fabric by label."""
BITS_PER_GBIT = 1e9


def _of_slices(field: str) -> FabricFigure:
    return lambda row: getattr(row.slices, field) if row.slices else None


def _planned(row: FabricRow) -> float | None:
    return row.network.rewirings.planned if row.network else None


def _of_network(field: str) -> FabricFigure:
    return lambda row: getattr(row.network, field) if row.network else None


GAUGES: tuple[tuple[str, str, FabricFigure], ...] = (
    ("cubes_healthy", "Cubes that monitoring reports as healthy.", lambda row: row.healthy),
    ("cubes", "Cubes.", lambda row: row.cubes),
    ("cubes_drained", "Drained cubes.", lambda row: row.drained),
    ("hosts_down", "Hosts that are down.", lambda row: row.hosts_down),
    ("ocs", "OCSes.", lambda row: row.ocs),
    ("ocs_down", "OCSes that are down.", lambda row: row.ocs_down),
    (
        "ocs_held",
        "OCSes without control; they keep their circuits and make no new ones.",
        lambda row: row.ocs_held,
    ),
    ("ocs_parts_down", "Failed parts of OCSes.", lambda row: row.ocs_parts_down),
    ("chips", "Chips.", lambda row: row.chips),
    ("chips_used", "Chips that slices use now.", lambda row: row.chips_used),
    ("faults_active", "Active faults, whether detected or not.", lambda row: row.faults_active),
    (
        "verdicts_open",
        "Open diagnoses of links, right or wrong.",
        lambda row: row.verdicts.open if row.verdicts else None,
    ),
    (
        "utilisation_ratio",
        "Chips that slices use now over chips that are healthy and not drained.",
        lambda row: row.utilisation_now,
    ),
    (
        "utilisation_mean_ratio",
        "Allocated chip-time over healthy, undrained chip-time since the start.",
        lambda row: row.utilisation,
    ),
    (
        "cube_availability_mean_ratio",
        "Healthy cube-time over all cube-time since the start.",
        lambda row: row.cube_availability,
    ),
    ("dcn_blocks", "Aggregation blocks of a network.", _of_network("blocks")),
    ("dcn_blocks_down", "Blocks that are out of use.", _of_network("blocks_down")),
    ("dcn_bundles_down", "Fibre bundles that are cut.", _of_network("bundles_down")),
    (
        "dcn_domains_without_control",
        "Control domains in which no circuit can be changed.",
        _of_network("domains_without_control"),
    ),
    (
        "dcn_demanded_bits_per_second",
        "Current traffic demand between the blocks of a network.",
        lambda row: row.network.demanded_gbps * BITS_PER_GBIT if row.network else None,
    ),
    ("dcn_served_ratio", "Share of the current demand that is served.", _of_network("served")),
    (
        "dcn_served_mean_ratio",
        "Share of all demand since the start that was served.",
        _of_network("served_mean"),
    ),
    ("dcn_largest_use_ratio", "Load over capacity of the most loaded trunk.", _of_network("use")),
    (
        "dcn_largest_use_bound_ratio",
        "Best known lower bound of the largest trunk use over all weights.",
        _of_network("bound"),
    ),
    ("dcn_transit_ratio", "Share of the demand that takes a transit block.", _of_network("transit")),
    ("dcn_path_trunks_mean", "Mean number of trunks on a path, weighted by traffic.", _of_network("path")),
    (
        "dcn_pairs_cut_off",
        "Pairs of blocks with demand but without a path.",
        _of_network("cut_off"),
    ),
    ("dcn_rewiring", "1 while a rewiring is in progress, else 0.", _of_network("rewiring")),
)
TOTALS: tuple[tuple[str, str, FabricFigure], ...] = (
    ("log_messages", "Messages on the site's log.", lambda row: row.position),
    ("slices_requested", "Slices requested.", _of_slices("requested")),
    ("slices_balked", "Slices not requested because too much work was waiting.", _of_slices("balked")),
    ("slices_admitted", "Slices admitted.", _of_slices("admitted")),
    ("slices_completed", "Slices completed.", _of_slices("completed")),
    ("slices_evicted", "Slices evicted before they were done.", _of_slices("evicted")),
    ("slices_refused", "Slices refused or withdrawn.", _of_slices("refused")),
    ("cube_swaps", "Cubes of slices that were replaced.", _of_slices("swapped")),
    ("verdicts", "Verdicts on links.", lambda row: row.verdicts.given if row.verdicts else None),
    (
        "repairs_ineffective",
        "Repairs that did not fix the problem.",
        lambda row: row.repairs.ineffective,
    ),
    ("cross_connects", "Circuits made.", lambda row: row.cross_connects),
    ("dcn_rewirings_planned", "Planned rewirings of a network.", _planned),
    ("dcn_weights_solved", "Times that the traffic weights were solved again.", _of_network("solved")),
)
"""Counters since the fabric was commissioned."""
LEVELS: tuple[tuple[str, str, str, LabelledFigures], ...] = (
    ("slices", "Current slices by state.", "state", lambda row: _slices(row.slices)),
    ("link_ends", "Link ends by state.", "state", lambda row: dict(row.links or ())),
    (
        "dcn_circuits",
        "Circuits of a network by state: carrying traffic, or why not.",
        "state",
        lambda row: _circuits(row.network),
    ),
    ("repairs_open", "Open repairs by state.", "state", lambda row: _open_repairs(row.repairs)),
    (
        "slice_wait_seconds",
        "Simulated time that the currently waiting slices have waited.",
        "quantile",
        lambda row: _wait_quantiles(row.waits) if row.slices else {},
    ),
)
TOTALS_BY: tuple[tuple[str, str, str, LabelledFigures], ...] = (
    (
        "faults_begun",
        "Faults begun, by kind.",
        "kind",
        lambda row: {str(kind): count for kind, count in (row.faults_begun or {}).items()},
    ),
    ("repairs_ended", "Repairs ended, by outcome.", "outcome", lambda row: _ended_repairs(row.repairs)),
    (
        "dcn_rewirings",
        "Ended rewirings of a network by outcome; `kept` counts plans that were not worth it.",
        "outcome",
        lambda row: _rewirings(row.network),
    ),
)
INBOX = (
    ("inbox_waiting", "Requests that wait in the inbox of the fabric's partition."),
    ("inbox_oldest_seconds", "Wall time that the oldest pending request has waited."),
)
CLOCK: tuple[tuple[str, str, Callable[[ClockState], float]], ...] = (
    ("simulated_seconds", "Simulated time up to which everything is processed.", lambda c: c.now_us / 1e6),
    (
        "speed_requested",
        "Requested simulated time over wall time; 0 while paused.",
        lambda c: 0 if c.paused else c.speed,
    ),
    ("speed_achieved", "Achieved simulated time over wall time.", lambda c: c.achieved_speed),
    ("lag_seconds", "Simulated time by which the twin is behind its clock.", lambda c: c.lag_us / 1e6),
)


def _slices(slices: SliceCounts | None) -> dict[str, float]:
    """Slices by exclusive state."""
    if slices is None:
        return {}
    states = ("queued", "running", "programming", "preflight", "degraded", "recovering")
    return {name: getattr(slices, name) for name in states}


def _circuits(network: NetworkFigures | None) -> dict[str, float]:
    if network is None:
        return {}
    return {name: getattr(network, name) for name in ("carrying", "drained", "dark", "unfit")}


def _rewirings(network: NetworkFigures | None) -> dict[str, float]:
    if network is None:
        return {}
    counts = dict(network.rewirings)
    del counts["planned"]
    return {name.replace("_", "-"): count for name, count in counts.items()}


def _open_repairs(repairs: RepairCounts) -> dict[str, float]:
    return {"queued": repairs.queued, "begun": repairs.begun, "tested": repairs.tested}


def _ended_repairs(repairs: RepairCounts) -> dict[str, float]:
    return {"completed": repairs.completed, "cancelled": repairs.cancelled, "failed": repairs.failed}


def _wait_quantiles(waits: WaitTimes | None) -> dict[str, float]:
    """The waiting times by quantile; 0 if no slice waits, so that alerts end."""
    return {"0.5": waits.median_us / 1e6, "0.95": waits.p95_us / 1e6} if waits else {"0.5": 0, "0.95": 0}


class TwinCollector(Collector):
    """Reads status documents on each scrape."""

    def __init__(self, twin: TwinPorts) -> None:
        self._twin = twin

    def describe(self) -> Iterable[Metric]:
        return []

    def collect(self) -> Iterable[Metric]:
        """Gauges and counters of every fabric that has not retired, of the clock and of the runtime. If the
        store is down, those of the fabrics are left out."""
        try:
            rows = [fabric_row(self._twin, fabric) for fabric in living_fabrics(self._twin)]
            inboxes = {row.name: _inbox_backlog(self._twin, row.name) for row in rows}
            pods = [row.name for row in rows if row.chips is not None]
            chip_times = {name: chip_time_now(self._twin, name) for name in pods}
            part_metrics = [*_metrics_by_kind(self._twin, rows), *reading_metrics(self._twin)]
        except LightwaveError:
            rows, inboxes, chip_times, part_metrics = [], {}, {}, []
        yield from _families(GaugeMetricFamily, GAUGES, rows)
        yield from _families(CounterMetricFamily, TOTALS, rows)
        yield from _goodput(chip_times)
        yield from part_metrics
        yield from _labelled_families(GaugeMetricFamily, LEVELS, rows)
        yield from _labelled_families(CounterMetricFamily, TOTALS_BY, rows)
        for place, (name, text) in enumerate(INBOX):
            family = GaugeMetricFamily(f"lightwave_{name}", text, labels=["fabric"])
            for fabric, counts in inboxes.items():
                family.add_metric([fabric], counts[place])
            yield family
        healthy = not self._twin.health()
        yield GaugeMetricFamily("lightwave_healthy", "1 while all is well, else 0.", value=healthy)
        clock = self._twin.clock.show()
        for name, text, read_value in CLOCK:
            yield GaugeMetricFamily(f"lightwave_{name}", text, value=read_value(clock))
        for name, value in self._twin.runtime_metrics().items():
            kind = CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily
            yield kind(f"lightwave_runtime_{name}", "Metric of the runtime itself.", value=value)


def _metrics_by_kind(twin: TwinPorts, rows: Sequence[FabricRow]) -> Iterable[Metric]:
    """The metrics that each kind of fabric has of its own, also of kinds without a fabric now."""
    for kind, view in twin.views.items():
        yield from view.metrics(twin, [row.name for row in rows if row.kind == kind])


def _inbox_backlog(twin: TwinPorts, fabric: str) -> tuple[float, float]:
    """(requests in the inbox of a fabric's partition, wall seconds that the first has waited). A request's
    number is its arrival in microseconds since 1970."""
    partition = twin.documents.fabrics()[fabric].partition
    first = [request.number for request in twin.inbox.waiting(partition, 1)]
    return twin.inbox.size(partition), max(0.0, time.time() - first[0] / US_PER_S) if first else 0.0


def _goodput(chip_times: Mapping[str, ChipTime]) -> Iterable[Metric]:
    """Where chip-time went. Uncommitted work is a gauge, because it may still be lost."""
    total = CounterMetricFamily(
        "lightwave_goodput_chip_seconds",
        "Chip-time by use and by the slice's tier.",
        labels=["fabric", "category", "tier"],
    )
    level = GaugeMetricFamily(
        "lightwave_goodput_uncommitted_chip_seconds",
        "Chip-time of work since the last checkpoint.",
        labels=["fabric", "tier"],
    )
    for fabric, chip_time in chip_times.items():
        for tier in TIERS:
            for category, us in chip_time.used_by(tier).items():
                if category == "uncommitted":
                    level.add_metric([fabric, tier], us / US_PER_S)
                else:
                    total.add_metric([fabric, category, tier], us / US_PER_S)
        for category, us in chip_time.free.items():
            total.add_metric([fabric, category, "none"], us / US_PER_S)
    yield total
    yield level


def _families(
    family_of: type[GaugeMetricFamily] | type[CounterMetricFamily],
    table: tuple[tuple[str, str, FabricFigure], ...],
    rows: list[FabricRow],
) -> Iterable[Metric]:
    for name, text, read in table:
        family = family_of(f"lightwave_{name}", text, labels=["fabric"])
        for row in rows:
            if (value := read(row)) is not None:
                family.add_metric([row.name], value)
        yield family


def _labelled_families(
    family_of: type[GaugeMetricFamily] | type[CounterMetricFamily],
    table: tuple[tuple[str, str, str, LabelledFigures], ...],
    rows: list[FabricRow],
) -> Iterable[Metric]:
    for name, text, label, read in table:
        family = family_of(f"lightwave_{name}", text, labels=["fabric", label])
        for row in rows:
            for value, count in read(row).items():
                family.add_metric([row.name, value], count)
        yield family
