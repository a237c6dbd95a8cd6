"""Requests for slices: campaigns, a recorded trace and filler.

Owners of campaigns do not request a slice (they balk) if too much is queued.
"""

from collections.abc import Sequence

from schemas.config.owners import FILLER_OWNER
from schemas.envelope import Envelope
from schemas.messages.failures import ParametersChanged
from schemas.messages.operator import ExtendTrace
from schemas.messages.workload import PodAsked, RequestBalked, SliceRequested
from schemas.multislice import Multislice
from schemas.names import SliceName, Tier, fabric_order
from services.workload.campaigns import (
    Campaign,
    ShapeDemand,
    begin_campaign,
    next_job,
    redrawn,
    run_us_of,
    stream_at_other_rate,
)
from services.workload.filler import draw_filler_us, filler_backlog, filler_shape
from services.workload.run_times import draw_estimate_us, draw_terms, draw_terms_for, undisturbed_us
from services.workload.state import OtherPod, WantedSlice, WorkloadState, next_arrival_us, next_row_us
from shared.basics.errors import InvalidInput
from shared.basics.keyed_random import rekeyed_seed
from shared.basics.units import US_PER_HOUR, US_PER_S, to_whole_us
from shared.engine.service import Output
from shared.models.fabric_plants import check_slice
from shared.models.superpod.shapes import chips_of

ROWS_PER_TICK_MAX = 500
"""Maximum number of trace rows that one Tick submits, because the effects of one root message are bounded
(`shared/engine/site.py`). Further due rows come a microsecond later, in order."""
BYTES_PER_GB = 1_000_000_000


def next_slice_name(state: WorkloadState) -> SliceName:
    """The name of the next requested slice."""
    return f"{state.fabric}/slice-{state.requested}"


def record_request(state: WorkloadState, body: SliceRequested, filler_cubes: int = 0) -> SliceRequested:
    """Record the request for the next slice."""
    state.wanted[state.requested] = WantedSlice(
        body.tier, chips_of(body.shape), body.duration_us, body.estimate_us or 0, filler_cubes
    )
    state.requested += 1
    state.changed_documents.add(("summaries", f"{state.fabric}/workload"))
    return body


def request_multipod(state: WorkloadState, body: SliceRequested, others: Sequence[str]) -> list[Output]:
    """Request the next slice, and one like it in each of these other pods, all or none.

    The other pods are requested first, so that all slices of the job exist before any scheduler reacts.
    """
    if not others:
        return [record_request(state, body)]
    config = state.config
    multislice = Multislice(
        job=body.slice,
        pods=(state.fabric, *others),
        gradient_bytes=round(config.multipod_gradient_gb * BYTES_PER_GB),
        step_us=to_whole_us(config.multipod_step_s, US_PER_S),
    )
    wanted = {name: getattr(body, name) for name in body.field_names} | {"multislice": multislice}
    pod_requests = [PodAsked(**wanted, pod=pod) for pod in others]
    return [*pod_requests, record_request(state, SliceRequested(**wanted))]


# --- campaigns ----------------------------------------------------------------------------------------------


def submit_arrivals(state: WorkloadState) -> list[Output]:
    """Submit all due requests of campaigns, in order of time, then of the campaigns' starts."""
    emitted: list[Output] = []
    while state.next_arrival_us is not None and state.next_arrival_us <= state.now_us:
        emitted += _arrive_at(state, state.next_arrival_us)
        state.next_arrival_us = next_arrival_us(state)
    return emitted


def redraw_arrivals(state: WorkloadState, salt: int) -> None:
    """Draw future arrivals again. Running campaigns continue, with the times of their next jobs."""
    state.seed = rekeyed_seed(state.seed, salt)
    for shape, stream in state.streams.items():
        state.streams[shape] = redrawn(state.demand[shape], stream, state.now_us)
    if state.streams:
        state.next_arrival_us = next_arrival_us(state)


def _arrive_at(state: WorkloadState, at_us: int) -> list[Output]:
    demand = state.demand
    for shape, stream in state.streams.items():
        if stream.next_us == at_us:
            state.campaigns[state.campaigns_begun], state.streams[shape] = begin_campaign(
                demand[shape], shape, stream
            )
            state.campaigns_begun += 1
    emitted: list[Output] = []
    for number, campaign in list(state.campaigns.items()):
        if campaign.next_us == at_us:
            shape_demand = demand[campaign.shape]
            emitted += _submit(state, shape_demand, campaign)
            after = next_job(shape_demand, campaign)
            if after is None:
                del state.campaigns[number]
            else:
                state.campaigns[number] = after
    return emitted


def _submit(state: WorkloadState, shape_demand: ShapeDemand, campaign: Campaign) -> list[Output]:
    """Submit the next job of a campaign, unless its owner finds the queue too long."""
    ahead_us = queued_chip_us(state, campaign.tier, shape_demand.kind.chips) // state.chips
    if ahead_us > state.config.balk_above_h * US_PER_HOUR:
        state.balked += 1
        state.changed_documents.add(("summaries", f"{state.fabric}/workload"))
        balked = RequestBalked(
            owner=campaign.owner,
            tier=campaign.tier,
            shape=shape_demand.kind.shape,
            twisted=campaign.twisted,
            ahead_us=ahead_us,
        )
        return [balked]
    run_us = run_us_of(shape_demand, campaign, campaign.job)
    body = SliceRequested(
        slice=next_slice_name(state),
        owner=campaign.owner,
        tier=campaign.tier,
        shape=shape_demand.kind.shape,
        twisted=campaign.twisted,
        priority=0,
        duration_us=None,
        job=draw_terms_for(shape_demand.seed, shape_demand.entity, campaign.job, state.config, run_us),
        estimate_us=draw_estimate_us(
            shape_demand.seed, shape_demand.entity, campaign.job, run_us, state.config
        ),
        requested_by="arrival",
        recovery=None,
    )
    return request_multipod(state, body, _other_pods(state, body) if campaign.is_multipod else ())


