"""What one pod hears of the slices of its jobs in other pods, and does by that.

All schedulers of a site read the same words in the same order. The first pod of a job says that it begins
(`PodsJoined`) once it has heard from all that cubes are kept; each then gives its slice the cubes. One that
has lost them in the same cascade says so, and all others lose theirs again: between two root messages all
slices of a job have cubes, or none.
"""

from collections.abc import Callable
from functools import partial

from schemas.config_dcn import DcnConfig
from schemas.envelope import Envelope
from schemas.jobs import PodSignalled
from schemas.scheduler import PodHeld, PodsJoined, PodsParted, PodsRunning, PodWaits
from schemas.sequencer import FabricCommissioned, FabricRetired
from schemas.traffic import JobBandwidthSet, PodsCutOff
from services.scheduler.admission import complete
from services.scheduler.cycle import cycle
from services.scheduler.lifecycle import admit, evict, put, refuse, requeue, slice_name, withdraw
from services.scheduler.multislice.holding import kept_cubes, stands_back, unreached
from services.scheduler.multislice.member import Says, all_heard, heard, joint_ppm, parted, signalled
from services.scheduler.recovery.notices import fresh_us
from services.scheduler.state import SchedulerState, Slice
from shared.basics.records import replace
from shared.basics.units import US_PER_S
from shared.engine.service import CausedBy, Output
from shared.models.jobs.joint import befallen
from shared.models.jobs.progress import Progress, hung, slowed

COMES_BACK_US = US_PER_S
"""From when another pod of its job has cubes until a slice that backs off is in line again: later than in the
same cascade, in which its own giving up may not be read yet."""


def on_pod_waits(state: SchedulerState, body: PodWaits, _message: Envelope) -> list[Output]:
    """A slice of the job waits for cubes."""
    _hear(state, body.job, body.slice, "waits")
    return []


def on_pod_held(state: SchedulerState, body: PodHeld, _message: Envelope) -> list[Output]:
    """Cubes are kept for a slice of the job. If that was the last, the job may begin; a slice that backs off
    does so no longer, unless it leaves cubes to an older job."""
    number = _hear(state, body.job, body.slice, "holds")
    if number is None:
        return []
    member = state.members[number]
    if member.again_us is not None and not stands_back(state, state.slices[number]):
        again_us = min(member.again_us, state.now_us + COMES_BACK_US)
        state.members[number] = replace(member, again_us=again_us)
    return _begin(state, number)


def on_pods_cut_off(state: SchedulerState, body: PodsCutOff, message: Envelope) -> list[Output]:
    """A network reaches pods no more, or again: jobs begin that waited for that alone, and who backs off
    since then comes back."""
    return _reach(state, message.fabric, body.pods)


def _reach(state: SchedulerState, network: str, cut_off: tuple[str, ...]) -> list[Output]:
    """A network reaches all of its pods but these."""
    reached = set(state.cut_off.pop(network, ())).difference(cut_off)
    if cut_off:
        state.cut_off[network] = cut_off
    said: list[Output] = []
    for number, member in sorted(state.members.items()):
        if member.is_joined:
            continue
        if member.again_us is not None and reached.intersection(member.pods):
            again_us = min(member.again_us, state.now_us + COMES_BACK_US)
            state.members[number] = replace(member, again_us=again_us)
        put(state, state.slices[number])
        said += _begin(state, number)
    return said


def _begin(state: SchedulerState, number: int) -> list[Output]:
    """The first pod of a job says that it begins, once cubes are kept for all its slices, and the network
    reaches all its pods."""
    member, row = state.members[number], state.slices[number]
    is_first = member.pods[0] == state.fabric
    if not is_first or member.until_us is None or set(member.says) != {"holds"} or unreached(state, member):
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
    member = state.members[number] = all_heard(state.members[number], body.slices, "joined")
    row = state.slices[number]
    if member.until_us is None:
        reason = "a cube that was kept for it is out of use"
        name = slice_name(state, number)
        return [PodsParted(job=body.job, slice=name, ends="requeued", reason=reason)]
    return admit(state, row, *kept_cubes(state, row), cause=message.id)


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
    state.members[number] = parted(state.members[number], body.slice)
    row = state.slices[number]
    put(state, row)
    if body.slice == slice_name(state, number):
        return []
    reason = f"{body.slice}, of the same job, left: {body.reason}"
    if body.ends == "requeued":
        if not row.cubes:
            return []
        said = requeue(state, row, reason, message.id, fresh_us(state, number))
    elif body.ends in ("finished", "released"):
        said = complete(state, row, "finished" if body.ends == "finished" else "operator")
    else:
        said = _fall_out(state, row, reason, message.id)
    return said + cycle(state)


