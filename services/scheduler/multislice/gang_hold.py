"""Gang holds: cubes held for a slice of a multislice job until all slices of the job have theirs.

Such a slice queues like any other and gets a claim on cubes in its turn. Once its victims have left, the
cubes are held for it, and it reports that to the whole site. If not all pods of the job hold cubes in time,
it gives its cubes back and backs off for a random time that doubles with each try.

A slice that waits for cubes stays in line. A slice in backoff returns as soon as another pod of the job holds
cubes, unless an older job waits there.

So jobs do not block each other forever. Among jobs that do, one is the oldest, the same in all pods. Once one
of its slices has cubes, all its slices return to the queue. Only younger jobs that have just tried again are
in their way, which happens ever less often.
"""

from dataclasses import replace as with_fields

from schemas.messages.scheduler import PodHeld, PodWaits
from schemas.multislice import Multislice
from services.scheduler.lifecycle import refuse, release_claim, slice_name, store_slice, withdraw
from services.scheduler.state import SchedulerState, enqueue, members_of, put_slice, queue_of, slices_in
from services.scheduler.structures.gang_member import GangMember, MemberStatus
from services.scheduler.structures.slice_record import CubeClaim, Slice, as_waiting, claim_of, member_of
from services.scheduler.structures.waiting_lines import TIERS
from shared.basics.fast_replace import replace
from shared.basics.keyed_random import draw_uniform
from shared.basics.units import US_PER_S, to_whole_us
from shared.engine.service import CausedBy, Output
from shared.models.jobs.multislice_jobs import all_stopped

BACKOFF_MAX_HOLDS = 16
"""Maximum mean backoff in holds: after many tries, a slice holds cubes a sixteenth of the time."""


def add_member(state: SchedulerState, row: Slice, wanted: Multislice | None) -> tuple[Slice, list[Output]]:
    """Make a newly requested slice part of its multislice job, if it has one. Returns the slice, for the
    caller to store, and the messages."""
    if wanted is None:
        return row, []
    pods = wanted.pods
    no_status: MemberStatus = "nothing"
    member = GangMember(
        job=wanted.job,
        pods=pods,
        gradient_bytes=wanted.gradient_bytes,
        step_us=wanted.step_us,
        slices=("",) * len(pods),
        status=(no_status,) * len(pods),
        speeds_ppm=all_stopped(pods),
    )
    waits = PodWaits(job=wanted.job, slice=slice_name(state, row.number), again_us=None, reason=None)
    return replace(row, member=member), [waits]


def hold_cubes(state: SchedulerState, row: Slice) -> list[Output]:
    """Hold the claimed cubes of a slice for its job: no other slice is on them any more."""
    number, member = row.number, member_of(row)
    until_us = state.now_us + state.config.pods_hold_s * US_PER_S
    claim = None if row.claim is None else with_fields(row.claim, until_us=until_us)
    member = replace(member, held_since_us=state.now_us, until_us=until_us)
    store_slice(state, as_waiting(replace(row, claim=claim, member=member)))
    return [
        CausedBy(row.request, PodHeld(job=member.job, slice=slice_name(state, number), until_us=until_us))
    ]


def give_up_hold(state: SchedulerState, row: Slice, reason: str) -> list[Output]:
    """Give back the held cubes of a slice and start its backoff."""
    queue_of(state)  # build the queue while the slice still has its claim
    row = release_claim(state, row)
    member = member_of(row)
    again_us = state.now_us + hold_backoff_us(state, row, member.tries)
    member = replace(member, held_since_us=None, until_us=None, again_us=again_us, tries=member.tries + 1)
    store_slice(state, as_waiting(replace(row, member=member)))
    emitted = PodWaits(job=member.job, slice=slice_name(state, row.number), again_us=again_us, reason=reason)
    return [CausedBy(row.request, emitted)]


