"""Counters of one network at a time: weights, rewirings, traffic, faults, repairs."""

from dataclasses import dataclass

from schemas.documents.dcn import TopologySummary, TrafficSummary
from schemas.documents.pods import FailuresSummary, OcsSummary
from schemas.documents.repairs import RepairsSummary
from schemas.names import FaultKind
from services.totals.summaries import summary_of
from shared.engine.site import Site

REWIRING_OUTCOMES = ("completed", "aborted", "refused", "taken_back", "overtaken")


@dataclass(frozen=True, slots=True)
class NetworkTotals:
    """All counters of one network from its commissioning up to `at_us`."""

    at_us: int
    weights: int
    rewirings: dict[str, int]
    kept: int
    circuits_made: int
    faults: dict[FaultKind, int]
    repairs: int
    traffic: TrafficSummary


def network_totals(site: Site, fabric: str, at_us: int) -> NetworkTotals:
    """Read the counters from the status documents of one network at `at_us`."""
    traffic = summary_of(site, fabric, "traffic", TrafficSummary)
    topology = summary_of(site, fabric, "topology", TopologySummary)
    return NetworkTotals(
        at_us=at_us,
        weights=traffic.weights,
        rewirings={word: getattr(topology, word) for word in REWIRING_OUTCOMES},
        kept=topology.kept,
        circuits_made=summary_of(site, fabric, "ocs", OcsSummary).cross_connects,
        faults=summary_of(site, fabric, "failures", FailuresSummary).begun,
        repairs=summary_of(site, fabric, "repairs", RepairsSummary).completed,
        traffic=traffic,
    )
