"""The table of the service `scheduler`: which rule handles which message."""

from schemas.cubes import CubeDrained, CubeHealthy, CubeUndrained, CubeUnhealthy, HostDown
from schemas.failures import ParametersChanged
from schemas.jobs import JobCheckpointed, JobFailed, PodSignalled, UsageReported
from schemas.ocs import (
    CircuitsConnected,
    CircuitsRefused,
    OcsDown,
    OcsFreed,
    OcsHeld,
    OcsUp,
    PortsDown,
    PortsUp,
)
from schemas.repairs import RepairCancelled, RepairCompleted, RepairFailed, RepairOpened
from schemas.scheduler import PodHeld, PodsJoined, PodsParted, PodWaits
from schemas.sequencer import FabricCommissioned, FabricRetired, Tick
from schemas.traffic import JobBandwidthSet, PodsCutOff
from schemas.transceivers import LinksChanged, LinksTrained
from schemas.workload import SliceReleased, SliceRequested
from services.scheduler import admission, documents, health, links, logic, parameters
from services.scheduler.books import booked, on_usage_reported
from services.scheduler.multislice import rules
from services.scheduler.placement import scores
from services.scheduler.state import SchedulerState, commission
from shared.engine.service import Service, on

SERVICE: Service[SchedulerState] = Service(
    name="scheduler",
    state=SchedulerState,
    commission=commission,
    rules=(
        on(Tick, booked(logic.on_tick)),
        on(SliceRequested, booked(admission.on_slice_requested)),
        on(SliceReleased, booked(admission.on_slice_released)),
        on(JobCheckpointed, booked(admission.on_job_checkpointed)),
        on(CubeHealthy, booked(health.on_cube_healthy)),
        on(CubeUnhealthy, booked(health.on_cube_unhealthy)),
        on(JobFailed, booked(health.on_job_failed)),
        on(HostDown, booked(health.on_host_down)),
        on(CubeDrained, booked(health.on_cube_drained)),
        on(CubeUndrained, booked(health.on_cube_undrained)),
        on(CircuitsConnected, booked(links.on_circuits_connected)),
        on(CircuitsRefused, booked(links.on_circuits_refused)),
        on(OcsDown, booked(links.on_ocs_down)),
        on(OcsUp, booked(links.on_ocs_up)),
        on(OcsHeld, booked(links.on_ocs_down)),
        on(OcsFreed, booked(links.on_ocs_up)),
        on(PortsDown, scores.on_ports_down),
        on(PortsUp, scores.on_ports_up),
        on(LinksTrained, booked(links.on_links_trained)),
        on(LinksChanged, booked(links.on_links_changed)),
        on(RepairOpened, scores.on_repair_opened),
        on(RepairCompleted, scores.on_repair_closed),
        on(RepairCancelled, scores.on_repair_closed),
        on(RepairFailed, scores.on_repair_closed),
        on(UsageReported, on_usage_reported),
        on(ParametersChanged, booked(parameters.on_parameters_changed)),
        on(PodWaits, rules.on_pod_waits, scope="site-wide"),
        on(PodHeld, booked(rules.on_pod_held), scope="site-wide"),
        on(PodsJoined, booked(rules.on_pods_joined), scope="site-wide"),
        on(PodsParted, booked(rules.on_pods_parted), scope="site-wide"),
        on(PodSignalled, rules.on_pod_signalled, scope="site-wide"),
        on(PodsCutOff, booked(rules.on_pods_cut_off), scope="site-wide"),
        on(JobBandwidthSet, rules.on_job_bandwidth_set, scope="site-wide"),
        on(FabricCommissioned, rules.on_fabric_commissioned, scope="site-wide"),
        on(FabricRetired, booked(rules.on_fabric_retired), scope="site-wide"),
    ),
    due=logic.due,
    document_keys=documents.document_keys,
    document=documents.document,
)
