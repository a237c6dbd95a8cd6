"""Obstacles of a slice, one by one and by name. Its `reason` is the summary."""

from schemas.api.explain import Obstacle
from schemas.recovery_policy import format_recovery_policy
from services.scheduler.explain.wait_reasons import cube_use, no_reroute_reason, wait_summary_of
from services.scheduler.lifecycle import slice_name
from services.scheduler.multislice.gang_hold import slices_without_cubes
from services.scheduler.multislice.slice_status import stopped_by_peers_reason
from services.scheduler.placement.holdback import held_back
from services.scheduler.queue.order import borrowed_chips, chips_by_owner, quotas_of
from services.scheduler.queue.preemption import PreemptionRule, preemptable_by, strength_of
from services.scheduler.queue.preflight_backoff import preflight_failures_of
from services.scheduler.queue.start_pause import start_pause_text
from services.scheduler.recovery.recovery_inputs import dead_cubes
from services.scheduler.state import (
    SchedulerState,
    faults_of,
    has_notice,
    occupancy_of,
    placed_slices,
    policy_of,
    queue_of,
    waits_for_ocs,
    waits_for_start_pause,
)
from services.scheduler.structures.slice_record import Slice, in_preflight_backoff
from shared.basics.time_format import format_time
from shared.models.superpod.wiring import link_end


def obstacles(state: SchedulerState, row: Slice) -> tuple[Obstacle, ...]:
    """What keeps a slice from cubes or from full speed; empty for a slice that has ended."""
    if row.state == "queued":
        return tuple(_of_waiting(state, row))
    return tuple(_of_running(state, row)) if row.cubes and row.ended_us is None else ()


def _of_running(state: SchedulerState, row: Slice) -> list[Obstacle]:
    """The obstacles of a slice on cubes: dead cubes, OCSes that are down, bad links, and notices to leave."""
    fabric = state.fabric
    rows = [
        Obstacle(kind="cube", name=f"{fabric}/cube-{cube}", why="unhealthy")
        for cube in dead_cubes(state, row)
    ]
    faults = faults_of(state, row)
    ends = sorted([*faults.down, *faults.degraded])
    if ends:
        rows += _ocses(state, {link_end(end).ocs for end in ends})
    rows += [
        Obstacle(kind="link", name=link_end(end).name(fabric), why=state.bad_ends[end])
        for end in ends
        if link_end(end).ocs not in state.ocs_down
    ]
    member = row.member
    if member is not None and stopped_by_peers_reason(state, row) is not None:
        statuses = zip(member.slices, member.status, strict=True)
        rows += [
            Obstacle(kind="slice", name=name, why="stopped, which stops all slices of the job")
            for name, status in statuses
            if status == "stopped" and name != slice_name(state, row.number)
        ]
    notice = row.notice
    if notice is not None:
        why = f"{notice.reason}; it leaves by {format_time(notice.until_us)}"
        rows.append(Obstacle(kind="rule", name=f"scheduler.grace_s {state.config.grace_s}", why=why))
    return rows


def _ocses(state: SchedulerState, ocses: set[int]) -> list[Obstacle]:
    return [
        Obstacle(kind="ocs", name=f"{state.fabric}/ocs-{ocs}", why="down")
        for ocs in sorted(ocses & state.ocs_down.keys())
    ]


def _of_waiting(state: SchedulerState, row: Slice) -> list[Obstacle]:
    member = row.member
    if member is not None and (member.until_us is not None or member.again_us is not None):
        why = "it holds no cubes, and all slices of the job start together"
        return [Obstacle(kind="slice", name=name, why=why) for name in slices_without_cubes(state, member)]
    claim = row.claim
    if claim is not None:
        leaving = [number for number in claim.victims if has_notice(state, number)]
        return [_holder(state, number) for number in leaving]
    if waits_for_ocs(state, row):
        rule = f"recovery {format_recovery_policy(policy_of(state, row))}"
        ocses = _ocses(state, set(state.ocs_down))
        return [*ocses, Obstacle(kind="rule", name=rule, why=no_reroute_reason(state, row))]
    if in_preflight_backoff(row):
        return [*_failed(state, row), *_start_pause(state, row)]
    if waits_for_start_pause(state, row):
        return _start_pause(state, row)
    return [*_cubes(state, row), *_holders(state, row), *_quota(state, row), *_rules(state, row)]


def _failed(state: SchedulerState, row: Slice) -> list[Obstacle]:
    """The OCSes whose links failed its last preflight, and the backoff rule."""
    failures, config = preflight_failures_of(row), state.config
    rows = [
        Obstacle(
            kind="ocs",
            name=f"{state.fabric}/ocs-{ocs}",
            why=f"{links} link{'' if links == 1 else 's'} down over it in the last preflight",
        )
        for ocs, links in failures.ocses
    ]
    name = f"scheduler.preflight_backoff_s {config.preflight_backoff_s}"
    until = format_time(failures.again_us)
    why = f"after {failures.failed} failed preflights in a row, it backs off until {until}"
    return [*rows, Obstacle(kind="rule", name=name, why=why)]


