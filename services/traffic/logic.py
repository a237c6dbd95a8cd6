"""Rules of traffic engineering: weights follow the demand and the trunks, and are solved again only when
needed."""

from copy import deepcopy
from typing import Literal

import numpy as np

from schemas.envelope import Envelope
from schemas.messages.demands import DemandMoved
from schemas.messages.failures import ParametersChanged
from schemas.messages.sequencer import Tick
from schemas.messages.traffic import JobBandwidthSet, PodsCutOff, TrafficCarried
from schemas.messages.trunks import TrunksChanged
from services.traffic.state import NO_HOUR, TrafficState
from shared.basics.telemetry_frames import next_frame_due_us
from shared.basics.units import US_PER_S
from shared.engine.service import Output
from shared.models.dcn.demand.demand_model import MBPS_PER_GBPS
from shared.models.dcn.failure import demand_left
from shared.models.dcn.routing.carried_traffic import (
    PPM,
    block_bound,
    carry_demand,
    demand_of,
    ppm,
    weights_for,
)
from shared.models.dcn.routing.path_loads import trunk_capacity
from shared.models.dcn.routing.ring_rates import ring_gbps
from shared.models.dcn.routing.weights import Split
from shared.models.network.blocks import FloatArray
from shared.models.network.wiring import set_links
from shared.models.superpod.wiring import IntArray

BANDWIDTH_CHANGE_MIN = 0.05
"""Minimum relative change of a job's bandwidth that is reported."""


def due(state: TrafficState) -> int | None:
    """The time of the next telemetry frame or solution of weights."""
    return min([us for us in (state.next_frame_us, state.next_solve_us) if us is not None], default=None)


def on_tick(state: TrafficState, _tick: Tick, _message: Envelope) -> list[Output]:
    """Apply what is due. A frame is rendered outside; the log only marks its time."""
    if state.next_frame_us is not None and state.next_frame_us <= state.now_us:
        state.next_frame_us = next_frame_due_us(state.config.telemetry_interval_s, state.now_us)
    if state.next_solve_us is not None and state.next_solve_us <= state.now_us:
        return _route(state, "solved")
    return []


def on_demand_moved(state: TrafficState, body: DemandMoved, _message: Envelope) -> list[Output]:
    state.hour, state.jobs, state.rings = body.hour, body.jobs, body.rings
    return _route(state, "as needed")


def on_trunks_changed(state: TrafficState, body: TrunksChanged, _message: Envelope) -> list[Output]:
    """Route the traffic over the changed trunks: at once by the remaining weights, with new weights if the
    change was planned."""
    set_links(state.links, body.links)
    if state.hour == NO_HOUR:
        return []
    return _route(state, "solved" if body.planned else "awaited")


def on_parameters_changed(state: TrafficState, body: ParametersChanged, _message: Envelope) -> list[Output]:
    """Apply changed parameters to frames and to the next solution of weights."""
    changed = body.of("traffic")
    state.config = state.config.model_copy(update=changed)
    if "telemetry_interval_s" in changed:
        state.next_frame_us = next_frame_due_us(state.config.telemetry_interval_s, state.now_us)
    return []