def _other_pods(state: WorkloadState, body: SliceRequested) -> list[str]:
    """The other pods of a multi-pod job.

    They are the next pods in order that can hold such a slice when empty. If the site has networks, only pods
    that a network joins with this one count. Empty if there are too few; then the job runs in one pod.
    """
    reached = {name for joined in state.networks.values() for name in joined}
    known = reached.intersection(state.other_pods) if state.networks else state.other_pods
    names = sorted(known, key=fabric_order)
    after = [name for name in names if fabric_order(name) > fabric_order(state.fabric)]
    candidates = [name for name in dict.fromkeys([*after, *names]) if _can_hold(state.other_pods[name], body)]
    count = state.config.multipod_pods - 1
    return candidates[:count] if len(candidates) >= count else []


def _can_hold(pod: OtherPod, body: SliceRequested) -> bool:
    try:
        check_slice(pod.kind, body.shape, body.twisted, pod.cubes)
    except InvalidInput:
        return False
    return True


def queued_chip_us(state: WorkloadState, tier: Tier, chips: int) -> int:
    """The estimated chip-time in chip-microseconds that is queued ahead of a slice with this number of chips.

    Only slices without cubes so far count. They must be no larger, because smaller slices pass larger ones.
    For production only production counts.
    """
    tiers = ("production",) if tier == "production" else ("production", "research")
    return sum(
        [
            wanted.chips * wanted.estimate_us
            for wanted in state.wanted.values()
            if not wanted.had_cubes and wanted.tier in tiers and wanted.chips <= chips
        ]
    )


# --- a recorded trace ---------------------------------------------------------------------------------------


def play_trace(state: WorkloadState) -> list[Output]:
    """Submit due trace rows, up to `ROWS_PER_TICK_MAX`.

    A row's duration is the work of its job, and so is its estimate; start-up and writes are added. A row
    without an estimate has an exact one.
    """
    emitted: list[Output] = []
    while (row_us := next_row_us(state)) is not None and row_us <= state.now_us:
        if len(emitted) == ROWS_PER_TICK_MAX:
            state.next_arrival_us = state.now_us + 1
            break
        number, row = state.trace_dropped + state.trace_played, state.trace[state.trace_played]
        state.trace_played += 1
        job = draw_terms(state.seed, f"{state.fabric}/trace", number, state.config, row.duration_us)
        estimated = job.model_copy(update={"work_us": row.estimate_us or row.duration_us})
        body = SliceRequested(
            slice=next_slice_name(state),
            owner=row.owner,
            tier=row.tier,
            shape=row.shape,
            twisted=row.twisted,
            priority=row.priority,
            duration_us=None,
            job=job,
            estimate_us=undisturbed_us(estimated),
            requested_by="trace",
            recovery=None,
        )
        emitted.append(record_request(state, body))
    return emitted


def on_extend_trace(state: WorkloadState, body: ExtendTrace, _message: Envelope) -> list[Output]:
    """Append further rows to the trace, and drop those that were submitted."""
    state.trace_dropped += state.trace_played
    state.trace = (*state.trace[state.trace_played :], *body.rows)
    state.trace_played = 0
    return []


# --- filler -------------------------------------------------------------------------------------------------


def request_filler(state: WorkloadState) -> list[Output]:
    """Request the filler jobs of each size that are missing in the queue, largest first."""
    emitted: list[Output] = []
    for cubes, most in filler_backlog(state.config, state.cubes).items():
        for _ in range(most - state.fillers_waiting.get(cubes, 0)):
            emitted.append(record_request(state, _filler_job(state, cubes), filler_cubes=cubes))
            state.fillers_drawn += 1
        state.fillers_waiting[cubes] = most
    return emitted


def _filler_job(state: WorkloadState, cubes: int) -> SliceRequested:
    entity, config = f"{state.fabric}/filler", state.config
    run_us = draw_filler_us(state.seed, entity, state.fillers_drawn, config)
    return SliceRequested(
        slice=next_slice_name(state),
        owner=FILLER_OWNER,
        tier="filler",
        shape=filler_shape(cubes),
        twisted=False,
        priority=0,
        duration_us=None,
        job=draw_terms_for(state.seed, entity, state.fillers_drawn, config, run_us),
        estimate_us=draw_estimate_us(state.seed, entity, state.fillers_drawn, run_us, config),
        requested_by="arrival",
        recovery=None,
    )


def on_parameters_changed(state: WorkloadState, body: ParametersChanged, _message: Envelope) -> list[Output]:
    """Apply changed parameters to future draws, to the next starts of campaigns, and to filler.

    Filler that exists already stays until it ends.
    """
    changed = body.of("workload")
    if not changed:
        return []
    before, had_filler = state.demand, bool(filler_backlog(state.config, state.cubes))
    state.config = state.config.model_copy(update=changed)
    for shape, stream in state.streams.items():
        state.streams[shape] = stream_at_other_rate(before[shape], state.demand[shape], stream, state.now_us)
    if state.streams:
        state.next_arrival_us = next_arrival_us(state)
        has_filler = bool(filler_backlog(state.config, state.cubes))
        if has_filler and not had_filler:
            state.filler_due_us = state.now_us + 1
        elif not has_filler:
            state.filler_due_us = None
    return []