def _start_pause(state: SchedulerState, row: Slice) -> list[Obstacle]:
    """The pause of starts after the preflights of the whole pod failed, if there is one."""
    if not waits_for_start_pause(state, row):
        return []
    name = f"scheduler.preflight_backoff_s {state.config.preflight_backoff_s}"
    return [Obstacle(kind="rule", name=name, why=start_pause_text(state))]


def _cubes(state: SchedulerState, row: Slice) -> list[Obstacle]:
    """The cubes that no slice can get."""
    kept = "kept for others" if row.tier == "filler" else "kept for others (claims, moves and warm spares)"
    texts = {"unhealthy": "unhealthy", "drained": "drained", "kept for others": kept}
    rows = [
        Obstacle(kind="cube", name=f"{state.fabric}/cube-{cube}", why=texts[use])
        for cube in range(state.cubes)
        if (use := cube_use(state, cube)) in texts
    ]
    return rows + [
        Obstacle(kind="cube", name=f"{state.fabric}/cube-{cube}", why=_planned_drain_text(from_us, until_us))
        for cube, (from_us, until_us) in sorted(state.drain_windows.items())
    ]


def _planned_drain_text(from_us: int, until_us: int | None) -> str:
    """When a cube will be drained."""
    end = "" if until_us is None else f" to {format_time(until_us)}"
    return f"will be drained from {format_time(from_us)}{end}; only slices that end before that start there"


def _holders(state: SchedulerState, row: Slice) -> list[Obstacle]:
    """The slices on cubes that it cannot preempt, by expected end."""
    first = row.number == wait_summary_of(state).first
    yielding = {} if row.tier == "filler" else preemptable_by(state, row if first else None)
    holders = {
        number
        for cube, numbers in enumerate(occupancy_of(state).holders)
        if cube_use(state, cube) not in ("unhealthy", "drained")
        for number in numbers
        if number not in yielding
    }
    ends = {number: state.slices[number].ends_us for number in holders}
    ordered = sorted(holders, key=lambda number: (ends[number] is None, ends[number] or 0, number))
    return [_holder(state, number) for number in ordered]


def _holder(state: SchedulerState, number: int) -> Obstacle:
    row, notice = state.slices[number], state.slices[number].notice
    until = (
        "with no expected end" if row.ends_us is None else f"until {format_time(row.ends_us)} by its estimate"
    )
    if notice is not None:
        until = f"until {format_time(notice.until_us)} at the latest; it has notice to leave"
    cubes = (
        f"{len(row.cubes)} cube{'' if len(row.cubes) == 1 else 's'}"
        if row.corner is None
        else (f"{row.chips} chips of cube-{row.cubes[0]}")
    )
    return Obstacle(kind="slice", name=slice_name(state, number), why=f"{row.tier} on {cubes} {until}")


def _quota(state: SchedulerState, row: Slice) -> list[Obstacle]:
    """The owner, if it is over its quota and another slice is ahead."""
    held = chips_by_owner(state)
    owners = queue_of(state).firm_owners() | held.keys() | {row.owner}
    used, quota = held.get(row.owner, 0), quotas_of(state, owners)[row.owner]
    is_first = row.number == wait_summary_of(state).first
    if is_first or row.tier == "filler" or not borrowed_chips(used, quota):
        return []
    why = f"has {used} chips of a quota of {quota}; owners below their quota go first (scheduler.quotas)"
    return [Obstacle(kind="owner", name=row.owner, why=why)]


def _rules(state: SchedulerState, row: Slice) -> list[Obstacle]:
    """The parameters that let other slices go first, or reserve cubes."""
    rows: list[Obstacle] = []
    config, waits = state.config, wait_summary_of(state)
    reserve = 0 if row.tier == "filler" else held_back(state)
    if reserve:
        name = f"scheduler.hold_back {config.hold_back}"
        cubes = "1 healthy cube is" if reserve == 1 else f"{reserve} healthy cubes are"
        why = f"{cubes} reserved for slices that lose one"
        rows.append(Obstacle(kind="rule", name=name, why=why))
    if row.tier == "filler":
        return rows
    if row.number != waits.first and waits.first is not None:
        promised = (
            "no slice may pass it" if config.backfill == "none" else "no slice may delay its promised start"
        )
        why = f"{slice_name(state, waits.first)} is first in line, and {promised}"
        rows.append(Obstacle(kind="rule", name=f"scheduler.backfill {config.backfill}", why=why))
    elif (grows := strength_of(state, row, placed_slices(state)).grows) is not None:
        from_us, rule = grows
        hours: dict[PreemptionRule, float] = {
            "production_waits_h": config.production_waits_h,
            "research_waits_h": config.research_waits_h,
            "research_runs_h": config.research_runs_h,
        }
        why = f"it may preempt more slices from {format_time(from_us)}"
        rows.append(Obstacle(kind="rule", name=f"scheduler.{rule} {hours[rule]:g}", why=why))
    return rows
