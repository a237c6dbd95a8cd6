"""Metrics for Prometheus: the state of every fabric and of the runtime."""

from collections.abc import Callable, Iterable

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from schemas.api import FabricRow, LinkCounts, SliceCounts
from services.gateway.fabrics import living
from services.gateway.ports import TwinPorts
from services.gateway.rows import fabric_row
from shared.basics.errors import LightwaveError
from shared.runtimes.clock import ClockState

GAUGES: tuple[tuple[str, str, Callable[[FabricRow], float]], ...] = (
    ("cubes_healthy", "cubes judged healthy", lambda row: row.healthy),
    ("cubes_drained", "cubes drained", lambda row: row.drained),
    ("hosts_down", "hosts down", lambda row: row.hosts_down),
    ("ocs_down", "OCSes down", lambda row: row.ocs_down),
    ("faults_active", "faults active in truth", lambda row: row.faults_active),
    (
        "utilisation_ratio",
        "allocated chip-time over all chip-time since the start",
        lambda row: row.utilisation,
    ),
    (
        "cube_availability_ratio",
        "healthy cube-time over all cube-time since the start",
        lambda row: row.cube_availability,
    ),
    ("log_position", "messages in the log", lambda row: row.position),
)
COUNTS: tuple[tuple[str, str, Callable[[FabricRow], SliceCounts | LinkCounts]], ...] = (
    ("slices", "slices by state", lambda row: row.slices),
    ("link_ends", "link ends by state", lambda row: row.links),
)
CLOCK: tuple[tuple[str, str, Callable[[ClockState], float]], ...] = (
    ("simulated_seconds", "simulated time up to which all is done", lambda c: c.now_us / 1e6),
    (
        "speed_asked",
        "simulated over wall time, as asked for; 0 while paused",
        lambda c: 0 if c.paused else c.speed,
    ),
    ("speed_held", "simulated over wall time, as held", lambda c: c.achieved_speed),
    ("lag_seconds", "simulated time that the twin is behind its clock", lambda c: c.lag_us / 1e6),
)


class TwinCollector(Collector):
    """Reads status documents when Prometheus asks, and not before."""

    def __init__(self, twin: TwinPorts) -> None:
        self._twin = twin

    def describe(self) -> Iterable[Metric]:
        return []

    def collect(self) -> Iterable[Metric]:
        """Gauges of every fabric that lives, of the clock and of the runtime; without a store those of the
        fabrics are left out."""
        try:
            rows = [fabric_row(self._twin, fabric) for fabric in living(self._twin)]
        except LightwaveError:
            rows = []
        for name, text, read in GAUGES:
            family = GaugeMetricFamily(f"lightwave_{name}", text, labels=["fabric"])
            for row in rows:
                family.add_metric([row.name], read(row))
            yield family
        for name, text, counts in COUNTS:
            family = GaugeMetricFamily(f"lightwave_{name}", text, labels=["fabric", "state"])
            for row in rows:
                for state, count in counts(row):
                    family.add_metric([row.name, state], count)
            yield family
        healthy = not self._twin.health()
        yield GaugeMetricFamily("lightwave_healthy", "1 while all is well, else 0", value=healthy)
        clock = self._twin.clock.show()
        for name, text, tell in CLOCK:
            yield GaugeMetricFamily(f"lightwave_{name}", text, value=tell(clock))
        for name, value in self._twin.runtime_metrics().items():
            kind = CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily
            yield kind(f"lightwave_runtime_{name}", "of the runtime itself", value=value)
