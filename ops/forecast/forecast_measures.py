"""What is told of a future: a few figures of all fabrics of a site together, between two moments."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from ops.lab.log_lines import message_type_of
from ops.lab.network_report import NetworkTotals, network_report, network_totals
from ops.lab.pod_report import PodTotals, pod_totals, report_between
from ops.lab.slice_waits import SliceWaits
from services.scheduler.state import SchedulerState
from shared.basics.units import US_PER_HOUR, US_PER_MIN
from shared.engine.site import Site

MeasureValues = dict[str, float | None]
TotalsByFabric = Mapping[str, PodTotals | NetworkTotals]
Rows = Sequence[Mapping[str, Any]]
SLICES, REFUSED = b"Slice", b"Refused"
DISPLACING = frozenset({"SliceRequeued", "SliceEvicted"})
"""A slice that leaves its cubes and did not want to."""


class LogObserver:
    """Reads a future's log as it is written: how slices fare, and what is refused."""

    def __init__(self, site: Site, *, keep: bool) -> None:
        self._site = site
        self.waits = SliceWaits(site.now_us)
        self.refused: list[str] = []
        self.lines: list[bytes] = []
        self.degraded: set[str] = set()
        self.lost: set[str] = set()
        self._operator_requests: set[str] = set()
        """The ids of messages that ask in an operator's words."""
        self._keep = keep

    def take(self, lines: bytes) -> None:
        for line in lines.splitlines():
            word = message_type_of(line)
            if word.startswith(SLICES):
                self._slice(orjson.loads(line))
            elif word.endswith(REFUSED):
                self._refused(orjson.loads(line))
            if self._keep:
                self.lines.append(line)

    def _slice(self, message: dict[str, Any]) -> None:
        self.waits.see(message)
        name = str(message["body"]["slice"])
        if message["type"] == "SliceRequested" and _is_operators(message):
            self._operator_requests.add(str(message["id"]))
        elif message["type"] == "SliceRefused":
            self._refused(message)
        elif message["type"] == "SliceDegraded":
            self.degraded.add(name)
        elif message["type"] in DISPLACING and not self._is_filler(name):
            self.lost.add(name)

    def _is_filler(self, name: str) -> bool:
        fabric, _, number = name.rpartition("/slice-")
        state = self._site.instance(fabric, "scheduler").state
        if not isinstance(state, SchedulerState):
            raise TypeError(f"{fabric} has no scheduler")
        row = state.slices.get(int(number)) or state.ended.get(int(number))
        return row is not None and row.tier == "filler"

    def _refused(self, message: Mapping[str, Any]) -> None:
        """Of what an operator asked: nobody else's requests are among them."""
        if _is_operators(message) or message["cause"] in self._operator_requests:
            self.refused.append(str(message["body"].get("reason", message["type"])))


def _is_operators(message: Mapping[str, Any]) -> bool:
    return str(message["cause"]).startswith("operator@")


@dataclass(frozen=True, slots=True)
class ForecastMeasure:
    """One that is told: by its unit, worked out from the reports of the pods and of the networks, and from
    what was seen."""

    unit: str
    meaning: str
    of: Callable[[Rows, Rows, LogObserver, int], float | None]
    digits: int = 2


def count_totals(site: Site, fabrics: Sequence[str], at_us: int) -> TotalsByFabric:
    """Of each of these fabrics, up to a moment."""
    return {
        fabric: network_totals(site, fabric, at_us)
        if _is_network(site, fabric)
        else pod_totals(site, fabric, at_us, links=False)
        for fabric in fabrics
    }


def measure_between(
    fabrics: Sequence[str], before: TotalsByFabric, after: TotalsByFabric, seen: LogObserver, until_us: int
) -> MeasureValues:
    """Between both moments. None where there is nothing to tell a figure by."""
    pods: list[Mapping[str, Any]] = []
    networks: list[Mapping[str, Any]] = []
    for fabric in fabrics:
        now, then = after[fabric], before[fabric]
        if isinstance(now, NetworkTotals):
            networks.append(network_report(fabric, now, then if isinstance(then, NetworkTotals) else None))
        else:
            pods.append(
                report_between(fabric, now, then if isinstance(then, PodTotals) else None) | {"name": fabric}
            )
    return {name: figure.of(pods, networks, seen, until_us) for name, figure in MEASURES.items()}


def _is_network(site: Site, fabric: str) -> bool:
    return not any(one.fabric == fabric and one.name == "scheduler" for one in site.instances)


def _goodput(pods: Rows, _networks: Rows, _seen: LogObserver, _until_us: int) -> float | None:
    whole = sum(row["goodput"]["total_chip_us"] for row in pods)
    return (
        100 * sum(row["goodput"]["chip_us"].get("productive", 0) for row in pods) / whole if whole else None
    )


def _chip_hours(*places: str) -> Callable[[Rows, Rows, LogObserver, int], float | None]:
    def of(pods: Rows, _networks: Rows, _seen: LogObserver, _until_us: int) -> float | None:
        chip_us = [row["goodput"]["chip_us"].get(place, 0) for row in pods for place in places]
        return float(sum(chip_us)) / US_PER_HOUR if pods else None

    return of


def _recovery_min(pods: Rows, _networks: Rows, seen: LogObserver, until_us: int) -> float | None:
    took = [us for row in pods for us in seen.waits.lengths(row["name"], until_us)["recoveries"]]
    return sum(took) / len(took) / US_PER_MIN if took else None


def _wait_h(pods: Rows, _networks: Rows, seen: LogObserver, until_us: int) -> float | None:
    waits = [us for row in pods for us in seen.waits.lengths(row["name"], until_us)["waits"]]
    return sum(waits) / len(waits) / US_PER_HOUR if waits else None


def _served(_pods: Rows, networks: Rows, _seen: LogObserver, _until_us: int) -> float | None:
    return 100 * sum(row["served"] for row in networks) / len(networks) if networks else None


MEASURES: dict[str, ForecastMeasure] = {
    "goodput": ForecastMeasure("%", "chip-time whose work was kept, of all", _goodput),
    "lost": ForecastMeasure(
        "chip-hours",
        "work that faults and drains took, and what went by until slices ran again",
        _chip_hours("lost", "recovering", "startup"),
        0,
    ),
    "degraded": ForecastMeasure(
        "slices",
        "slices that went on with worse links",
        lambda pods, _n, seen, _u: float(len(seen.degraded)) if pods else None,
    ),
    "displaced": ForecastMeasure(
        "slices",
        "slices, but for filler, that were preempted or evicted: left their cubes and did not want to",
        lambda pods, _n, seen, _u: float(len(seen.lost)) if pods else None,
    ),
    "recovery": ForecastMeasure(
        "min", "from what failed under a slice until it ran again, in the mean", _recovery_min
    ),
    "healthy": ForecastMeasure(
        "cubes",
        "cubes that were healthy, in the mean of the time",
        lambda pods, _n, _s, _u: sum(row["cube_us"] / row["span_us"] for row in pods) if pods else None,
    ),
    "wait": ForecastMeasure(
        "h",
        "what slices that were asked for waited for cubes, in the mean; who still waits, so far",
        _wait_h,
    ),
    "queued": ForecastMeasure(
        "slices",
        "slices that wait at the end",
        lambda pods, _n, _s, _u: float(sum(row["slices"]["queued"] for row in pods)) if pods else None,
        1,
    ),
    "served": ForecastMeasure("%", "traffic between pods that was served, of what was asked", _served),
}
"""In the order in which they are told."""
