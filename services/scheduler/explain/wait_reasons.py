"""Why slices wait: their places in the queue and the reason for each, from the functions that decide."""

from schemas.messages.scheduler import FULL_SPEED
from schemas.names import Shape
from schemas.recovery_policy import format_recovery_policy
from services.scheduler.multislice.slice_status import pods_wait_reason
from services.scheduler.placement.holdback import held_back
from services.scheduler.queue.order import borrowed_chips, chips_by_owner, fair_share_order, quotas_of
from services.scheduler.queue.placement_lookup import FitFinder
from services.scheduler.queue.preflight_backoff import failures_text, preflight_failures_of
from services.scheduler.queue.start_pause import start_pause_text
from services.scheduler.state import (
    SchedulerState,
    WaitSummary,
    claimed_slices,
    deferred_slices,
    has_notice,
    line_of,
    occupancy_of,
    policy_of,
    queue_of,
    speed_without_ocses,
    waits_for_ocs,
    waits_for_start_pause,
)
from services.scheduler.structures.slice_record import CubeClaim, Slice, in_preflight_backoff
from services.scheduler.structures.waiting_lines import FILLER, Line
from shared.basics.time_format import format_time
from shared.models.superpod.shapes import chips_of, is_mesh


def wait_summary_of(state: SchedulerState) -> WaitSummary:
    """The wait summary, rebuilt if missing."""
    if state.waits is None:
        queue, ranked = queue_of(state), fair_share_order(state)
        order = sorted([(rank[:-1], place) for rank, line in ranked for place in queue.lines[line]])
        numbers = [place[1] for _, place in order]
        filler = sorted([place for line in queue.filler() for place in queue.lines[line]])
        numbers += [place[1] for place in filler]
        outside = [row.number for row in deferred_slices(state)]
        claimed = [row.number for row, _ in claimed_slices(state)]
        places = {number: at for at, number in enumerate([*claimed, *numbers, *outside], 1)}
        first = ranked[0][0][-1][1] if ranked else None
        state.waits = WaitSummary(places, first, {})
    return state.waits


def wait_reason(state: SchedulerState, row: Slice) -> str:
    """The reason why a slice waits."""
    for_pods = pods_wait_reason(state, row)
    if for_pods is not None:
        return for_pods
    if row.claim is not None:
        return _claim(state, row.claim)
    if waits_for_ocs(state, row):
        return _ocses(state, row)
    if in_preflight_backoff(row):
        return _backoff_text(state, row)
    if waits_for_start_pause(state, row):
        return start_pause_text(state)
    waits = wait_summary_of(state)
    if row.number == waits.first:
        return (
            f"first in line; needs {needed_cubes_text(state, row.shape)}: "
            f"{_supply(state, waits)}{_reserve(state)}"
        )
    line = line_of(row)
    if line not in waits.reasons:
        waits.reasons[line] = _behind(state, waits, line) + _quota(state, line)
    return waits.reasons[line]


def _claim(state: SchedulerState, claim: CubeClaim) -> str:
    leaving = [number for number in claim.victims if has_notice(state, number)]
    names = ", ".join([f"{state.fabric}/slice-{number}" for number in leaving])
    cubes = ", ".join([f"cube-{cube}" for cube in claim.cubes])
    if not names:
        return f"gets {cubes} when they are free"
    return f"gets {cubes} when {names} {'has' if len(leaving) == 1 else 'have'} left"


def _ocses(state: SchedulerState, row: Slice) -> str:
    """The OCSes that the slice waits for, with their expected return by the mean repair time, and why it does
    not run without them."""
    back = [
        f"{state.fabric}/ocs-{ocs}, expected back at "
        f"{format_time(since_us + state.expected_durations.ocs_repair_us)}"
        for ocs, since_us in sorted(state.ocs_down.items())
    ]
    policy = format_recovery_policy(policy_of(state, row))
    return f"waits for {'; '.join(back)}: {no_reroute_reason(state, row)} (recovery {policy})"


