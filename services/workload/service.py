"""The rules of the service `workload`, by message type."""

from schemas.messages.demands import NetworkGreeted
from schemas.messages.failures import ParametersChanged
from schemas.messages.jobs import JobFinished
from schemas.messages.operator import ExtendTrace, RekeyDraws, ReleaseSlice, RequestSlice
from schemas.messages.scheduler import SliceAdmitted, SliceCompleted, SliceEvicted, SliceRefused, SliceStarted
from schemas.messages.sequencer import FabricCommissioned, FabricRetired, Tick
from schemas.messages.workload import PodAsked, PodGreeted
from services.workload import documents, logic, site_pods, slice_requests
from services.workload.state import WorkloadState, commission
from shared.engine.drill_orders import on_drill_orders
from shared.engine.service import Service, on

SERVICE: Service[WorkloadState] = Service(
    name="workload",
    state=WorkloadState,
    commission=commission,
    rules=(
        on(Tick, logic.on_tick),
        on(RequestSlice, logic.on_request_slice),
        on_drill_orders(on(RequestSlice, logic.on_request_slice), on(ReleaseSlice, logic.on_release_slice)),
        on(RekeyDraws, logic.on_rekey),
        on(ExtendTrace, slice_requests.on_extend_trace),
        on(PodAsked, logic.on_pod_asked, scope="addressed"),
        on(PodGreeted, site_pods.on_pod_greeted, scope="addressed"),
        on(NetworkGreeted, site_pods.on_network_greeted, scope="addressed"),
        on(FabricCommissioned, site_pods.on_fabric_commissioned, scope="site-wide"),
        on(FabricRetired, site_pods.on_fabric_retired, scope="site-wide"),
        on(ReleaseSlice, logic.on_release_slice),
        on(ParametersChanged, slice_requests.on_parameters_changed),
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
