"""What people see of the slices of a job over several pods."""

from schemas.documents.pods import MultisliceDocument, SliceState
from services.scheduler.multislice.gang_hold import slices_without_cubes, unreachable_pods
from services.scheduler.state import SchedulerState, Slice
from services.scheduler.structures.multislice_member import job_speed_ppm
from shared.basics.time_format import format_time

PERCENT_PPM = 10_000


def displayed_state(state: SchedulerState, row: Slice) -> SliceState:
    """The state of a slice. One for which cubes are kept until the other pods have theirs is still in the
    queue, and says so."""
    member = state.members.get(row.number)
    return row.state if member is None or member.held_since_us is None else "waiting-for-pods"


def displayed_since_us(state: SchedulerState, row: Slice) -> dict[SliceState, int]:
    """When it last came into each of its states, the present one last."""
    since_us: dict[SliceState, int] = dict(row.since_us)
    member = state.members.get(row.number)
    if member is not None and member.held_since_us is not None:
        since_us["waiting-for-pods"] = member.held_since_us
    return since_us


def multislice_document(state: SchedulerState, row: Slice) -> MultisliceDocument | None:
    """The job over several pods that a slice is a part of, if it is."""
    member = state.members.get(row.number)
    if member is None:
        return None
    return MultisliceDocument(job=member.job, pods=member.pods, slices=member.slices, status=member.status)


def pods_wait_reason(state: SchedulerState, row: Slice) -> str | None:
    """Why a slice waits that waits for other pods; None for any other."""
    member = state.members.get(row.number)
    if member is None:
        return None
    lone = ", ".join(unreachable_pods(state, member))
    others = ", ".join(slices_without_cubes(state, member)) or "the other pods"
    if member.until_us is not None:
        cubes = len(state.claims[row.number].cubes)
        kept = "1 cube is" if cubes == 1 else f"{cubes} cubes are"
        until = f"{kept} kept for it until {format_time(member.until_us)}"
        if lone:
            return f"{until} for a link of the network to lead to {lone}"
        return f"{until} for {others} of the same job to have theirs"
    if member.again_us is not None:
        tries = "1 try" if member.tries == 1 else f"{member.tries} tries"
        return (
            f"leaves cubes to others until {format_time(member.again_us)}, "
            f"or {others} of the same job has cubes, "
            f"after {tries} in vain (scheduler.pods_hold_s, scheduler.pods_backoff_s)"
        )
    return None


def slow_reason(state: SchedulerState, row: Slice) -> str | None:
    """Why a slice with which nothing is the matter stands, or is slower than it could be; None if it is
    not."""
    return stopped_by_peers_reason(state, row) or slow_across_pods_reason(state, row)


def slow_across_pods_reason(state: SchedulerState, row: Slice) -> str | None:
    """Why a slice that runs is slower than it could be, for the slices of its job in other pods or what they
    send each other; None if it is not."""
    member = state.members.get(row.number)
    if member is None or row.state not in ("running", "degraded"):
        return None
    speed_ppm = job_speed_ppm(member)
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


def stopped_by_peers_reason(state: SchedulerState, row: Slice) -> str | None:
    """Why a slice stands though nothing is the matter with it; None if it does not."""
    member = state.members.get(row.number)
    if member is None or row.number in state.interruptions:
        return None
    own = f"{state.fabric}/slice-{row.number}"
    names = [
        name
        for name, status in zip(member.slices, member.status, strict=True)
        if status == "stands" and name != own
    ]
    return f"stands for {', '.join(names)} of the same job, which cannot go on" if names else None
