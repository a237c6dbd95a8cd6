"""What one pod hears of the slices of its jobs in other pods, and does by that.

All schedulers of a site read the same words in the same order. The first pod of a job says that it begins
(`PodsJoined`) once it has heard from all that cubes are kept; each then gives its slice the cubes. One that
has lost them in the same cascade says so, and all others lose theirs again: between two root messages all
slices of a job have cubes, or none.
"""

from collections.abc import Callable
from functools import partial

from schemas.config.dcn import DcnConfig
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
from services.scheduler.state import SchedulerState, Slice
from services.scheduler.structures.multislice_member import (
    MemberStatus,
    after_departure,
    after_signal,
    job_speed_ppm,
    with_status,
    with_status_of_all,
)
from shared.basics.fast_replace import replace
from shared.basics.units import US_PER_S
from shared.engine.service import CausedBy, Output
from shared.models.jobs import multislice_jobs
from shared.models.jobs.progress import Progress, hung, slowed

RETRY_AFTER_HOLD_US = US_PER_S
"""From when another pod of its job has cubes until a slice that backs off is in line again: later than in the
same cascade, in which its own giving up may not be read yet."""


def on_pod_waits(state: SchedulerState, body: PodWaits, _message: Envelope) -> list[Output]:
    """A slice of the job waits for cubes."""
    _record_status(state, body.job, body.slice, "waits")
    return []


def on_pod_held(state: SchedulerState, body: PodHeld, _message: Envelope) -> list[Output]:
    """Cubes are kept for a slice of the job. If that was the last, the job may begin; a slice that backs off
    does so no longer, unless it leaves cubes to an older job."""
    number = _record_status(state, body.job, body.slice, "holds")
    if number is None:
        return []
    member = state.members[number]
    if member.again_us is not None and not yields_to_older_job(state, state.slices[number]):
        again_us = min(member.again_us, state.now_us + RETRY_AFTER_HOLD_US)
        state.members[number] = replace(member, again_us=again_us)
    return _begin(state, number)


def on_pods_cut_off(state: SchedulerState, body: PodsCutOff, message: Envelope) -> list[Output]:
    """A network reaches pods no more, or again: jobs begin that waited for that alone, and who backs off
    since then comes back."""
    return _update_reachability(state, message.fabric, body.pods)


def _update_reachability(state: SchedulerState, network: str, cut_off_pods: tuple[str, ...]) -> list[Output]:
    """A network reaches all of its pods but these."""
    reached = set(state.cut_off_pods.pop(network, ())).difference(cut_off_pods)
    if cut_off_pods:
        state.cut_off_pods[network] = cut_off_pods
    emitted: list[Output] = []
    for number, member in sorted(state.members.items()):
        if member.is_joined:
            continue
        if member.again_us is not None and reached.intersection(member.pods):
            again_us = min(member.again_us, state.now_us + RETRY_AFTER_HOLD_US)
            state.members[number] = replace(member, again_us=again_us)
        store_slice(state, state.slices[number])
        emitted += _begin(state, number)
    return emitted


def _begin(state: SchedulerState, number: int) -> list[Output]:
    """The first pod of a job says that it begins, once cubes are kept for all its slices, and the network
    reaches all its pods."""
    member, row = state.members[number], state.slices[number]
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
    """All slices of the job get the cubes that are kept for them, unless this one has lost them meanwhile."""
    number = _member_of(state, body.job)
    if number is None:
        return []
    member = state.members[number] = with_status_of_all(state.members[number], body.slices, "joined")
    row = state.slices[number]
    if member.until_us is None:
        reason = "a cube that was kept for it is out of use"
        name = slice_name(state, number)
        return [PodsParted(job=body.job, slice=name, ends="requeued", reason=reason)]
    return admit(state, row, *take_held_cubes(state, row), cause=message.id)


def on_fabric_commissioned(
    state: SchedulerState, body: FabricCommissioned, message: Envelope
) -> list[Output]:
    """A network that joins the site has not read which jobs began before it: the first pod of each tells it
    of those that still run."""
    if not isinstance(body.config, DcnConfig):
        return []
    return [
        PodsRunning(
            dcn=message.fabric,
            job=member.job,
            slices=member.slices,
            gradient_bytes=member.gradient_bytes,
            step_us=member.step_us,
        )
        for _, member in sorted(state.members.items())
        if member.is_joined and member.pods[0] == state.fabric
    ]


