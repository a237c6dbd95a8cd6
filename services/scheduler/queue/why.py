"""Why slices wait: their places in the queue, and what stands in the way of each, from what decides."""

from schemas.names import Shape
from schemas.recovery import recovery_text
from schemas.scheduler import FULL_SPEED
from services.scheduler.multislice.showing import why_pods_wait
from services.scheduler.placement.holdback import held_back
from services.scheduler.placement.room import Rooms
from services.scheduler.queue.order import borrows, chips_held, fair_share_order, quotas_of
from services.scheduler.queue.queue import FILLER, Line
from services.scheduler.recovery.backing_off import failures_in_words, setback_of
from services.scheduler.state import (
    SchedulerState,
    Slice,
    Waits,
    line_of,
    occupancy_of,
    policy_of,
    queue_of,
    rests,
    speed_without_ocses,
    waiting_outside,
    waits_for_ocs,
)
from shared.basics.times import moment
from shared.models.superpod.shapes import chips_of, is_mesh


def waits_of(state: SchedulerState) -> Waits:
    """Why slices wait, made when somebody asks."""
    if state.waits is None:
        queue, ranked = queue_of(state), fair_share_order(state)
        order = sorted([(rank[:-1], place) for rank, line in ranked for place in queue.lines[line]])
        numbers = [place[1] for _, place in order]
        filler = sorted([place for line in queue.filler() for place in queue.lines[line]])
        numbers += [place[1] for place in filler]
        outside = [row.number for row in waiting_outside(state)]
        places = {number: at for at, number in enumerate([*sorted(state.claims), *numbers, *outside], 1)}
        first = ranked[0][0][-1][1] if ranked else None
        state.waits = Waits(places, first, {})
    return state.waits


def why_it_waits(state: SchedulerState, row: Slice) -> str:
    """What stands in the way of a waiting slice."""
    for_pods = why_pods_wait(state, row)
    if for_pods is not None:
        return for_pods
    if row.number in state.claims:
        return _claim(state, row)
    if waits_for_ocs(state, row):
        return _ocses(state, row)
    if rests(state, row):
        return _rests(state, row)
    waits = waits_of(state)
    if row.number == waits.first:
        return f"first in line; needs {needs(state, row.shape)}: {supply(state)}{_reserve(state)}"
    line = line_of(row)
    if line not in waits.reasons:
        waits.reasons[line] = _behind(state, waits, line) + _quota(state, line)
    return waits.reasons[line]


def _claim(state: SchedulerState, row: Slice) -> str:
    claim = state.claims[row.number]
    there = [number for number in claim.victims if number in state.notices]
    names = ", ".join([f"{state.fabric}/slice-{number}" for number in there])
    cubes = ", ".join([f"cube-{cube}" for cube in claim.cubes])
    return f"has {cubes} as soon as {names or 'they'} left"


def _ocses(state: SchedulerState, row: Slice) -> str:
    """For which OCSes it waits, until when if their repairs take their mean, and why others do not."""
    back = [
        f"{state.fabric}/ocs-{ocs}, expected back at {moment(since_us + state.spans.ocs_repair_us)}"
        for ocs, since_us in sorted(state.ocs_down.items())
    ]
    policy = recovery_text(policy_of(state, row))
    return f"waits for {'; '.join(back)}: {why_not_around(state, row)} (recovery {policy})"


def _rests(state: SchedulerState, row: Slice) -> str:
    """Until when it wants no cubes, and for which links."""
    until = f"backs off until {moment(setback_of(state, row).again_us)}"
    return f"{until}: {failures_in_words(state, row)} (scheduler.preflight_backoff_s)"


def why_not_around(state: SchedulerState, row: Slice) -> str:
    """Why a slice does not run on circuits that do without the OCSes that are down."""
    speed = speed_without_ocses(state, row)
    if "route" not in policy_of(state, row).choices:
        return "its traffic may not go around"
    if speed:
        return f"to go around would slow its steps by {100 * (FULL_SPEED / speed - 1):.1f}%"
    return "no way leads around"


def _behind(state: SchedulerState, waits: Waits, line: Line) -> str:
    wanted = f"needs {needs(state, line[2])}"
    if line[0] == FILLER:
        return f"{wanted} that nobody else wants: {supply(state)}"
    if Rooms(state).for_passing(line[2]) is None:
        return f"{wanted}: {supply(state)}{_reserve(state)}"
    return before_it(state, waits)


def before_it(state: SchedulerState, waits: Waits) -> str:
    """Why a slice for which there is room may not pass those before it."""
    first, policy = f"{state.fabric}/slice-{waits.first}", state.config.backfill
    rule = {
        "easy": f"would delay {first}, the first in line",
        "conservative": f"would delay {first}, the first in line, or another that is promised a start",
        "none": f"{first} is first in line, and nobody passes it",
    }[policy]
    return f"{rule} (scheduler.backfill {policy})"


def needs(state: SchedulerState, shape: Shape) -> str:
    """What a slice of this shape needs, in words."""
    if is_mesh(shape):
        chips = chips_of(shape)
        return f"room for {chips} chip{'' if chips == 1 else 's'} in one healthy cube"
    return state.placement.waits_for(shape)


USES = ("idle", "kept for others", "used by filler", "used", "drained", "unhealthy")
"""What has become of a cube, for somebody firm who looks for one."""


def use_of(state: SchedulerState, cube: int) -> str:
    """Which of USES a cube is in."""
    occupancy = occupancy_of(state)
    tiers = {state.slices[number].tier for number in occupancy.holders[cube]}
    if cube in state.unhealthy:
        return "unhealthy"
    if cube in state.drained:
        return "drained"
    if occupancy.kept[cube]:
        return "kept for others"
    if tiers - {"filler"}:
        return "used"
    return "used by filler" if tiers else "idle"


def supply(state: SchedulerState) -> str:
    """What has become of all cubes, in words; of none is nothing said."""
    counts = dict.fromkeys(USES, 0)
    for cube in range(state.cubes):
        counts[use_of(state, cube)] += 1
    said = [f"{count} {what}" for what, count in counts.items() if count or what == "idle"]
    return f"of {state.cubes} cubes {', '.join(said[:-1])}{' and ' if said[1:] else ''}{said[-1]}"


def _quota(state: SchedulerState, line: Line) -> str:
    """That an owner comes after others, for it has as much as its quota or more."""
    held = chips_held(state)
    owner = line[1]
    quota = quotas_of(state, queue_of(state).firm_owners() | held.keys() | {owner})[owner]
    if line[0] == FILLER or not borrows(held.get(owner, 0), quota):
        return ""
    return (
        f"; {owner} has {held.get(owner, 0)} chips of a quota of {quota} and comes after those who have less"
    )


def _reserve(state: SchedulerState) -> str:
    held = held_back(state)
    are = "is" if held == 1 else "are"
    return f"; {held} {are} held back (scheduler.hold_back {state.config.hold_back})" if held else ""
