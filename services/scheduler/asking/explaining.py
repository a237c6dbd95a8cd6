"""Why a slice is as it is, from the functions that decide."""

from schemas.api_answers import RecoveryAnswer, SliceExplanation
from schemas.names import number_of
from schemas.recovery import recovery_text
from schemas.scheduler import RecoveryCosts
from schemas.workload import SliceRequested
from services.scheduler.asking.dry_run import largest_now
from services.scheduler.asking.obstacles import obstacles
from services.scheduler.asking.starts import expected_start
from services.scheduler.lifecycle import slice_name
from services.scheduler.multislice.showing import shown_since_us, shown_state, why_it_is_slow
from services.scheduler.queue.why import waits_of, why_it_waits
from services.scheduler.recovery.hits import delays, hit_of
from services.scheduler.recovery.recovery_plan import Decision, recovery_plan
from services.scheduler.state import SchedulerState, Slice, occupancy_of, policy_of
from shared.models.superpod.shapes import shape_text


def explain(state: SchedulerState, name: str) -> SliceExplanation | None:
    """Why this slice is as it is at `state.now_us`; None if nothing is known of it any more, or yet."""
    number = number_of(name)
    row = state.slices.get(number) or state.ended.get(number)
    if row is None:
        return None
    waits = row.state == "queued"
    asks = waits or row.state == "refused"
    fits = largest_now(state, _asked_anew(state, row)) if asks else None
    places = waits_of(state).places
    return SliceExplanation(
        name=name,
        at_us=state.now_us,
        state=shown_state(state, row),
        since_us=shown_since_us(state, row)[shown_state(state, row)],
        shape=shape_text(row.shape),
        twisted=row.twisted,
        chips=row.chips,
        owner=row.owner,
        tier=row.tier,
        priority=row.priority,
        restarts=row.restarts,
        swaps=row.swaps,
        cubes=tuple([f"{state.fabric}/cube-{cube}" for cube in row.cubes]),
        reason=why_it_waits(state, row) if waits else row.reason or why_it_is_slow(state, row),
        queue_position=places[number] if waits else None,
        queue_length=len(places),
        start=expected_start(state, row) if waits else None,
        largest_now=None if fits is None else shape_text(fits),
        recovery_policy=recovery_text(policy_of(state, row)),
        recovery=_recovery(state, row),
        in_the_way=obstacles(state, row),
        history=(),
    )


def _asked_anew(state: SchedulerState, row: Slice) -> SliceRequested:
    """The request of a slice, as if it came now, behind all who wait. What it allows when hardware fails may
    follow from its number: it is said here, so that its new number changes nothing."""
    return SliceRequested(
        slice=slice_name(state, 1 + max([*state.slices, *state.ended])),
        owner=row.owner,
        tier=row.tier,
        shape=row.shape,
        twisted=row.twisted,
        priority=row.priority,
        duration_us=row.duration_us,
        job=row.terms,
        estimate_us=row.estimate_us,
        requested_by="operator",
        recovery=policy_of(state, row),
    )


def _recovery(state: SchedulerState, row: Slice) -> RecoveryAnswer | None:
    """What is decided, and what would be if it were decided now, in one plan with all others that were
    hit."""
    stall = state.stalls.get(row.number)
    if stall is None:
        return None
    now = next(decision for decision in _plan_for_all(state) if decision.slice == row.number)
    return RecoveryAnswer(
        part=stall.part,
        since_us=stall.since_us,
        lost_chip_us=row.chips * stall.lost_us,
        choice=stall.choice,
        cheapest_now=now.choice,
        decides_us=stall.due_us,
        costs_chip_us=RecoveryCosts(**now.costs),
    )


def _plan_for_all(state: SchedulerState) -> tuple[Decision, ...]:
    """The plan as of now, with those on whom it is not decided yet."""
    hits = [hit_of(state, state.slices[number], stall) for number, stall in state.stalls.items()]
    return recovery_plan(hits, len(occupancy_of(state).idle), len(state.hot), delays(state))
