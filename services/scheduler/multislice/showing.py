"""What people see of the slices of a job over several pods."""

from schemas.documents import MultisliceDocument, SliceState
from services.scheduler.multislice.holding import lacking, unreached
from services.scheduler.multislice.member import joint_ppm
from services.scheduler.state import SchedulerState, Slice
from shared.basics.times import moment

PERCENT_PPM = 10_000


def shown_state(state: SchedulerState, row: Slice) -> SliceState:
    """The state of a slice. One for which cubes are kept until the other pods have theirs is still in the
    queue, and says so."""
    member = state.members.get(row.number)
    return row.state if member is None or member.held_us is None else "waiting-for-pods"


def shown_since_us(state: SchedulerState, row: Slice) -> dict[SliceState, int]:
    """When it last came into each of its states, the present one last."""
    since_us: dict[SliceState, int] = dict(row.since_us)
    member = state.members.get(row.number)
    if member is not None and member.held_us is not None:
        since_us["waiting-for-pods"] = member.held_us
    return since_us


def job_of(state: SchedulerState, row: Slice) -> MultisliceDocument | None:
    """The job over several pods that a slice is a part of, if it is."""
    member = state.members.get(row.number)
    if member is None:
        return None
    return MultisliceDocument(job=member.job, pods=member.pods, slices=member.slices, says=member.says)


def why_pods_wait(state: SchedulerState, row: Slice) -> str | None:
    """Why a slice waits that waits for other pods; None for any other."""
    member = state.members.get(row.number)
    if member is None:
        return None
    lone = ", ".join(unreached(state, member))
    others = ", ".join(lacking(state, member)) or "the other pods"
    if member.until_us is not None:
        cubes = len(state.claims[row.number].cubes)
        kept = "1 cube is" if cubes == 1 else f"{cubes} cubes are"
        until = f"{kept} kept for it until {moment(member.until_us)}"
        if lone:
            return f"{until} for a link of the network to lead to {lone}"
        return f"{until} for {others} of the same job to have theirs"
    if member.again_us is not None:
        tries = "1 try" if member.tries == 1 else f"{member.tries} tries"
        return (
            f"leaves cubes to others until {moment(member.again_us)}, or {others} of the same job has cubes, "
            f"after {tries} in vain (scheduler.pods_hold_s, scheduler.pods_backoff_s)"
        )
    return None


def why_it_is_slow(state: SchedulerState, row: Slice) -> str | None:
    """Why a slice with which nothing is the matter stands, or is slower than it could be; None if it is
    not."""
    return stands_for(state, row) or slowed_across(state, row)


def slowed_across(state: SchedulerState, row: Slice) -> str | None:
    """Why a slice that runs is slower than it could be, for the slices of its job in other pods or what they
    send each other; None if it is not."""
    member = state.members.get(row.number)
    if member is None or row.state not in ("running", "degraded"):
        return None
    speed_ppm = joint_ppm(member)
    if speed_ppm is None:
        return None
    if member.gbps == 0:
        return (
            f"takes no steps: the network has no path between {', '.join(member.pods)} for what they exchange"
        )
    slowest_ppm, slowest = min(zip(filter(None, member.speeds_ppm), member.slices, strict=True))
    why = []
    if slowest_ppm < row.speed_ppm:
        why.append(f"as slow as {slowest} of the same job, at {slowest_ppm / PERCENT_PPM:.1f}% of full speed")
    if member.gbps is not None and speed_ppm != slowest_ppm:
        longer = 100 * (slowest_ppm / speed_ppm - 1)
        gives = f"the network gives each pod of its job {member.gbps:,.0f} Gb/s"
        why.append(f"steps take {longer:.1f}% longer: {gives}")
    return "; ".join(why) or None


def stands_for(state: SchedulerState, row: Slice) -> str | None:
    """Why a slice stands though nothing is the matter with it; None if it does not."""
    member = state.members.get(row.number)
    if member is None or row.number in state.stalls:
        return None
    own = f"{state.fabric}/slice-{row.number}"
    names = [
        name
        for name, says in zip(member.slices, member.says, strict=True)
        if says == "stands" and name != own
    ]
    return f"stands for {', '.join(names)} of the same job, which cannot go on" if names else None
