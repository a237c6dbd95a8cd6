"""The summaries of all services of one fabric."""

from collections.abc import Mapping
from dataclasses import dataclass

from schemas.documents.dcn import DemandsSummary, TopologySummary, TrafficSummary, TrunksSummary
from schemas.documents.pods import (
    CubesSummary,
    FailuresSummary,
    JobsSummary,
    LinksSummary,
    OcsSummary,
    SchedulerSummary,
    WorkloadSummary,
)
from schemas.documents.repairs import DiagnosisSummary, RepairsSummary
from services.gateway.fabrics import fabric_plant
from services.gateway.hidden_truth import HIDES_TRUTH
from services.gateway.resources.status_documents import DocumentT, parse_document
from services.gateway.runtime_ports import TwinPorts
from shared.basics.errors import OperationFailed


@dataclass(frozen=True, slots=True)
class PodSummaries:
    """The summaries of a pod's services; None for a service that this kind of pod does not have."""

    scheduler: SchedulerSummary
    cubes: CubesSummary
    transceivers: LinksSummary
    ocs: OcsSummary | None
    failures: FailuresSummary | None
    """None if the caller may not see faults."""
    diagnosis: DiagnosisSummary
    repairs: RepairsSummary
    workload: WorkloadSummary
    jobs: JobsSummary


@dataclass(frozen=True, slots=True)
class NetworkSummaries:
    """The summaries of a datacenter network's services."""

    demands: DemandsSummary
    traffic: TrafficSummary
    trunks: TrunksSummary
    topology: TopologySummary
    ocs: OcsSummary
    failures: FailuresSummary | None
    """None if the caller may not see faults."""
    repairs: RepairsSummary


def pod_summaries(twin: TwinPorts, fabric: str) -> PodSummaries:
    """All summaries of one pod; raise OperationFailed if the store lacks one."""
    has_ocs = bool(fabric_plant(twin, fabric).population("ocs"))
    rows = _Rows(fabric, twin.documents.all(fabric, "summaries"))
    return PodSummaries(
        scheduler=rows.of("scheduler", SchedulerSummary),
        cubes=rows.of("cubes", CubesSummary),
        transceivers=rows.of("transceivers", LinksSummary),
        ocs=rows.of("ocs", OcsSummary) if has_ocs else None,
        failures=None if HIDES_TRUTH.get() else rows.of("failures", FailuresSummary),
        diagnosis=rows.of("diagnosis", DiagnosisSummary),
        repairs=rows.of("repairs", RepairsSummary),
        workload=rows.of("workload", WorkloadSummary),
        jobs=rows.of("jobs", JobsSummary),
    )


def network_summaries_of(twin: TwinPorts, fabric: str) -> NetworkSummaries:
    """All summaries of one network; raise OperationFailed if the store lacks one."""
    rows = _Rows(fabric, twin.documents.all(fabric, "summaries"))
    return NetworkSummaries(
        demands=rows.of("demands", DemandsSummary),
        traffic=rows.of("traffic", TrafficSummary),
        trunks=rows.of("trunks", TrunksSummary),
        topology=rows.of("topology", TopologySummary),
        ocs=rows.of("ocs", OcsSummary),
        failures=None if HIDES_TRUTH.get() else rows.of("failures", FailuresSummary),
        repairs=rows.of("repairs", RepairsSummary),
    )


@dataclass(frozen=True, slots=True)
class _Rows:
    """The summaries of one read."""

    fabric: str
    texts: Mapping[str, bytes]

    def of(self, service: str, model: type[DocumentT]) -> DocumentT:
        name = f"{self.fabric}/{service}"
        if name not in self.texts:
            raise OperationFailed(f"{self.fabric}: the store has no summary of its {service}")
        return parse_document(model, name, self.texts[name])