def hold_backoff_us(state: SchedulerState, row: Slice, tries: int) -> int:
    """How long a slice backs off after `tries` earlier tries: 0.5 to 1.5 times a mean that doubles each time.
    So two jobs that collide once rarely collide again."""
    config = state.config
    max_s = max(BACKOFF_MAX_HOLDS * config.pods_hold_s, config.pods_backoff_s)
    mean_s = min(config.pods_backoff_s << min(tries, max_s.bit_length()), max_s)
    count = (row.restarts << 32) + tries
    random_share = draw_uniform(state.seed, slice_name(state, row.number), "backs off", count)
    return max(to_whole_us(mean_s * (0.5 + random_share), US_PER_S), 1)


def yields_to_older_job(state: SchedulerState, row: Slice) -> bool:
    """Whether a slice stays in backoff for its whole time, because an older multislice job holds cubes in
    this pod or waits for some. Older: higher tier or priority, or requested earlier."""
    own = _seniority(row)
    return any(
        member.again_us is None and not member.is_joined and _seniority(other) < own
        for other, member in members_of(state)
    )


def _seniority(row: Slice) -> tuple[int, int, int, str]:
    """The rank of a multislice job, lowest first; the same in all its pods."""
    return TIERS.index(row.tier), -row.priority, row.requested_us, member_of(row).job


def take_held_cubes(state: SchedulerState, row: Slice) -> tuple[Slice, CubeClaim]:
    """The slice without its claim, for the caller to admit, and the claim on the cubes that it gets now."""
    held, member = claim_of(row), member_of(row)
    row = release_claim(state, row)
    joined = replace(
        member,
        is_joined=True,
        speeds_ppm=all_stopped(member.pods),
        held_since_us=None,
        until_us=None,
        again_us=None,
        tries=0,
    )
    return as_waiting(replace(row, member=joined)), held


def members_due_us(state: SchedulerState) -> int | None:
    """When the next hold or backoff ends."""
    rows = [*slices_in(state, "holding"), *slices_in(state, "backing-off")]
    members = [row.member for row in rows if row.member is not None]
    times = [at_us for member in members for at_us in (member.until_us, member.again_us)]
    return min([at_us for at_us in times if at_us is not None], default=None)


def end_holds(state: SchedulerState) -> list[Output]:
    """Give back cubes whose hold has expired. Refuse a job if one of its pods never answered: no pod has that
    name."""
    emitted: list[Output] = []
    for row in slices_in(state, "holding"):
        member = member_of(row)
        if member.until_us is None or member.until_us > state.now_us:
            continue
        silent = [pod for pod, status in zip(member.pods, member.status, strict=True) if status == "nothing"]
        if silent:
            withdraw(state, row)
            emitted += refuse(state, row, f"pods: {silent[0]} is not a pod of this site")
            continue
        within = f"within {state.config.pods_hold_s} s (scheduler.pods_hold_s)"
        others, unreachable = slices_without_cubes(state, member), unreachable_pods(state, member)
        reason = (
            f"the network did not reach {', '.join(unreachable)} {within}"
            if unreachable
            else f"no cubes for {', '.join(others)} {within}"
        )
        emitted += give_up_hold(state, row, reason)
    return emitted


def end_backoffs(state: SchedulerState) -> None:
    """Put slices whose backoff is over back at their old place in line."""
    for row in slices_in(state, "backing-off"):
        member = row.member
        if member is not None and member.again_us is not None and member.again_us <= state.now_us:
            queue_of(state)  # build the queue while the slice is still outside it
            back = as_waiting(replace(row, member=replace(member, again_us=None)))
            put_slice(state, back)
            enqueue(state, back)


def unreachable_pods(state: SchedulerState, member: GangMember) -> list[str]:
    """The pods of a job that its network does not reach."""
    return [pod for pod in member.pods if any(pod in pods for pods in state.cut_off_pods.values())]


def slices_without_cubes(state: SchedulerState, member: GangMember) -> list[str]:
    """The other slices of a job that hold no cubes."""
    return [
        name or f"a slice of {pod}"
        for pod, name, status in zip(member.pods, member.slices, member.status, strict=True)
        if status in ("nothing", "waits") and pod != state.fabric
    ]
