"""The rules of the service `jobs`, by message type."""

from schemas.messages.failures import FaultBegan, FaultEnded, ParametersChanged
from schemas.messages.jobs import PodSignalled
from schemas.messages.operator import RekeyDraws
from schemas.messages.scheduler import (
    CubeSwapped,
    SliceAdmitted,
    SliceCompleted,
    SliceDegraded,
    SliceEvicted,
    SliceNoticed,
    SliceRecovering,
    SliceRefused,
    SliceRequeued,
    SliceRestored,
    SliceStarted,
)
from schemas.messages.sequencer import FabricRetired, Tick
from schemas.messages.traffic import JobBandwidthSet
from schemas.messages.workload import SliceRequested
from services.jobs import documents, job_faults, logic, multislice
from services.jobs.state import JobsState, commission
from shared.engine.rekey_draws import on_rekey
from shared.engine.service import Service, on

SERVICE: Service[JobsState] = Service(
    name="jobs",
    state=JobsState,
    commission=commission,
    rules=(
        on(Tick, logic.on_tick),
        on(RekeyDraws, on_rekey),
        on(SliceRequested, logic.on_slice_requested),
        on(SliceAdmitted, logic.on_slice_admitted),
        on(SliceStarted, logic.on_slice_started),
        on(SliceDegraded, logic.on_slice_speed_changed),
        on(SliceRestored, logic.on_slice_speed_changed),
        on(SliceRecovering, logic.on_slice_recovering),
        on(CubeSwapped, logic.on_cube_swapped),
        on(SliceNoticed, logic.on_slice_noticed),
        on(SliceRequeued, logic.on_slice_requeued),
        on(ParametersChanged, logic.on_parameters_changed),
        on(FaultBegan, job_faults.on_fault_began),
        on(FaultEnded, job_faults.on_fault_ended),
        on(SliceRefused, logic.on_slice_ended),
        on(SliceEvicted, logic.on_slice_ended),
        on(SliceCompleted, logic.on_slice_ended),
        on(PodSignalled, multislice.on_pod_signalled, scope="site-wide"),
        on(JobBandwidthSet, multislice.on_job_bandwidth_set, scope="site-wide"),
        on(FabricRetired, multislice.on_fabric_retired, scope="site-wide"),
    ),
    due=logic.due,
    document_keys=documents.document_keys,
    document=documents.document,
)
