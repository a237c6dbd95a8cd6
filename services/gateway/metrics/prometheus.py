"""Metrics for Prometheus: the state of every fabric and of the runtime."""

import time
from collections.abc import Callable, Iterable, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from schemas.api.network_rows import NetworkFigures
from schemas.api.rows import FabricRow, RepairCounts, SliceCounts, WaitTimes
from services.gateway.fabrics import living_fabrics
from services.gateway.metrics.goodput_report import chip_time_now
from services.gateway.metrics.network_metrics import network_metrics
from services.gateway.metrics.telemetry_metrics import reading_metrics
from services.gateway.ports import TwinPorts
from services.gateway.resources.fabric_rows import fabric_row
from shared.basics.errors import LightwaveError
from shared.basics.units import US_PER_S
from shared.models.jobs.goodput_accounting import TIERS, ChipTime
from shared.runtimes.simulated_clock import ClockState

FabricFigure = Callable[[FabricRow], float | None]
"""One figure of a fabric; None of one that has none of the kind."""
LabelledFigures = Callable[[FabricRow], dict[str, float]]
"""Several of one kind, by a label."""
BITS_PER_GBIT = 1e9


def _of_slices(field: str) -> FabricFigure:
    return lambda row: getattr(row.slices, field) if row.slices else None


def _planned(row: FabricRow) -> float | None:
    return row.network.rewirings.planned if row.network else None


def _of_network(field: str) -> FabricFigure:
    return lambda row: getattr(row.network, field) if row.network else None