def _route(state: TrafficState, weights: Literal["as needed", "awaited", "solved"]) -> list[Output]:
    """Route the demand, and emit the result.

    1. Demand without a path of at most one transit block is cut off.

    2. The rest is routed by the current weights over the existing paths.

    3. Weights are solved now (`solved`), or `traffic.react_s` after the first unknown change (`awaited`). If
    only the demand has changed (`as needed`), they are solved if the fullest trunk is fuller than at the last
    solution by more than the slack, relative to the bound of the blocks.

    4. The result is emitted.
    """
    plant = state.plant
    links = state.links.astype(np.int64)
    capacity, requested = trunk_capacity(plant, links), demand_of(state.model, state.hour, state.jobs)
    demand = demand_left(plant, links, requested)
    _accumulate(state)
    bound = block_bound(capacity, demand)
    carried = carry_demand(split_of(state), capacity, demand)
    state.solve_above = (1.0 + state.config.slack) * state.ratio * bound
    if weights == "as needed" and carried.use > state.solve_above:
        weights = "awaited"
    if weights == "awaited" and state.next_solve_us is None:
        state.next_solve_us = state.now_us + state.config.react_s * US_PER_S
    solved = weights == "solved" or state.weights == 0
    if solved:
        state.next_solve_us = None
        split = weights_for(capacity, demand, state.config.hedge)
        state.prices, state.prior = split.prices, split.prior
        state.weights += 1
        state.ratio = split.use / bound if bound > 0.0 else 1.0
        state.solved_us = state.now_us
        state.solve_above = (1.0 + state.config.slack) * state.ratio * bound
        bound = max(bound, split.bound)
        carried = carry_demand(split_of(state), capacity, demand)
    state.load = np.rint(carried.load)
    total = int(requested.sum())
    body = TrafficCarried(
        hour=state.hour,
        weights=state.weights,
        solved=solved,
        pending=state.next_solve_us is not None,
        use_ppm=ppm(carried.use),
        bound_ppm=ppm(min(bound, carried.use)),
        served_ppm=ppm(carried.served * float(demand.sum()) / total) if total else PPM,
        direct_ppm=ppm(carried.direct),
        path_ppm=ppm(carried.path),
        cut_off=int(np.count_nonzero((requested > 0) & (demand == 0))),
    )
    state.last, state.demanded_mbps, state.at_us = body, total, state.now_us
    state.reported += 1
    _touch(state)
    return [body, *_report_cut_off_pods(state, capacity), *_report_job_bandwidths(state, capacity, demand)]


def carried_with_new_weights(state: TrafficState) -> TrafficCarried | None:
    """How the current demand would be carried if weights were solved now; None before the first demand. The
    state stays as it is."""
    if state.hour == NO_HOUR:
        return None
    copy = deepcopy(state)
    _route(copy, "solved")
    return copy.last


def _report_cut_off_pods(state: TrafficState, capacity: FloatArray) -> list[Output]:
    """Report the pods without any link, if they have changed."""
    blocks = state.plant.blocks
    lone = [blocks[number].pod for number in np.flatnonzero(~(capacity > 0.0).any(axis=1)).tolist()]
    cut_off = tuple([pod for pod in lone if pod is not None])
    if cut_off == state.cut_off:
        return []
    state.cut_off = cut_off
    return [PodsCutOff(pods=cut_off)]


def _report_job_bandwidths(state: TrafficState, capacity: FloatArray, demand: IntArray) -> list[Output]:
    """Report the bandwidth of multi-pod jobs, if it has changed."""
    before, state.job_mbps = state.job_mbps, {}
    emitted: list[Output] = []
    for ring in state.rings:
        job = ring[0]
        mbps = round(MBPS_PER_GBPS * ring_gbps(split_of(state), capacity, demand, ring))
        reported = before.get(job)
        if (
            reported is None
            or (mbps == 0) != (reported == 0)
            or abs(mbps - reported) > BANDWIDTH_CHANGE_MIN * reported
        ):
            emitted.append(JobBandwidthSet(job=job, mbps=mbps))
            reported = mbps
        state.job_mbps[job] = reported
    return emitted


def split_of(state: TrafficState) -> Split:
    """The current weights, for any set of trunks."""
    return Split(state.prices, state.prior, state.config.hedge, 0.0, 0.0, 0)


def _accumulate(state: TrafficState) -> None:
    """Add the demand and service since the last time to the totals."""
    last = state.last
    if last is None:
        return
    spent_us = state.now_us - state.at_us
    state.known_us += spent_us
    demanded_mbit = state.demanded_mbps * spent_us // US_PER_S
    state.demanded_mbit += demanded_mbit
    state.served_mbit += demanded_mbit * last.served_ppm // PPM
    state.direct_mbit += demanded_mbit * last.direct_ppm // PPM
    state.hops_mbit += demanded_mbit * last.path_ppm // PPM
    state.use_ppm_s += last.use_ppm * spent_us // US_PER_S
    if last.use_ppm > PPM:
        state.overfull_us += spent_us


def _touch(state: TrafficState) -> None:
    state.changed_documents.update(
        ("trunk-loads", f"{state.fabric}/block-{n}") for n in range(len(state.links))
    )
    state.changed_documents.add(("summaries", f"{state.fabric}/traffic"))
