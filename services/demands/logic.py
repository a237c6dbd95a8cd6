"""Rules of the demand: it changes every interval, and with the multi-pod jobs."""

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
    """The time of the next demand: at once at first, then every interval."""
    if state.hour == NO_HOUR:
        return state.commissioned_us
    return state.updated_us + state.config.interval_s * US_PER_S


def on_tick(state: DemandsState, _tick: Tick, _message: Envelope) -> list[Output]:
    """Emit the demand of the current hour. Draws are hourly: long intervals skip hours, short ones repeat
    them."""
    state.hour = (state.now_us - state.commissioned_us) // US_PER_HOUR
    state.updated_us = state.now_us
    _mark_documents(state)
    return [_moved(state)]


def on_fabric_commissioned(state: DemandsState, body: FabricCommissioned, message: Envelope) -> list[Output]:
    """Greet a new pod that may request multi-pod jobs."""
    config = body.config
    if not isinstance(config, AnyPodConfig) or not config.workload.multipod_share:
        return []
    return [NetworkGreeted(pod=message.fabric, joined=joined_by(state.network, message.fabric))]


def on_pods_joined(state: DemandsState, body: PodsJoined | PodsRunning, _message: Envelope) -> list[Output]:
    """Add the rings of a multi-pod job to the demand, at their mean rate.

    The job may have started before this network existed. A job with a pod outside this network belongs to
    another one.
    """
    pods = [name.partition("/")[0] for name in body.slices]
    at = {block.pod: number for number, block in enumerate(state.plant.blocks) if block.pod}
    if not all(pod in at for pod in pods):
        return []
    mbps = mean_mbps(len(pods), body.gradient_bytes, body.step_us)
    state.rings[body.job] = (body.job, tuple(at[pod] for pod in pods), mbps)
    return _jobs_changed(state)


def on_pods_parted(state: DemandsState, body: PodsParted, _message: Envelope) -> list[Output]:
    """Remove the rings of a job that has ended or waits again; a repeated message has no effect."""
    return _jobs_changed(state) if state.rings.pop(body.job, None) else []


def _jobs_changed(state: DemandsState) -> list[Output]:
    """The demand of the same hour with changed jobs, if any hour was reported. The documents show the jobs
    before the first hour, too."""
    _mark_documents(state)
    return [] if state.hour == NO_HOUR else [_moved(state)]


def _mark_documents(state: DemandsState) -> None:
    """Mark all documents as changed."""
    state.changed_documents.update(
        ("demands", f"{state.fabric}/block-{n}") for n in range(len(state.plant.blocks))
    )
    state.changed_documents.add(("summaries", f"{state.fabric}/demands"))


def _moved(state: DemandsState) -> DemandMoved:
    flows = state.flows
    sent = demand_of(state.model, state.hour, flows).sum(axis=1)
    rings = tuple(state.rings.values())
    return DemandMoved(hour=state.hour, jobs=flows, rings=rings, sent=tuple(sent.tolist()))