GAUGES: tuple[tuple[str, str, FabricFigure], ...] = (
    ("cubes_healthy", "cubes judged healthy", lambda row: row.healthy),
    ("cubes", "cubes", lambda row: row.cubes),
    ("cubes_drained", "cubes that take nothing new", lambda row: row.drained),
    ("hosts_down", "hosts down", lambda row: row.hosts_down),
    ("ocs", "OCSes", lambda row: row.ocs),
    ("ocs_down", "OCSes down", lambda row: row.ocs_down),
    ("ocs_held", "OCSes whose circuits stand and that make none", lambda row: row.ocs_held),
    ("ocs_parts_down", "parts of OCSes that are broken", lambda row: row.ocs_parts_down),
    ("chips", "chips", lambda row: row.chips),
    ("chips_used", "chips that slices hold now", lambda row: row.chips_used),
    ("faults_active", "faults active in truth", lambda row: row.faults_active),
    (
        "verdicts_open",
        "what is held for the matter with links, right or wrong",
        lambda row: row.verdicts.open if row.verdicts else None,
    ),
    (
        "utilisation_ratio",
        "chips that slices hold now, of all that are healthy and not drained",
        lambda row: row.utilisation_now,
    ),
    (
        "utilisation_mean_ratio",
        "allocated chip-time over all that was healthy and not drained since the start",
        lambda row: row.utilisation,
    ),
    (
        "cube_availability_mean_ratio",
        "healthy cube-time over all cube-time since the start",
        lambda row: row.cube_availability,
    ),
    ("dcn_blocks", "aggregation blocks of a network", _of_network("blocks")),
    ("dcn_blocks_down", "blocks out of use", _of_network("blocks_down")),
    ("dcn_bundles_down", "fibre bundles that are cut", _of_network("bundles_down")),
    (
        "dcn_domains_without_control",
        "control domains in which nothing can be changed",
        _of_network("domains_without_control"),
    ),
    (
        "dcn_demanded_bits_per_second",
        "what the blocks of a network want to send each other now",
        lambda row: row.network.demanded_gbps * BITS_PER_GBIT if row.network else None,
    ),
    ("dcn_served_ratio", "share of the demand that gets through now", _of_network("served")),
    (
        "dcn_served_mean_ratio",
        "share of all demand since the start that got through",
        _of_network("served_mean"),
    ),
    ("dcn_largest_use_ratio", "load of the fullest trunk over what it carries", _of_network("use")),
    (
        "dcn_largest_use_bound_ratio",
        "a largest use that no weights can better, as far as is known",
        _of_network("bound"),
    ),
    ("dcn_transit_ratio", "share of the demand that takes a transit block", _of_network("transit")),
    ("dcn_path_trunks_mean", "trunks that a bit passes in the mean", _of_network("path")),
    (
        "dcn_pairs_cut_off",
        "pairs of blocks that want to send something and have no path",
        _of_network("cut_off"),
    ),
    ("dcn_rewiring", "1 while a rewiring is under way, else 0", _of_network("rewiring")),
)
TOTALS: tuple[tuple[str, str, FabricFigure], ...] = (
    ("log_messages", "messages on the site's log", lambda row: row.position),
    ("slices_requested", "slices requested", _of_slices("requested")),
    ("slices_balked", "slices not requested, for too much work waited before them", _of_slices("balked")),
    ("slices_admitted", "slices admitted", _of_slices("admitted")),
    ("slices_completed", "slices completed", _of_slices("completed")),
    ("slices_evicted", "slices that lost their cubes before they were done", _of_slices("evicted")),
    ("slices_refused", "slices refused or withdrawn", _of_slices("refused")),
    ("cube_swaps", "cubes of slices that others took the place of", _of_slices("swapped")),
    ("verdicts", "verdicts given on links", lambda row: row.verdicts.given if row.verdicts else None),
    (
        "repairs_ineffective",
        "repairs after which there still was what they were to mend",
        lambda row: row.repairs.ineffective,
    ),
    ("cross_connects", "circuits made", lambda row: row.cross_connects),
    ("dcn_rewirings_planned", "rewirings of a network that were planned", _planned),
    ("dcn_weights_solved", "times that weights were solved anew", _of_network("solved")),
)
"""Counted since the fabric was commissioned."""
LEVELS: tuple[tuple[str, str, str, LabelledFigures], ...] = (
    ("slices", "slices of now by state", "state", lambda row: _slices(row.slices)),
    ("link_ends", "link ends by state", "state", lambda row: dict(row.links or ())),
    (
        "dcn_circuits",
        "circuits of a network by state: those that carry traffic, and why others do not",
        "state",
        lambda row: _circuits(row.network),
    ),
    ("repairs_open", "open repairs by state", "state", lambda row: _open(row.repairs)),
    (
        "slice_wait_seconds",
        "simulated time for which slices have waited that wait now",
        "quantile",
        lambda row: _waits(row.waits) if row.slices else {},
    ),
)
TOTALS_BY: tuple[tuple[str, str, str, LabelledFigures], ...] = (
    (
        "faults_begun",
        "faults begun by kind",
        "kind",
        lambda row: {str(kind): count for kind, count in row.faults_begun.items()},
    ),
    ("repairs_ended", "repairs ended by outcome", "outcome", lambda row: _ended(row.repairs)),
    (
        "dcn_rewirings",
        "rewirings of a network that ended, by outcome, and plans that were not worth it (kept)",
        "outcome",
        lambda row: _rewirings(row.network),
    ),
)
INBOX = (
    ("inbox_waiting", "requests that wait in the inbox of its partition"),
    ("inbox_oldest_seconds", "wall time for which the first of them has waited"),
)
CLOCK: tuple[tuple[str, str, Callable[[ClockState], float]], ...] = (
    ("simulated_seconds", "simulated time up to which all is done", lambda c: c.now_us / 1e6),
    (
        "speed_requested",
        "simulated over wall time, as asked for; 0 while paused",
        lambda c: 0 if c.paused else c.speed,
    ),
    ("speed_achieved", "simulated over wall time, as held", lambda c: c.achieved_speed),
    ("lag_seconds", "simulated time that the twin is behind its clock", lambda c: c.lag_us / 1e6),
)


def _slices(slices: SliceCounts | None) -> dict[str, float]:
    """Slices by the state in which each is alone."""
    if slices is None:
        return {}
    aside = {name: getattr(slices, name) for name in ("programming", "preflight", "degraded", "recovering")}
    return {"queued": slices.queued, "running": slices.running - sum(aside.values())} | aside


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


