"""Slices that hardware events have hit: what `recovery_plan` decides for all of them together is done.

Any healthy idle cube can take the place of one that failed, and only the circuits that touch it change
(Lightwave Fabrics 4.2.2). A slice whose cubes are joined for good stays.
"""

from schemas.scheduler import RecoveryCosts, SliceBackedOff, SliceRecovering
from services.scheduler.lifecycle import drop_move, is_alone, put, requeue, settle, slice_name
from services.scheduler.placement.occupancy import Corner
from services.scheduler.placement.scores import room_for_one
from services.scheduler.placement.spares import give_back_hot
from services.scheduler.recovery.backing_off import (
    failures_in_words,
    is_rewired,
    rest,
    runs_no_more,
    stays_until_us,
)
from services.scheduler.recovery.hits import cubes_to_leave, dead_cubes, delays, hit_of, is_whole, yields_to
from services.scheduler.recovery.notices import tell_to_leave
from services.scheduler.recovery.recovery_plan import Decision, Hit, recovery_plan
from services.scheduler.recovery.swaps import swap
from services.scheduler.recovery.traffic import part_down
from services.scheduler.state import SchedulerState, Slice, Stall, occupancy_of, policy_of
from shared.basics.records import replace
from shared.basics.times import moment
from shared.basics.units import US_PER_S
from shared.engine.service import CausedBy, Output
from shared.models.jobs.progress import at, halted, struck

LOOK_AGAIN_US = 60 * US_PER_S
"""The least time after which a choice to wait is looked at again, if nothing else happens."""


def strike(state: SchedulerState, row: Slice, part: str, cause: str, decides_us: int) -> list[Output]:
    """A slice on cubes cannot go on as it was, because of this part; what becomes of it is decided then. One
    that stalls already goes on waiting for that."""
    if row.number in state.stalls:
        return []
    drop_move(state, row)
    runs_no_more(state, row)
    state.preflights.pop(row.number, None)
    progress, lost_us = row.progress, 0
    if progress is not None and progress.phase != "preparing":
        lost_us = at(progress, state.now_us).fresh_us
        progress = halted(progress, state.now_us) if is_alone(state, row) else progress
    state.stalls[row.number] = Stall(state.now_us, cause, part, lost_us, decides_us)
    reason = f"{part} failed, and it is not decided yet what to do"
    put(
        state,
        replace(row, state="recovering", changed_us=state.now_us, reason=reason, progress=progress),
    )
    if decides_us <= state.now_us:
        return []
    name = slice_name(state, row.number)
    return [CausedBy(cause, SliceRecovering(slice=name, part=part, choice=None, costs_chip_us=None))]


def decides_us(state: SchedulerState) -> int:
    """When it is decided what becomes of a slice that is hit now: what fails together, and is noticed within
    this time, is planned together."""
    return state.now_us + state.config.decision_s * US_PER_S


def decided_us(state: SchedulerState) -> int | None:
    """When the next decision is due for a slice that was hit, or due again for one that waits."""
    return min([stall.due_us for stall in state.stalls.values()], default=None)


def recover_hit(state: SchedulerState) -> list[Output]:
    """Step 1 of the cycle: one plan for all slices that were hit, and what it takes to carry it out."""
    said: list[Output] = []
    if not state.stalls:
        return said
    for number in sorted(state.stalls):
        row = state.slices[number]
        if is_whole(state, row):
            del state.stalls[number]
            said += settle(state, row)
    is_planned = False
    while not is_planned:
        freed = [_carry_out(state, decision, said) for decision in current_plan(state)]
        is_planned = not any(freed)  # whoever is evicted leaves cubes to those behind
    return said


def current_plan(state: SchedulerState) -> tuple[Decision, ...]:
    """What would be done now with all slices that stall and are to be decided on."""
    hits = [
        hit_of(state, state.slices[number], stall)
        for number, stall in state.stalls.items()
        if stall.choice is not None or stall.due_us <= state.now_us
    ]
    return recovery_plan(hits, len(occupancy_of(state).idle), len(state.hot), delays(state))


def _carry_out(state: SchedulerState, decision: Decision, said: list[Output]) -> bool:
    """Do what was decided for one slice; returns whether who is left has to be planned anew."""
    number = decision.slice
    row = state.slices[number]
    stall = state.stalls[number] = _still(state, row, state.stalls[number])
    choice = decision.choice
    takes_cubes = "swap" in policy_of(state, row).choices
    full = room_for_one(state, row) is None
    if takes_cubes and row.corner is not None and ("swap" in decision.costs) == full:
        return True  # a mesh before it took the last room for both, or opened a cube that has room for both
    if choice != stall.choice:
        costs = RecoveryCosts(**decision.costs)
        body = SliceRecovering(
            slice=slice_name(state, number), part=stall.part, choice=choice, costs_chip_us=costs
        )
        said.append(CausedBy(stall.cause, body))
    if choice != "spare" and row.progress is not None and row.progress.fresh_us and is_alone(state, row):
        row = replace(row, progress=struck(row.progress, state.now_us))
        state.slices[number] = row
    if choice == "evict":
        said += _evict(state, row, stall)
        return True
    leaving = cubes_to_leave(state, row)
    if choice in ("spare", "swap") or (choice == "wait" and takes_cubes and "swap" not in decision.costs):
        said += _replace_cubes(state, row, leaving, stall, hot=choice == "spare")
        row = state.slices[number]
    if choice == "wait" and (not leaving or not set(leaving).isdisjoint(row.cubes)):
        hit = hit_of(state, row, stall)
        said += _make_room(state, row, stall, hit) if takes_cubes else []
        _wait(state, row, stall, hit)
        return False
    del state.stalls[number]
    said += settle(state, row, stall.cause)
    return False


