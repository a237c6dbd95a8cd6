"""Explains the state of a slice, from the functions that decide."""

from schemas.api.explain import RecoveryStatus, SliceExplanation
from schemas.messages.scheduler import RecoveryCosts
from schemas.messages.workload import SliceRequested
from schemas.names import number_of
from schemas.recovery_policy import format_recovery_policy
from services.scheduler.explain.dry_run import largest_now
from services.scheduler.explain.obstacles import obstacles
from services.scheduler.explain.start_estimate import expected_start
from services.scheduler.explain.wait_reasons import wait_reason, wait_summary_of
from services.scheduler.lifecycle import slice_name
from services.scheduler.multislice.slice_status import displayed_since_us, displayed_state, slow_reason
from services.scheduler.recovery.recovery_inputs import recovery_delays, recovery_input_of
from services.scheduler.recovery.recovery_plan import RecoveryDecision, recovery_plan
from services.scheduler.state import SchedulerState, occupancy_of, policy_of, slices_in
from services.scheduler.structures.slice_record import Slice
from shared.models.superpod.shapes import shape_text


def explain_slice(state: SchedulerState, name: str) -> SliceExplanation | None:
    """The explanation of a slice at `state.now_us`; None if the slice is unknown or forgotten."""
    number = number_of(name)
    row = state.slices.get(number) or state.ended.get(number)
    if row is None:
        return None
    waits = row.state == "queued"
    has_request = waits or row.state == "refused"
    largest = largest_now(state, _new_request(state, row)) if has_request else None
    places = wait_summary_of(state).places
    return SliceExplanation(
        name=name,
        at_us=state.now_us,
        state=displayed_state(row),
        since_us=displayed_since_us(row)[displayed_state(row)],
        shape=shape_text(row.shape),
        twisted=row.twisted,
        chips=row.chips,
        owner=row.owner,
        tier=row.tier,
        priority=row.priority,
        restarts=row.restarts,
        swaps=row.swaps,
        cubes=tuple([f"{state.fabric}/cube-{cube}" for cube in row.cubes]),
        reason=wait_reason(state, row) if waits else row.reason or slow_reason(state, row),
        queue_position=places[number] if waits else None,
        queue_length=len(places),
        start=expected_start(state, row) if waits else None,
        largest_now=None if largest is None else shape_text(largest),
        recovery_policy=format_recovery_policy(policy_of(state, row)),
        recovery=_recovery(state, row),
        obstacles=obstacles(state, row),
        history=(),
    )


def _new_request(state: SchedulerState, row: Slice) -> SliceRequested:
    """The request of a slice, as if it came now, behind all waiting slices. It states the recovery policy,
    which may follow from the slice's number, so that the new number changes nothing."""
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


def _recovery(state: SchedulerState, row: Slice) -> RecoveryStatus | None:
    """The recovery decided so far, and the cheapest one now, in one plan with all other
    interrupted slices."""
    interruption = row.interruption
    if interruption is None:
        return None
    now = next(decision for decision in _plan_for_all(state) if decision.slice == row.number)
    return RecoveryStatus(
        part=interruption.part,
        since_us=interruption.since_us,
        lost_chip_us=row.chips * interruption.lost_us,
        choice=interruption.choice,
        cheapest_now=now.choice,
        decides_us=interruption.due_us,
        costs_chip_us=RecoveryCosts(**now.costs),
    )


def _plan_for_all(state: SchedulerState) -> tuple[RecoveryDecision, ...]:
    """The current plan, including slices whose decision is not due yet."""
    hits = [
        recovery_input_of(state, row, row.interruption)
        for row in slices_in(state, "recovering")
        if row.interruption is not None
    ]
    return recovery_plan(hits, len(occupancy_of(state).idle), len(state.warm_cubes), recovery_delays(state))
