"""The services' summaries of one fabric, side by side."""

from dataclasses import dataclass

from schemas.documents import (
    CubesSummary,
    FailuresSummary,
    JobsSummary,
    LinksSummary,
    OcsSummary,
    RepairsSummary,
    SchedulerSummary,
    WorkloadSummary,
)
from services.gateway.documents import DocumentT, read
from services.gateway.fabrics import plant
from services.gateway.ports import TwinPorts
from shared.basics.errors import OperationFailed


@dataclass(frozen=True, slots=True)
class Summaries:
    """One summary a service; None of one that this kind of fabric has not."""

    scheduler: SchedulerSummary
    cubes: CubesSummary
    transceivers: LinksSummary
    ocs: OcsSummary | None
    failures: FailuresSummary
    repairs: RepairsSummary
    workload: WorkloadSummary
    jobs: JobsSummary


def summaries_of(twin: TwinPorts, fabric: str) -> Summaries:
    """All summaries of one view; OperationFailed if the store lacks one."""
    has_ocs = bool(plant(twin, fabric).population("ocs"))
    rows = twin.documents.all(fabric, "summaries")

    def of(service: str, model: type[DocumentT]) -> DocumentT:
        name = f"{fabric}/{service}"
        if name not in rows:
            raise OperationFailed(f"{fabric}: the store has no summary of its {service}")
        return read(model, name, rows[name])

    return Summaries(
        scheduler=of("scheduler", SchedulerSummary),
        cubes=of("cubes", CubesSummary),
        transceivers=of("transceivers", LinksSummary),
        ocs=of("ocs", OcsSummary) if has_ocs else None,
        failures=of("failures", FailuresSummary),
        repairs=of("repairs", RepairsSummary),
        workload=of("workload", WorkloadSummary),
        jobs=of("jobs", JobsSummary),
    )
