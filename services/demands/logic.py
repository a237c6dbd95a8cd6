"""The rules of the demand: it moves by itself, and with the jobs over several pods."""

from schemas.config.pods import AnyPodConfig
from schemas.envelope import Envelope
from schemas.messages.demands import DemandMoved, NetworkGreeted
from schemas.messages.scheduler import PodsJoined, PodsParted, PodsRunning
from schemas.messages.sequencer import FabricCommissioned, Tick
from services.demands.state import NO_HOUR, DemandsState
from shared.basics.units import US_PER_HOUR, US_PER_S
from shared.engine.service import Output
from shared.models.dcn.routing.carried_traffic import demand_of
from shared.models.dcn.routing.ring_rates import mean_mbps
from shared.models.network.attachments import joined_by


def due(state: DemandsState) -> int | None:
    """When the demand moves next: first at once, then every interval."""
    if state.hour == NO_HOUR:
        return state.commissioned_us
    return state.updated_us + state.config.interval_s * US_PER_S


def on_tick(state: DemandsState, _tick: Tick, _message: Envelope) -> list[Output]:
    """The draws are hourly: with a longer interval hours are left out, with a shorter one told again."""
    state.hour = (state.now_us - state.commissioned_us) // US_PER_HOUR
    state.updated_us = state.now_us
    return [_moved(state)]


def on_fabric_commissioned(state: DemandsState, body: FabricCommissioned, message: Envelope) -> list[Output]:
    """A pod has joined the site. If it has jobs over several pods to ask for, it hears of this network."""
    config = body.config
    if not isinstance(config, AnyPodConfig) or not config.workload.multipod_share:
        return []
    return [NetworkGreeted(pod=message.fabric, joined=joined_by(state.network, message.fabric))]


def on_pods_joined(state: DemandsState, body: PodsJoined | PodsRunning, _message: Envelope) -> list[Output]:
    """A job over several pods starts, or ran before this network was there: in the mean its rings are a
    demand like any other. Pods that hang on none of this network's blocks are joined by another."""
    pods = [name.partition("/")[0] for name in body.slices]
    at = {block.pod: number for number, block in enumerate(state.plant.blocks) if block.pod}
    if not all(pod in at for pod in pods):
        return []
    mbps = mean_mbps(len(pods), body.gradient_bytes, body.step_us)
    state.rings[body.job] = (body.job, tuple(at[pod] for pod in pods), mbps)
    return _moved_if_known(state)


def on_pods_parted(state: DemandsState, body: PodsParted, _message: Envelope) -> list[Output]:
    """It has ended, or waits again; said twice, it has parted already."""
    return _moved_if_known(state) if state.rings.pop(body.job, None) else []


def _moved_if_known(state: DemandsState) -> list[Output]:
    """The same hour with other jobs, if any hour has been told."""
    return [] if state.hour == NO_HOUR else [_moved(state)]


def _moved(state: DemandsState) -> DemandMoved:
    state.changed_documents.update(
        ("demands", f"{state.fabric}/block-{n}") for n in range(len(state.plant.blocks))
    )
    state.changed_documents.add(("summaries", f"{state.fabric}/demands"))
    flows = state.flows
    sent = demand_of(state.model, state.hour, flows).sum(axis=1)
    rings = tuple(state.rings.values())
    return DemandMoved(hour=state.hour, jobs=flows, rings=rings, sent=tuple(sent.tolist()))