def _open(repairs: RepairCounts) -> dict[str, float]:
    return {"queued": repairs.queued, "begun": repairs.begun, "tested": repairs.tested}


def _ended(repairs: RepairCounts) -> dict[str, float]:
    return {"completed": repairs.completed, "cancelled": repairs.cancelled, "failed": repairs.failed}


def _waits(waits: WaitTimes | None) -> dict[str, float]:
    """Nobody waits: no time at all, rather than a gap that no alert ends with."""
    return {"0.5": waits.median_us / 1e6, "0.95": waits.p95_us / 1e6} if waits else {"0.5": 0, "0.95": 0}


class TwinCollector(Collector):
    """Reads status documents when Prometheus asks, and not before."""

    def __init__(self, twin: TwinPorts) -> None:
        self._twin = twin

    def describe(self) -> Iterable[Metric]:
        return []

    def collect(self) -> Iterable[Metric]:
        """Levels and totals of every fabric that lives, of the clock and of the runtime; without a store
        those of the fabrics are left out."""
        try:
            rows = [fabric_row(self._twin, fabric) for fabric in living_fabrics(self._twin)]
            inboxes = {row.name: _waiting(self._twin, row.name) for row in rows}
            pods = [row.name for row in rows if row.network is None]
            books = {name: chip_time_now(self._twin, name) for name in pods}
            of_parts = [*network_metrics(self._twin), *reading_metrics(self._twin)]
        except LightwaveError:
            rows, inboxes, books, of_parts = [], {}, {}, []
        yield from _plain(GaugeMetricFamily, GAUGES, rows)
        yield from _plain(CounterMetricFamily, TOTALS, rows)
        yield from _goodput(books)
        yield from of_parts
        yield from _labelled(GaugeMetricFamily, LEVELS, rows)
        yield from _labelled(CounterMetricFamily, TOTALS_BY, rows)
        for place, (name, text) in enumerate(INBOX):
            family = GaugeMetricFamily(f"lightwave_{name}", text, labels=["fabric"])
            for fabric, counts in inboxes.items():
                family.add_metric([fabric], counts[place])
            yield family
        healthy = not self._twin.health()
        yield GaugeMetricFamily("lightwave_healthy", "1 while all is well, else 0", value=healthy)
        clock = self._twin.clock.show()
        for name, text, tell in CLOCK:
            yield GaugeMetricFamily(f"lightwave_{name}", text, value=tell(clock))
        for name, value in self._twin.runtime_metrics().items():
            kind = CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily
            yield kind(f"lightwave_runtime_{name}", "of the runtime itself", value=value)


def _waiting(twin: TwinPorts, fabric: str) -> tuple[float, float]:
    """(requests in the inbox of a fabric, wall seconds for which the first has waited). Its number
    is when it came, in microseconds since 1970."""
    partition = twin.documents.fabrics()[fabric].partition
    first = [request.number for request in twin.inbox.waiting(partition, 1)]
    return twin.inbox.size(partition), max(0.0, time.time() - first[0] / US_PER_S) if first else 0.0


def _goodput(books: Mapping[str, ChipTime]) -> Iterable[Metric]:
    """Where chip-time went. What no checkpoint keeps yet is a level, for it may still be lost."""
    total = CounterMetricFamily(
        "lightwave_goodput_chip_seconds",
        "chip-time by what it went to, and the tier of the slice that had it",
        labels=["fabric", "place", "tier"],
    )
    level = GaugeMetricFamily(
        "lightwave_goodput_uncommitted_chip_seconds",
        "chip-time of work that no checkpoint keeps yet",
        labels=["fabric", "tier"],
    )
    for fabric, one in books.items():
        for tier in TIERS:
            for place, us in one.used_by(tier).items():
                if place == "uncommitted":
                    level.add_metric([fabric, tier], us / US_PER_S)
                else:
                    total.add_metric([fabric, place, tier], us / US_PER_S)
        for place, us in one.free.items():
            total.add_metric([fabric, place, "none"], us / US_PER_S)
    yield total
    yield level


def _plain(
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


def _labelled(
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
