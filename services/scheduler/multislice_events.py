"""Events of multislice jobs: what one pod does with the messages of the job's other pods.

All schedulers of a site read the same messages in the same order. The first pod of a job emits `PodsJoined`
when all pods have reported that they hold cubes; each pod then gives its slice the cubes. A pod that lost its
cubes in the same cascade reports that, and all pods release theirs again. So between two root messages either
all slices of a job have cubes, or none.
"""

from collections.abc import Callable
from functools import partial

from schemas.envelope import Envelope
from schemas.messages.jobs import PodSignalled
from schemas.messages.scheduler import PodHeld, PodsJoined, PodsParted, PodsRunning, PodWaits
from schemas.messages.sequencer import FabricCommissioned, FabricRetired
from schemas.messages.traffic import JobBandwidthSet, PodsCutOff
from services.scheduler.admission import complete
from services.scheduler.cycle import cycle
from services.scheduler.lifecycle import admit, evict, refuse, requeue, slice_name, store_slice, withdraw
from services.scheduler.multislice.gang_hold import take_held_cubes, unreachable_pods, yields_to_older_job
from services.scheduler.recovery.preemption_notices import uncommitted_us
from services.scheduler.state import (
    SchedulerState,
    invalidate_wait_summary,
    jobs_of,
    members_of,
    put_slice,
)
from services.scheduler.structures.gang_member import (
    MemberStatus,
    after_departure,
    after_gang_signal,
    gang_speed_ppm,
    with_status,
    with_status_of_all,
)
from services.scheduler.structures.slice_record import Slice, member_of
from shared.basics.fast_replace import replace
from shared.basics.units import US_PER_S
from shared.engine.service import CausedBy, Output
from shared.models.jobs import multislice_jobs
from shared.models.jobs.job_progress import Progress, hung, slowed

RETRY_AFTER_HOLD_US = US_PER_S
"""Delay until a slice in backoff is back in line after another pod of its job holds cubes. It is longer than
the same cascade, in which the pod's own release may not have been read yet."""


def on_pod_waits(state: SchedulerState, body: PodWaits, _message: Envelope) -> list[Output]:
    """Record that a slice of the job waits for cubes."""
    _record_status(state, body.job, body.slice, "waits")
    return []


def on_pod_held(state: SchedulerState, body: PodHeld, _message: Envelope) -> list[Output]:
    """Record that cubes are held for a slice of the job. If it is the last one, the job starts.

    A slice in backoff returns to the queue, unless it yields to an older job.
    """
    number = _record_status(state, body.job, body.slice, "holds")
    if number is None:
        return []
    row = state.slices[number]
    member = member_of(row)
    if member.again_us is not None and not yields_to_older_job(state, row):
        again_us = min(member.again_us, state.now_us + RETRY_AFTER_HOLD_US)
        put_slice(state, replace(row, member=replace(member, again_us=again_us)))
    return _join_if_ready(state, number)


def on_pods_cut_off(state: SchedulerState, body: PodsCutOff, message: Envelope) -> list[Output]:
    """Update which pods a network reaches. Jobs that waited only for that start, and slices in backoff
    return."""
    return _update_reachability(state, message.fabric, body.pods)


def _update_reachability(state: SchedulerState, network: str, cut_off_pods: tuple[str, ...]) -> list[Output]:
    """Record that a network reaches all of its pods except these."""
    restored = set(state.cut_off_pods.pop(network, ())).difference(cut_off_pods)
    if cut_off_pods:
        state.cut_off_pods[network] = cut_off_pods
    emitted: list[Output] = []
    for row, member in members_of(state):
        if member.is_joined:
            continue
        again_us = member.again_us
        if again_us is not None and restored.intersection(member.pods):
            again_us = min(again_us, state.now_us + RETRY_AFTER_HOLD_US)
        store_slice(state, replace(row, member=replace(member, again_us=again_us)))
        emitted += _join_if_ready(state, row.number)
    return emitted


def _join_if_ready(state: SchedulerState, number: int) -> list[Output]:
    """Emit PodsJoined from the first pod of a job, if cubes are held for all its slices and the network
    reaches all its pods."""
    row = state.slices[number]
    member = member_of(row)
    is_first = member.pods[0] == state.fabric
    if (
        not is_first
        or member.until_us is None
        or set(member.status) != {"holds"}
        or unreachable_pods(state, member)
    ):
        return []
    return [
        PodsJoined(
            job=member.job,
            slices=member.slices,
            chips=row.chips,
            gradient_bytes=member.gradient_bytes,
            step_us=member.step_us,
        )
    ]


def on_pods_joined(state: SchedulerState, body: PodsJoined, message: Envelope) -> list[Output]:
    """Give the slice of the job its held cubes, unless it has lost them in the meantime."""
    number = _slice_of(state, body.job)
    if number is None:
        return []
    row = state.slices[number]
    member = with_status_of_all(member_of(row), body.slices, "joined")
    row = replace(row, member=member)
    put_slice(state, row)
    if member.until_us is None:
        reason = "one of its reserved cubes went out of use"
        name = slice_name(state, number)
        return [PodsParted(job=body.job, slice=name, ends="requeued", reason=reason)]
    row, held = take_held_cubes(state, row)
    # No cycle follows, because no cube comes free. But fewer slices wait, and more cubes are in use.
    invalidate_wait_summary(state)
    return admit(state, row, held.cubes, held.corner, cause=message.id)