def _evict(state: SchedulerState, row: Slice, stall: Stall) -> list[Output]:
    """A slice goes back to the queue; one that leaves for failed preflights, and not for dead cubes, wants no
    others for a while."""
    why, number = _checks(state, row), row.number
    rests = not dead_cubes(state, row) and not is_rewired(state, row)
    dearer = "to wait for a cube or the repair costs more than to start anew"
    reason = f"{stall.part} failed{why or ','} and {'it leaves its cubes' if rests else dearer}"
    if not rests:
        return requeue(state, row, reason, stall.cause, stall.lost_us)
    setback = rest(state, row)
    said = requeue(state, row, reason, stall.cause, stall.lost_us)
    if number not in state.slices or setback.again_us is None:
        return said
    body = SliceBackedOff(
        slice=slice_name(state, number),
        until_us=setback.again_us,
        preflights=setback.failed,
        links=setback.links,
        ocses=tuple(ocs for ocs, _ in setback.ocses),
        over=tuple(links for _, links in setback.ocses),
    )
    return [*said, CausedBy(stall.cause, body)]


def _make_room(state: SchedulerState, row: Slice, stall: Stall, hit: Hit) -> list[Output]:
    """Who waits for a cube need not wait for longer than others have to write a checkpoint: of those whom it
    may make leave, who lose least are told to."""
    if not hit.moves or recovery_plan([hit], hit.cubes, 0, delays(state))[0].choice != "swap":
        return []  # it would wait on even so
    yielding = yields_to(state, row)
    if not yielding:
        return []
    shape = row.shape if row.corner is not None else (4, 4, 4 * hit.cubes)
    found = state.placement.room_by_force(occupancy_of(state), shape, yielding)
    return [] if found is None else tell_to_leave(state, row, found[1], stall.cause)


def _still(state: SchedulerState, row: Slice, stall: Stall) -> Stall:
    """What is still the matter: the cube that began it, or whose link did, may be replaced already, and
    another not."""
    names = {f"{state.fabric}/cube-{cube}" for cube in row.cubes}
    dead = dead_cubes(state, row)
    if dead and stall.part not in names:
        return replace(stall, part=f"{state.fabric}/cube-{dead[0]}")
    began = "/".join(stall.part.split("/")[:2])
    if not dead and row.links_down and "/cube-" in began and began not in names:
        return replace(stall, part=part_down(state, row))
    return stall


def _wait(state: SchedulerState, row: Slice, stall: Stall, hit: Hit) -> None:
    again_us = state.now_us + max(hit.repair_us // 2, LOOK_AGAIN_US)
    stays_us = stays_until_us(state, row)
    if stays_us is not None:
        again_us = min(again_us, stays_us)
    if stall.choice != "wait" or stall.due_us <= state.now_us:
        state.stalls[row.number] = replace(stall, choice="wait", due_us=again_us)
    why = "it waits for that, or for a healthy idle cube"
    if not state.placement.can_move(row.cubes):
        why = "the slice cannot leave it"
    elif stays_us is not None:
        why = f"it waits for its links until {moment(stays_us)} (scheduler.preflight_stay_s)"
    elif not hit.moves:
        why = "it waits for the repair"
    reason = f"{stall.part} failed{_checks(state, row)} and {why}"
    put(state, replace(row, state="recovering", reason=reason, checked=False))


def _checks(state: SchedulerState, row: Slice) -> str:
    """How often a slice that has not run for long since failed its preflight, in words."""
    by_links = row.number in state.setbacks and not dead_cubes(state, row)
    return f", {failures_in_words(state, row)}," if by_links else ""


def _replace_cubes(
    state: SchedulerState, row: Slice, leaving: tuple[int, ...], stall: Stall, hot: bool
) -> list[Output]:
    """Put spares in the places of as many cubes as there are spares for."""
    said: list[Output] = []
    if not state.placement.can_move(row.cubes):
        return said
    for cube in leaving:
        room = _take_hot(state, row) if hot else room_for_one(state, row)
        if room is not None:
            row = state.slices[row.number]
            said += swap(state, row, cube, *room, "failed", stall.cause, warm=hot)
    return said


def _take_hot(state: SchedulerState, row: Slice) -> tuple[int, Corner | None]:
    cube = min(state.hot)
    give_back_hot(state, cube)
    return cube, None if row.corner is None else (0, 0, 0)
