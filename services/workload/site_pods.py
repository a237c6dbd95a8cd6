"""Other pods of the site, and the networks that join them.

A fabric learns of a later one when that is commissioned. A new pod that may request multi-pod jobs is greeted
by the fabrics that were there before.
"""

from schemas.config.pods import AnyPodConfig
from schemas.envelope import Envelope
from schemas.messages.demands import NetworkGreeted
from schemas.messages.sequencer import FabricCommissioned, FabricRetired
from schemas.messages.workload import PodGreeted
from services.workload.state import OtherPod, WorkloadState
from shared.engine.service import Output
from shared.models.network.attachments import joined_by


def on_fabric_commissioned(state: WorkloadState, body: FabricCommissioned, message: Envelope) -> list[Output]:
    """Record a new fabric of the site, and greet it if it needs to know this pod."""
    config = body.config
    if config.network_hardware is not None:
        state.networks[message.fabric] = joined_by(config.network_hardware, state.fabric)
    if not isinstance(config, AnyPodConfig):
        return []
    state.other_pods[message.fabric] = OtherPod(config.kind, config.pod.cubes)
    if not config.workload.multipod_share:
        return []
    return [PodGreeted(pod=message.fabric, kind=state.kind, pod_cubes=state.cubes)]


def on_pod_greeted(state: WorkloadState, body: PodGreeted, message: Envelope) -> list[Output]:
    """Record a pod that was there before this one."""
    state.other_pods[message.fabric] = OtherPod(body.kind, body.pod_cubes)
    return []


def on_network_greeted(state: WorkloadState, body: NetworkGreeted, message: Envelope) -> list[Output]:
    """Record a network that was there before this pod."""
    state.networks[message.fabric] = body.joined
    return []


def on_fabric_retired(state: WorkloadState, _body: FabricRetired, message: Envelope) -> list[Output]:
    """Forget a retired pod or network."""
    state.other_pods.pop(message.fabric, None)
    state.networks.pop(message.fabric, None)
    return []
