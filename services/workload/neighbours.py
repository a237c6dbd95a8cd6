"""The other pods of a site: who comes later is heard of when it is commissioned, and hears of those that were
there before from them, if it has jobs over several pods to ask for.
"""

from schemas.config import AnyPodConfig
from schemas.envelope import Envelope
from schemas.sequencer import FabricCommissioned, FabricRetired
from schemas.workload import PodGreeted
from services.workload.state import Neighbour, WorkloadState
from shared.engine.service import Output


def on_fabric_commissioned(state: WorkloadState, body: FabricCommissioned, message: Envelope) -> list[Output]:
    """Another fabric has joined the site; a pod may want to know of this one."""
    config = body.config
    if not isinstance(config, AnyPodConfig):
        return []
    state.neighbours[message.fabric] = Neighbour(config.kind, config.pod.cubes)
    if not config.workload.multipod_share:
        return []
    return [PodGreeted(pod=message.fabric, kind=state.kind, pod_cubes=state.cubes)]


def on_pod_greeted(state: WorkloadState, body: PodGreeted, message: Envelope) -> list[Output]:
    """A pod was there before this one."""
    state.neighbours[message.fabric] = Neighbour(body.kind, body.pod_cubes)
    return []


def on_fabric_retired(state: WorkloadState, _body: FabricRetired, message: Envelope) -> list[Output]:
    """A pod is there no more."""
    state.neighbours.pop(message.fabric, None)
    return []
