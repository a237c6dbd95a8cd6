"""The rules of the service `scheduler`, by message type."""

from schemas.messages.cubes import (
    CubeDrained,
    CubeHealthy,
    CubeUndrained,
    CubeUnhealthy,
    DrainPlanned,
    HostDown,
    PlannedDrainCancelled,
)
from schemas.messages.failures import ParametersChanged
from schemas.messages.jobs import JobCheckpointed, JobFailed, PodSignalled, UsageReported
from schemas.messages.ocs import (
    CircuitsConnected,
    CircuitsRefused,
    OcsDown,
    OcsFreed,
    OcsHeld,
    OcsUp,
    PortsDown,
    PortsUp,
)
from schemas.messages.repairs import RepairCancelled, RepairCompleted, RepairFailed, RepairOpened
from schemas.messages.scheduler import PodHeld, PodsJoined, PodsParted, PodWaits
from schemas.messages.sequencer import FabricCommissioned, FabricRetired, Tick
from schemas.messages.traffic import JobBandwidthSet, PodsCutOff
from schemas.messages.transceivers import LinksChanged, LinksTrained
from schemas.messages.workload import SliceReleased, SliceRequested
from services.scheduler import (
    admission,
    cube_events,
    documents,
    link_events,
    multislice_events,
    parameter_changes,
    timers,
)
from services.scheduler.chip_accounting import on_usage_reported, update_chip_accounting
from services.scheduler.migrations import add_start_pause
from services.scheduler.placement import cube_ranking
from services.scheduler.state import SchedulerState, commission
from shared.engine.service import Migration, Service, on
from shared.engine.state_layout import state_layout

SERVICE: Service[SchedulerState] = Service(
    name="scheduler",
    state=SchedulerState,
    commission=commission,
    rules=(
        on(Tick, timers.on_tick),
        on(SliceRequested, admission.on_slice_requested),
        on(SliceReleased, admission.on_slice_released),
        on(JobCheckpointed, admission.on_job_checkpointed),
        on(CubeHealthy, cube_events.on_cube_healthy),
        on(CubeUnhealthy, cube_events.on_cube_unhealthy),
        on(JobFailed, cube_events.on_job_failed),
        on(HostDown, cube_events.on_host_down),
        on(CubeDrained, cube_events.on_cube_drained),
        on(CubeUndrained, cube_events.on_cube_undrained),
        on(DrainPlanned, cube_events.on_drain_planned),
        on(PlannedDrainCancelled, cube_events.on_planned_drain_cancelled),
        on(CircuitsConnected, link_events.on_circuits_connected),
        on(CircuitsRefused, link_events.on_circuits_refused),
        on(OcsDown, link_events.on_ocs_down),
        on(OcsUp, link_events.on_ocs_up),
        on(OcsHeld, link_events.on_ocs_down),
        on(OcsFreed, link_events.on_ocs_up),
        on(PortsDown, cube_ranking.on_ports_down, runs_after=False),
        on(PortsUp, cube_ranking.on_ports_up, runs_after=False),
        on(LinksTrained, link_events.on_links_trained),
        on(LinksChanged, link_events.on_links_changed),
        on(RepairOpened, cube_ranking.on_repair_opened, runs_after=False),
        on(RepairCompleted, link_events.on_repair_completed, runs_after=False),
        on(RepairCancelled, cube_ranking.on_repair_closed, runs_after=False),
        on(RepairFailed, cube_ranking.on_repair_closed, runs_after=False),
        on(UsageReported, on_usage_reported, runs_after=False),
        on(ParametersChanged, parameter_changes.on_parameters_changed),
        on(PodWaits, multislice_events.on_pod_waits, scope="site-wide", runs_after=False),
        on(PodHeld, multislice_events.on_pod_held, scope="site-wide"),
        on(PodsJoined, multislice_events.on_pods_joined, scope="site-wide"),
        on(PodsParted, multislice_events.on_pods_parted, scope="site-wide"),
        on(PodSignalled, multislice_events.on_pod_signalled, scope="site-wide", runs_after=False),
        on(PodsCutOff, multislice_events.on_pods_cut_off, scope="site-wide"),
        on(JobBandwidthSet, multislice_events.on_job_bandwidth_set, scope="site-wide", runs_after=False),
        on(FabricCommissioned, multislice_events.on_fabric_commissioned, scope="site-wide", runs_after=False),
        on(FabricRetired, multislice_events.on_fabric_retired, scope="site-wide"),
    ),
    # Rows with `runs_after=False` change the use of no chip.
    after=update_chip_accounting,
    due=timers.due,
    document_keys=documents.document_keys,
    document=documents.document,
    migrations=(Migration("cac694efd031c20d", state_layout(SchedulerState), add_start_pause),),
)