def on_pods_parted(state: SchedulerState, body: PodsParted, message: Envelope) -> list[Output]:
    """What becomes of one slice of the job becomes of all."""
    number = _member_of(state, body.job)
    if number is None:
        return []
    state.members[number] = after_departure(state.members[number], body.slice)
    row = state.slices[number]
    store_slice(state, row)
    if body.slice == slice_name(state, number):
        return []
    reason = f"{body.slice}, of the same job, left: {body.reason}"
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
    """What befalls a slice of a job befalls the job in all pods. This alone moves what the scheduler keeps of
    its progress, so that it is what the job itself says, but for a hang, of which nobody knows yet."""
    number = _member_of(state, body.job)
    if number is None or not state.members[number].is_joined:
        return []
    member = after_signal(state.members[number], body.slice, body.signal, body.speed_ppm)
    state.members[number] = member
    progress = state.slices[number].progress
    if body.signal == "hangs":
        if progress is not None and member.hung is None:
            after = hung(progress, state.now_us)
            state.members[number] = replace(member, hung=after if after.phase == "hung" else None)
        return []
    _change_progress(
        state,
        number,
        partial(multislice_jobs.after_signal, signal=body.signal, speed_ppm=job_speed_ppm(member)),
    )
    return []


def on_job_bandwidth_set(state: SchedulerState, body: JobBandwidthSet, message: Envelope) -> list[Output]:
    """The network between the pods gives the job more than before, or less."""
    number = _member_of(state, body.job)
    if number is None:
        return []
    _set_bandwidth(state, number, body.gbps, message.fabric)
    return []


def on_fabric_retired(state: SchedulerState, _body: FabricRetired, message: Envelope) -> list[Output]:
    """A pod is gone for good: so are the jobs of which it has a part. Where it is a network, nobody says any
    more what it gives, or whom it reaches."""
    for number, member in sorted(state.members.items()):
        if member.network == message.fabric:
            _set_bandwidth(state, number, None, None)
    emitted = _update_reachability(state, message.fabric, ())
    gone = [number for number, member in state.members.items() if message.fabric in member.pods]
    for number in sorted(gone):
        reason = f"{message.fabric}, a pod of its job, has retired"
        emitted += _end_early(state, state.slices[number], reason, message.id)
    return emitted + cycle(state) if gone else emitted


def _set_bandwidth(state: SchedulerState, number: int, gbps: float | None, network: str | None) -> None:
    """A job gets so much from now on, by the word of a network."""
    member = state.members[number] = replace(state.members[number], gbps=gbps, network=network)
    speed_ppm = job_speed_ppm(member)
    if speed_ppm is None:
        store_slice(state, state.slices[number])
    else:
        _change_progress(state, number, partial(slowed, speed_ppm=speed_ppm))


def _change_progress(state: SchedulerState, number: int, by: Callable[[Progress, int], Progress]) -> None:
    """Change how far a job has come; one that hangs shows where it really is as soon as it no longer does."""
    member, row = state.members[number], state.slices[number]
    if row.progress is not None:
        row = replace(row, progress=by(row.progress, state.now_us))
    if member.hung is not None:
        really = by(member.hung, state.now_us)
        still_hangs = really.phase == "hung"
        state.members[number] = replace(member, hung=really if still_hangs else None)
        row = row if still_hangs else replace(row, progress=really)
    store_slice(state, row)


def _end_early(state: SchedulerState, row: Slice, reason: str, cause: str) -> list[Output]:
    """A slice ends before it is done, wherever it is."""
    if row.state == "queued":
        withdraw(state, row)
        if not row.restarts:
            return [CausedBy(cause, emitted) for emitted in refuse(state, row, reason)]
    return evict(state, row, reason, cause)


def _member_of(state: SchedulerState, job: str) -> int | None:
    """The number of this pod's slice of a job; None if it has none."""
    return next((number for number, member in state.members.items() if member.job == job), None)


def _record_status(state: SchedulerState, job: str, name: str, status: MemberStatus) -> int | None:
    number = _member_of(state, job)
    if number is not None:
        state.members[number] = with_status(state.members[number], name, status)
        store_slice(state, state.slices[number])
    return number
