"""Cubes that are kept for a slice of a job over several pods until all of them have theirs.

Such a slice is in line as any other, and gets a claim on cubes when it is its turn. Once nobody is on them
any more they are kept for it, which the whole site hears. If not all pods of the job say so in time it gives
them back, and backs off: it leaves them to others for a while that is drawn, and twice as long each time. Who
waits for cubes stays in line, and who backs off comes back as soon as another pod of the job has cubes, but
for one that an older job is in line with there.

So no jobs keep each other from their cubes for ever. Of those that do there is an oldest, the same in all
pods. Once one of its slices has cubes all come back, and find none of the younger in their way but those
that have just tried, which they do ever less often.
"""

from dataclasses import replace as with_fields

from schemas.messages.scheduler import PodHeld, PodWaits
from schemas.multislice import Multislice
from services.scheduler.lifecycle import refuse, release_claim, slice_name, store_slice, withdraw
from services.scheduler.state import SchedulerState, Slice, enqueue, queue_of
from services.scheduler.structures.multislice_member import MemberStatus, MultisliceMember
from services.scheduler.structures.waiting_lines import TIERS
from shared.basics.fast_replace import replace
from shared.basics.keyed_random import draw_uniform
from shared.basics.units import US_PER_S, to_whole_us
from shared.engine.service import CausedBy, Output
from shared.models.jobs.multislice_jobs import all_stopped

BACKOFF_MAX_HOLDS = 16
"""Of so many holds in the mean a slice backs off after many tries: then it is in others' way for a sixteenth
of the time."""


def add_member(state: SchedulerState, row: Slice, wanted: Multislice | None) -> list[Output]:
    """A slice that was just asked for is one of a job over several pods, if it is."""
    if wanted is None:
        return []
    pods = wanted.pods
    silence: MemberStatus = "nothing"
    state.members[row.number] = MultisliceMember(
        job=wanted.job,
        pods=pods,
        gradient_bytes=wanted.gradient_bytes,
        step_us=wanted.step_us,
        slices=("",) * len(pods),
        status=(silence,) * len(pods),
        speeds_ppm=all_stopped(pods),
    )
    return [PodWaits(job=wanted.job, slice=slice_name(state, row.number), again_us=None, reason=None)]


def hold_cubes(state: SchedulerState, row: Slice) -> list[Output]:
    """Nobody is on the cubes any more on which a slice has its claim: they are kept for it from now on."""
    number, member = row.number, state.members[row.number]
    until_us = state.now_us + state.config.pods_hold_s * US_PER_S
    state.claims[number] = with_fields(state.claims[number], until_us=until_us)
    state.members[number] = replace(member, held_since_us=state.now_us, until_us=until_us)
    store_slice(state, row)
    return [
        CausedBy(row.request, PodHeld(job=member.job, slice=slice_name(state, number), until_us=until_us))
    ]


def give_up_hold(state: SchedulerState, row: Slice, reason: str) -> list[Output]:
    """What is kept for a slice is given back, and it stands outside of all lines for a while."""
    queue_of(state)  # made while it has its claim still
    release_claim(state, row)
    member = state.members[row.number]
    again_us = state.now_us + backoff_us(state, row, member.tries)
    state.members[row.number] = replace(
        member, held_since_us=None, until_us=None, again_us=again_us, tries=member.tries + 1
    )
    store_slice(state, row)
    emitted = PodWaits(job=member.job, slice=slice_name(state, row.number), again_us=again_us, reason=reason)
    return [CausedBy(row.request, emitted)]


def backoff_us(state: SchedulerState, row: Slice, tries: int) -> int:
    """How long a slice backs off after so many tries before this one: half to one and a half times a mean
    that doubles, so that two jobs that met once do so hardly again."""
    config = state.config
    most_s = max(BACKOFF_MAX_HOLDS * config.pods_hold_s, config.pods_backoff_s)
    mean_s = min(config.pods_backoff_s << min(tries, most_s.bit_length()), most_s)
    count = (row.restarts << 32) + tries
    drawn = draw_uniform(state.seed, slice_name(state, row.number), "backs off", count)
    return max(to_whole_us(mean_s * (0.5 + drawn), US_PER_S), 1)


def yields_to_older_job(state: SchedulerState, row: Slice) -> bool:
    """Whether a slice backs off for its whole time: another job over several pods, which is of a higher tier
    or priority or was asked for earlier, has cubes kept in this pod, or waits in line for some."""
    own = _seniority(state, row)
    return any(
        member.again_us is None and not member.is_joined and _seniority(state, state.slices[number]) < own
        for number, member in state.members.items()
    )


def _seniority(state: SchedulerState, row: Slice) -> tuple[int, int, int, str]:
    """What jobs over several pods are ranked by, the first first: the same in all of their pods."""
    return TIERS.index(row.tier), -row.priority, row.requested_us, state.members[row.number].job


def take_held_cubes(state: SchedulerState, row: Slice) -> tuple[tuple[int, ...], tuple[int, int, int] | None]:
    """(Cubes, corner) that were kept for a slice which gets them now."""
    held, member = state.claims[row.number], state.members[row.number]
    release_claim(state, row)
    state.members[row.number] = replace(
        member,
        is_joined=True,
        speeds_ppm=all_stopped(member.pods),
        held_since_us=None,
        until_us=None,
        again_us=None,
        tries=0,
    )
    return held.cubes, held.corner


def members_due_us(state: SchedulerState) -> int | None:
    """When the next slice has had cubes kept for long enough, or has backed off for long enough."""
    times = [at_us for member in state.members.values() for at_us in (member.until_us, member.again_us)]
    return min([at_us for at_us in times if at_us is not None], default=None)


def end_holds(state: SchedulerState) -> list[Output]:
    """Cubes that were kept by now in vain are given back. A job of which a pod has not even answered, for
    there is none of that name, is refused."""
    emitted: list[Output] = []
    for number, member in sorted(state.members.items()):
        if member.until_us is None or member.until_us > state.now_us:
            continue
        row = state.slices[number]
        silent = [pod for pod, status in zip(member.pods, member.status, strict=True) if status == "nothing"]
        if silent:
            withdraw(state, row)
            emitted += refuse(state, row, f"pod {silent[0]} of its job is not in this site")
            continue
        within = f"within {state.config.pods_hold_s} s (scheduler.pods_hold_s)"
        others, lone = slices_without_cubes(state, member), unreachable_pods(state, member)
        reason = (
            f"no link of the network leads to {', '.join(lone)}, nor did one {within}"
            if lone
            else f"no cubes for {', '.join(others)} {within}"
        )
        emitted += give_up_hold(state, row, reason)
    return emitted


def end_backoffs(state: SchedulerState) -> None:
    """Who has backed off for long enough takes its old place in line."""
    for number, member in sorted(state.members.items()):
        if member.again_us is not None and member.again_us <= state.now_us:
            queue_of(state)  # made while it is outside still
            state.members[number] = replace(member, again_us=None)
            enqueue(state, state.slices[number])


def unreachable_pods(state: SchedulerState, member: MultisliceMember) -> list[str]:
    """The pods of a job that its network does not reach."""
    return [pod for pod in member.pods if any(pod in pods for pods in state.cut_off_pods.values())]


def slices_without_cubes(state: SchedulerState, member: MultisliceMember) -> list[str]:
    """The other slices of a job for which no cubes are kept."""
    return [
        name or f"a slice of {pod}"
        for pod, name, status in zip(member.pods, member.slices, member.status, strict=True)
        if status in ("nothing", "waits") and pod != state.fabric
    ]