def _backoff_text(state: SchedulerState, row: Slice) -> str:
    """Until when the slice backs off, and the links that failed."""
    until = f"backs off until {format_time(preflight_failures_of(row).again_us)}"
    reason = f"{until}: {failures_text(state, row)} (scheduler.preflight_backoff_s)"
    return f"{reason}; then {start_pause_text(state)}" if waits_for_start_pause(state, row) else reason


def no_reroute_reason(state: SchedulerState, row: Slice) -> str:
    """Why a slice does not run on circuits that avoid the OCSes that are down."""
    speed = speed_without_ocses(state, row)
    if "route" not in policy_of(state, row).choices:
        return "its recovery policy does not allow rerouted traffic"
    if speed:
        return f"rerouted traffic would slow its steps by {100 * (FULL_SPEED / speed - 1):.1f}%"
    return "no route avoids them"


def _behind(state: SchedulerState, waits: WaitSummary, line: Line) -> str:
    wanted = f"needs {needed_cubes_text(state, line[2])}"
    if line[0] == FILLER:
        return f"{wanted} that no other slice wants: {_supply(state, waits)}"
    if FitFinder(state).for_backfill(line[2]) is None:
        return f"{wanted}: {_supply(state, waits)}{_reserve(state)}"
    return queue_order_reason(state, waits)


def queue_order_reason(state: SchedulerState, waits: WaitSummary) -> str:
    """Why a slice that fits now may not pass the slices ahead of it."""
    first, policy = f"{state.fabric}/slice-{waits.first}", state.config.backfill
    rule = {
        "easy": f"would delay {first}, the first in line",
        "conservative": f"would delay {first}, the first in line, or another promised start",
        "none": f"may not pass {first}, the first in line",
    }[policy]
    return f"{rule} (scheduler.backfill {policy})"


def needed_cubes_text(state: SchedulerState, shape: Shape) -> str:
    """The cubes that a slice of this shape needs, in words."""
    if is_mesh(shape):
        chips = chips_of(shape)
        return f"room for {chips} chip{'' if chips == 1 else 's'} in one healthy cube"
    return state.placement.needed_text(shape)


CUBE_USES = (
    *("idle", "kept for others", "used by filler", "used", "kept free for a planned drain"),
    *("drained", "unhealthy"),
)
"""The uses of a cube, as a firm slice sees them."""


def cube_use(state: SchedulerState, cube: int) -> str:
    """The use of a cube, one of CUBE_USES."""
    occupancy = occupancy_of(state)
    tiers = {state.slices[number].tier for number in occupancy.holders[cube]}
    if cube in state.unhealthy:
        return "unhealthy"
    if cube in state.drained:
        return "drained"
    if cube in state.drain_windows and not tiers:
        return "kept free for a planned drain"
    if occupancy.kept[cube]:
        return "kept for others"
    if tiers - {"filler"}:
        return "used"
    return "used by filler" if tiers else "idle"


def _supply(state: SchedulerState, waits: WaitSummary) -> str:
    """As `cube_supply_text`, counted once for each wait summary."""
    if waits.supply is None:
        waits.supply = cube_supply_text(state)
    return waits.supply


def cube_supply_text(state: SchedulerState) -> str:
    """The number of cubes in each use, in words, without empty uses."""
    counts = dict.fromkeys(CUBE_USES, 0)
    for cube in range(state.cubes):
        counts[cube_use(state, cube)] += 1
    texts = [f"{count} {what}" for what, count in counts.items() if count or what == "idle"]
    return f"of {state.cubes} cubes, {', '.join(texts[:-1])}{' and ' if texts[1:] else ''}{texts[-1]}"


def _quota(state: SchedulerState, line: Line) -> str:
    """Text if the owner is at or over its quota, so that its slices come later."""
    held = chips_by_owner(state)
    owner = line[1]
    quota = quotas_of(state, queue_of(state).firm_owners() | held.keys() | {owner})[owner]
    if line[0] == FILLER or not borrowed_chips(held.get(owner, 0), quota):
        return ""
    return (
        f"; {owner} has {held.get(owner, 0)} chips of a quota of {quota}; owners below their quota go first"
    )


def _reserve(state: SchedulerState) -> str:
    held = held_back(state)
    are = "is" if held == 1 else "are"
    return f"; {held} {are} held back (scheduler.hold_back {state.config.hold_back})" if held else ""
