"""The table of the service `workload`: which rule handles which message."""

from schemas.demands import NetworkGreeted
from schemas.failures import ParametersChanged
from schemas.jobs import JobFinished
from schemas.operator import RekeyDraws, ReleaseSlice, RequestSlice
from schemas.scheduler import SliceAdmitted, SliceCompleted, SliceEvicted, SliceRefused, SliceStarted
from schemas.sequencer import FabricCommissioned, FabricRetired, Tick
from schemas.workload import PodAsked, PodGreeted
from services.workload import documents, logic, neighbours, parameters
from services.workload.state import WorkloadState, commission
from shared.engine.service import Service, on

SERVICE: Service[WorkloadState] = Service(
    name="workload",
    state=WorkloadState,
    commission=commission,
    rules=(
        on(Tick, logic.on_tick),
        on(RequestSlice, logic.on_request_slice),
        on(RekeyDraws, logic.on_rekey),
        on(PodAsked, logic.on_pod_asked, scope="addressed"),
        on(PodGreeted, neighbours.on_pod_greeted, scope="addressed"),
        on(NetworkGreeted, neighbours.on_network_greeted, scope="addressed"),
        on(FabricCommissioned, neighbours.on_fabric_commissioned, scope="site-wide"),
        on(FabricRetired, neighbours.on_fabric_retired, scope="site-wide"),
        on(ReleaseSlice, logic.on_release_slice),
        on(ParametersChanged, parameters.on_parameters_changed),
        on(SliceAdmitted, logic.on_slice_admitted),
        on(SliceStarted, logic.on_slice_started),
        on(JobFinished, logic.on_job_finished),
        on(SliceRefused, logic.on_slice_ended),
        on(SliceEvicted, logic.on_slice_ended),
        on(SliceCompleted, logic.on_slice_ended),
    ),
    due=logic.due,
    document_keys=documents.document_keys,
    document=documents.document,
)
