"""The rules of the service `scheduler`, by message type."""

from schemas.messages.cubes import CubeDrained, CubeHealthy, CubeUndrained, CubeUnhealthy, HostDown
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
    logic,
    multislice_events,
    parameter_changes,
)
from services.scheduler.chip_accounting import on_usage_reported, with_chip_accounting
from services.scheduler.placement import cube_ranking
from services.scheduler.state import SchedulerState, commission
from shared.engine.service import Service, on

SERVICE: Service[SchedulerState] = Service(
    name="scheduler",
    state=SchedulerState,
    commission=commission,
    rules=(
        on(Tick, with_chip_accounting(logic.on_tick)),
        on(SliceRequested, with_chip_accounting(admission.on_slice_requested)),
        on(SliceReleased, with_chip_accounting(admission.on_slice_released)),
        on(JobCheckpointed, with_chip_accounting(admission.on_job_checkpointed)),
        on(CubeHealthy, with_chip_accounting(cube_events.on_cube_healthy)),
        on(CubeUnhealthy, with_chip_accounting(cube_events.on_cube_unhealthy)),
        on(JobFailed, with_chip_accounting(cube_events.on_job_failed)),
        on(HostDown, with_chip_accounting(cube_events.on_host_down)),
        on(CubeDrained, with_chip_accounting(cube_events.on_cube_drained)),
        on(CubeUndrained, with_chip_accounting(cube_events.on_cube_undrained)),
        on(CircuitsConnected, with_chip_accounting(link_events.on_circuits_connected)),
        on(CircuitsRefused, with_chip_accounting(link_events.on_circuits_refused)),
        on(OcsDown, with_chip_accounting(link_events.on_ocs_down)),
        on(OcsUp, with_chip_accounting(link_events.on_ocs_up)),
        on(OcsHeld, with_chip_accounting(link_events.on_ocs_down)),
        on(OcsFreed, with_chip_accounting(link_events.on_ocs_up)),
        on(PortsDown, cube_ranking.on_ports_down),
        on(PortsUp, cube_ranking.on_ports_up),
        on(LinksTrained, with_chip_accounting(link_events.on_links_trained)),
        on(LinksChanged, with_chip_accounting(link_events.on_links_changed)),
        on(RepairOpened, cube_ranking.on_repair_opened),
        on(RepairCompleted, cube_ranking.on_repair_closed),
        on(RepairCancelled, cube_ranking.on_repair_closed),
        on(RepairFailed, cube_ranking.on_repair_closed),
        on(UsageReported, on_usage_reported),
        on(ParametersChanged, with_chip_accounting(parameter_changes.on_parameters_changed)),
        on(PodWaits, multislice_events.on_pod_waits, scope="site-wide"),
        on(PodHeld, with_chip_accounting(multislice_events.on_pod_held), scope="site-wide"),
        on(PodsJoined, with_chip_accounting(multislice_events.on_pods_joined), scope="site-wide"),
        on(PodsParted, with_chip_accounting(multislice_events.on_pods_parted), scope="site-wide"),
        on(PodSignalled, multislice_events.on_pod_signalled, scope="site-wide"),
        on(PodsCutOff, with_chip_accounting(multislice_events.on_pods_cut_off), scope="site-wide"),
        on(JobBandwidthSet, multislice_events.on_job_bandwidth_set, scope="site-wide"),
        on(FabricCommissioned, multislice_events.on_fabric_commissioned, scope="site-wide"),
        on(FabricRetired, with_chip_accounting(multislice_events.on_fabric_retired), scope="site-wide"),
    ),
    due=logic.due,
    document_keys=documents.document_keys,
    document=documents.document,
)