def on_pod_signalled(state: SchedulerState, body: PodSignalled, _message: Envelope) -> list[Output]:
    """What befalls a slice of a job befalls the job in all pods. This alone moves what the scheduler keeps of
    its progress, so that it is what the job itself says, but for a hang, of which nobody knows yet."""
    number = _member_of(state, body.job)
    if number is None or not state.members[number].is_joined:
        return []
    member = signalled(state.members[number], body.slice, body.signal, body.speed_ppm)
    state.members[number] = member
    progress = state.slices[number].progress
    if body.signal == "hangs":
        if progress is not None and member.hung is None:
            after = hung(progress, state.now_us)
            state.members[number] = replace(member, hung=after if after.phase == "hung" else None)
        return []
    _move(state, number, partial(befallen, signal=body.signal, speed_ppm=joint_ppm(member)))
    return []


def on_job_bandwidth_set(state: SchedulerState, body: JobBandwidthSet, message: Envelope) -> list[Output]:
    """The network between the pods gives the job more than before, or less."""
    number = _member_of(state, body.job)
    if number is None:
        return []
    _give(state, number, body.gbps, message.fabric)
    return []


def on_fabric_retired(state: SchedulerState, _body: FabricRetired, message: Envelope) -> list[Output]:
    """A pod is gone for good: so are the jobs of which it has a part. Where it is a network, nobody says any
    more what it gives, or whom it reaches."""
    for number, member in sorted(state.members.items()):
        if member.network == message.fabric:
            _give(state, number, None, None)
    said = _reach(state, message.fabric, ())
    gone = [number for number, member in state.members.items() if message.fabric in member.pods]
    for number in sorted(gone):
        reason = f"{message.fabric}, a pod of its job, has retired"
        said += _fall_out(state, state.slices[number], reason, message.id)
    return said + cycle(state) if gone else said


def _give(state: SchedulerState, number: int, gbps: float | None, network: str | None) -> None:
    """A job gets so much from now on, by the word of a network."""
    member = state.members[number] = replace(state.members[number], gbps=gbps, network=network)
    speed_ppm = joint_ppm(member)
    if speed_ppm is None:
        put(state, state.slices[number])
    else:
        _move(state, number, partial(slowed, speed_ppm=speed_ppm))


def _move(state: SchedulerState, number: int, by: Callable[[Progress, int], Progress]) -> None:
    """Change how far a job has come; one that hangs shows where it really is as soon as it no longer does."""
    member, row = state.members[number], state.slices[number]
    if row.progress is not None:
        row = replace(row, progress=by(row.progress, state.now_us))
    if member.hung is not None:
        really = by(member.hung, state.now_us)
        still_hangs = really.phase == "hung"
        state.members[number] = replace(member, hung=really if still_hangs else None)
        row = row if still_hangs else replace(row, progress=really)
    put(state, row)


def _fall_out(state: SchedulerState, row: Slice, reason: str, cause: str) -> list[Output]:
    """A slice ends before it is done, wherever it is."""
    if row.state == "queued":
        withdraw(state, row)
        if not row.restarts:
            return [CausedBy(cause, said) for said in refuse(state, row, reason)]
    return evict(state, row, reason, cause)


def _member_of(state: SchedulerState, job: str) -> int | None:
    """The number of this pod's slice of a job; None if it has none."""
    return next((number for number, member in state.members.items() if member.job == job), None)


def _hear(state: SchedulerState, job: str, name: str, says: Says) -> int | None:
    number = _member_of(state, job)
    if number is not None:
        state.members[number] = heard(state.members[number], name, says)
        put(state, state.slices[number])
    return number
