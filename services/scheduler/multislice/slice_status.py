"""Status of the slices of multislice jobs, for documents."""

from schemas.documents.pods import MultisliceDocument, SliceState
from services.scheduler.multislice.gang_hold import slices_without_cubes, unreachable_pods
from services.scheduler.state import SchedulerState
from services.scheduler.structures.gang_member import gang_speed_ppm
from services.scheduler.structures.slice_record import Slice
from shared.basics.time_format import format_time

PERCENT_PPM = 10_000


def displayed_state(row: Slice) -> SliceState:
    """The state of a slice. A queued slice with held cubes shows as `waiting-for-pods`."""
    return "waiting-for-pods" if row.phase == "holding" else row.state


def displayed_since_us(row: Slice) -> dict[SliceState, int]:
    """When the slice last entered each of its states; the current state is last."""
    since_us: dict[SliceState, int] = dict(row.since_us)
    member = row.member
    if member is not None and member.held_since_us is not None:
        since_us["waiting-for-pods"] = member.held_since_us
    return since_us


def multislice_document(row: Slice) -> MultisliceDocument | None:
    """The multislice job of a slice, if it has one."""
    member = row.member
    if member is None:
        return None
    return MultisliceDocument(job=member.job, pods=member.pods, slices=member.slices, status=member.status)


def pods_wait_reason(state: SchedulerState, row: Slice) -> str | None:
    """Why a slice waits for other pods; None if it does not."""
    member = row.member
    if member is None:
        return None
    unreachable = ", ".join(unreachable_pods(state, member))
    others = ", ".join(slices_without_cubes(state, member)) or "the other pods"
    if member.until_us is not None:
        cubes = 0 if row.claim is None else len(row.claim.cubes)
        held = "holds 1 cube" if cubes == 1 else f"holds {cubes} cubes"
        until = f"{held} until {format_time(member.until_us)}"
        if unreachable:
            return f"{until} while the network does not reach {unreachable}"
        return f"{until} and waits for {others} of the same job"
    if member.again_us is not None:
        tries = "1 try" if member.tries == 1 else f"{member.tries} tries"
        return (
            f"backs off until {format_time(member.again_us)}, "
            f"or until cubes are held for {others} of the same job, "
            f"after {tries} without success (scheduler.pods_hold_s, scheduler.pods_backoff_s)"
        )
    return None


def slow_reason(state: SchedulerState, row: Slice) -> str | None:
    """Why a slice without a fault of its own is stopped or slow; None if it is neither."""
    return stopped_by_peers_reason(state, row) or slow_across_pods_reason(row)


def slow_across_pods_reason(row: Slice) -> str | None:
    """Why a running slice is slowed by the other slices of its job, or by the network between them; None if
    it is not."""
    member = row.member
    if member is None or row.state not in ("running", "degraded"):
        return None
    speed_ppm = gang_speed_ppm(member)
    if speed_ppm is None:
        return None
    if member.gbps == 0:
        return f"takes no steps: the network has no path between {', '.join(member.pods)}"
    slowest_ppm, slowest = min(zip(filter(None, member.speeds_ppm), member.slices, strict=True))
    why = []
    if slowest_ppm < row.speed_ppm:
        why.append(f"as slow as {slowest} of the same job, at {slowest_ppm / PERCENT_PPM:.1f}% of full speed")
    if member.gbps is not None and speed_ppm != slowest_ppm:
        longer = 100 * (slowest_ppm / speed_ppm - 1)
        bandwidth = f"the network gives each pod of its job {member.gbps:,.0f} Gb/s"
        why.append(f"steps take {longer:.1f}% longer: {bandwidth}")
    return "; ".join(why) or None


def stopped_by_peers_reason(state: SchedulerState, row: Slice) -> str | None:
    """Why a slice without a fault of its own is stopped; None if it is not."""
    member = row.member
    if member is None or row.interruption is not None:
        return None
    own = f"{state.fabric}/slice-{row.number}"
    names = [
        name
        for name, status in zip(member.slices, member.status, strict=True)
        if status == "stopped" and name != own
    ]
    return f"stopped: {', '.join(names)} of the same job cannot run" if names else None
