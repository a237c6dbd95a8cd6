"""The scheduler service: message type → rule."""

from schemas.cubes import CubeDrained, CubeHealthy, CubeUndrained, CubeUnhealthy
from schemas.ocs import CircuitsConnected, CircuitsRefused
from schemas.sequencer import Tick
from schemas.transceivers import LinksChanged, LinksTrained
from schemas.workload import SliceReleased, SliceRequested
from services.scheduler import admission, health, links
from services.scheduler.documents import document, document_keys
from services.scheduler.state import SchedulerState, commission
from shared.engine.service import Service

SERVICE: Service[SchedulerState] = Service(
    name="scheduler",
    state=SchedulerState,
    commission=commission,
    rules={
        Tick: health.on_tick,
        SliceRequested: admission.on_slice_requested,
        SliceReleased: admission.on_slice_released,
        CubeHealthy: health.on_cube_healthy,
        CubeUnhealthy: health.on_cube_unhealthy,
        CubeDrained: health.on_cube_drained,
        CubeUndrained: health.on_cube_undrained,
        CircuitsConnected: links.on_circuits_connected,
        CircuitsRefused: links.on_circuits_refused,
        LinksTrained: links.on_links_trained,
        LinksChanged: links.on_links_changed,
    },
    due=health.due,
    document_keys=document_keys,
    document=document,
)