def on_fabric_commissioned(
    state: SchedulerState, body: FabricCommissioned, message: Envelope
) -> list[Output]:
    """Report the running jobs to a network that joins the site. The first pod of each job does so, because
    the network has not read earlier messages."""
    if body.config.network_hardware is None:
        return []
    return [
        PodsRunning(
            dcn=message.fabric,
            job=member.job,
            slices=member.slices,
            gradient_bytes=member.gradient_bytes,
            step_us=member.step_us,
        )
        for _, member in members_of(state)
        if member.is_joined and member.pods[0] == state.fabric
    ]


def on_pods_parted(state: SchedulerState, body: PodsParted, message: Envelope) -> list[Output]:
    """Apply the departure of one slice of the job to the slice in this pod."""
    number = _slice_of(state, body.job)
    if number is None:
        return []
    row = state.slices[number]
    store_slice(state, replace(row, member=after_departure(member_of(row), body.slice)))
    row = state.slices[number]
    if body.slice == slice_name(state, number):
        return []
    reason = f"{body.slice} of the same job left: {body.reason}"
    if body.ends == "requeued":
        if not row.cubes:
            return []
        emitted = requeue(state, row, reason, message.id, uncommitted_us(state, number))
    elif body.ends in ("finished", "released"):
        emitted = complete(state, row, "finished" if body.ends == "finished" else "operator")
    else:
        emitted = _end_early(state, row, reason, message.id)
    return emitted + cycle(state)


def on_pod_signalled(state: SchedulerState, body: PodSignalled, _message: Envelope) -> list[Output]:
    """Apply an event of one slice to the whole job.

    Only these messages change the job's progress in the scheduler, so it matches the job's own. The exception
    is a hang, which nothing reports until it ends.
    """
    number = _slice_of(state, body.job)
    if number is None or not member_of(state.slices[number]).is_joined:
        return []
    row = state.slices[number]
    member = after_gang_signal(member_of(row), body.slice, body.signal, body.speed_ppm)
    if body.signal == "hangs" and row.progress is not None and member.hung is None:
        after = hung(row.progress, state.now_us)
        member = replace(member, hung=after if after.phase == "hung" else None)
    put_slice(state, replace(row, member=member))
    if body.signal == "hangs":
        return []
    _change_progress(
        state,
        number,
        partial(multislice_jobs.after_signal, signal=body.signal, speed_ppm=gang_speed_ppm(member)),
    )
    return []


def on_job_bandwidth_set(state: SchedulerState, body: JobBandwidthSet, message: Envelope) -> list[Output]:
    """Update the bandwidth that the network gives the job."""
    number = _slice_of(state, body.job)
    if number is None:
        return []
    _set_bandwidth(state, number, body.gbps, message.fabric)
    return []


def on_fabric_retired(state: SchedulerState, _body: FabricRetired, message: Envelope) -> list[Output]:
    """End the jobs of a retired pod. If a network has retired, its bandwidths and reachability no longer
    apply."""
    for row, member in members_of(state):
        if member.network == message.fabric:
            _set_bandwidth(state, row.number, None, None)
    emitted = _update_reachability(state, message.fabric, ())
    affected = [row.number for row, member in members_of(state) if message.fabric in member.pods]
    for number in affected:
        reason = f"pod {message.fabric} of its job has retired"
        emitted += _end_early(state, state.slices[number], reason, message.id)
    return emitted + cycle(state) if affected else emitted


def _set_bandwidth(state: SchedulerState, number: int, gbps: float | None, network: str | None) -> None:
    """Set the bandwidth of a job, from this network."""
    row = state.slices[number]
    member = replace(member_of(row), gbps=gbps, network=network)
    store_slice(state, replace(row, member=member))
    speed_ppm = gang_speed_ppm(member)
    if speed_ppm is not None:
        _change_progress(state, number, partial(slowed, speed_ppm=speed_ppm))


def _change_progress(state: SchedulerState, number: int, update: Callable[[Progress, int], Progress]) -> None:
    """Update the progress of a job. A job that no longer hangs shows its real progress."""
    row = state.slices[number]
    member = member_of(row)
    if row.progress is not None:
        row = replace(row, progress=update(row.progress, state.now_us))
    if member.hung is not None:
        actual = update(member.hung, state.now_us)
        still_hangs = actual.phase == "hung"
        row = replace(row, member=replace(member, hung=actual if still_hangs else None))
        row = row if still_hangs else replace(row, progress=actual)
    store_slice(state, row)


def _end_early(state: SchedulerState, row: Slice, reason: str, cause: str) -> list[Output]:
    """End a slice early, whether it waits or runs."""
    if row.state == "queued":
        withdraw(state, row)
        if not row.restarts:
            return [CausedBy(cause, emitted) for emitted in refuse(state, row, reason)]
    return evict(state, row, reason, cause)


def _slice_of(state: SchedulerState, job: str) -> int | None:
    """The number of this pod's slice of a job; None if it has none."""
    return jobs_of(state).get(job)


def _record_status(state: SchedulerState, job: str, name: str, status: MemberStatus) -> int | None:
    number = _slice_of(state, job)
    if number is not None:
        row = state.slices[number]
        store_slice(state, replace(row, member=with_status(member_of(row), name, status)))
    return number
