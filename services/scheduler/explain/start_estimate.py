"""Estimates when a waiting slice gets its cubes, and how certain that is."""

from collections.abc import Iterable

from schemas.api.explain import ExpectedStart
from services.scheduler.explain.wait_reasons import queue_order_reason, wait_summary_of
from services.scheduler.lifecycle import slice_name
from services.scheduler.multislice.slice_status import pods_wait_reason
from services.scheduler.queue.backfill import conservative_starts
from services.scheduler.queue.order import fair_share_order
from services.scheduler.queue.preemption import preemptable_by, strength_of
from services.scheduler.queue.start_pause import start_pause_text
from services.scheduler.recovery.recovery_costs import expected_left_us
from services.scheduler.state import (
    SchedulerState,
    has_notice,
    placed_slices,
    waits_for_ocs,
    waits_for_start_pause,
)
from services.scheduler.structures.slice_record import CubeClaim, Slice, in_preflight_backoff
from services.scheduler.structures.timeline import FOREVER
from shared.basics.time_format import format_time

ESTIMATE_DEPTH = 500
"""How many slices of the queue the estimate plans."""


def expected_start(state: SchedulerState, row: Slice) -> ExpectedStart:
    """When a waiting slice is expected to have its cubes: by its claim, its promise or the
    conservative plan."""
    for_pods = pods_wait_reason(state, row)
    if for_pods is not None:
        return _unknown(f"the other pods of the job have no known start: {for_pods}")
    if row.claim is not None:
        return _by_claim(state, row.claim)
    if waits_for_ocs(state, row):
        return _by_repair(state)
    if in_preflight_backoff(row):
        return _unknown("its preflights failed, and the next one may fail too")
    if waits_for_start_pause(state, row):
        return _unknown(f"the preflights of the whole pod fail: {start_pause_text(state)}")
    if row.tier == "filler":
        return _unknown("filler has no promised start: it takes cubes that no other slice wants")
    if row.number in state.promises:
        return _by_promise(state, row)
    return _by_plan(state, row)


def _unknown(reason: str) -> ExpectedStart:
    return ExpectedStart(at_us=None, basis="unknown", reason=reason, depends_on=())


def _by_claim(state: SchedulerState, claim: CubeClaim) -> ExpectedStart:
    leaving = [number for number in claim.victims if has_notice(state, number)]
    return ExpectedStart(
        at_us=max(claim.until_us, state.now_us),
        basis="claim",
        reason="its cubes are reserved; the slices on them have until then to write a checkpoint, and leave "
        "as soon as that is done",
        depends_on=tuple([slice_name(state, number) for number in leaving]),
    )


def _by_repair(state: SchedulerState) -> ExpectedStart:
    """When the last OCS that is down is expected back. What the slice waits for after that is not
    known yet."""
    mean_us = state.expected_durations.ocs_repair_us
    left_us = [expected_left_us(mean_us, state.now_us - since_us) for since_us in state.ocs_down.values()]
    reason = (
        "an estimate: when the OCSes that are down are expected back, by the mean repair time; then it takes "
        "its place in line"
    )
    return ExpectedStart(at_us=state.now_us + max(left_us), basis="estimate", reason=reason, depends_on=())


def _by_promise(state: SchedulerState, row: Slice) -> ExpectedStart:
    at_us = state.promises[row.number]
    depends_on = _ends_before(state, at_us)
    reason = f"promised, if nothing fails and the estimates of {_slices(len(depends_on))} are right"
    if preemptable_by(state, row if row.number == wait_summary_of(state).first else None):
        reason += f"; slices that it preempts then have {state.config.grace_s} s to leave"
    reason += _preemption_text(state, row, at_us)
    return ExpectedStart(at_us=at_us, basis="promise", reason=reason, depends_on=depends_on)


def _preemption_text(state: SchedulerState, row: Slice, before_us: int) -> str:
    """When the first slice in line may preempt research, if that is before `before_us`."""
    if row.number != wait_summary_of(state).first:
        return ""
    grows = strength_of(state, row, placed_slices(state)).grows
    if grows is None or grows[0] >= before_us:
        return ""
    return f"; from {format_time(grows[0])} it may preempt research"


def _by_plan(state: SchedulerState, row: Slice) -> ExpectedStart:
    """The start in the conservative plan. It is not binding: later requests may go first, and slices may end
    earlier or later."""
    policy = state.config.backfill
    promised = {
        "easy": "only the first in line has a promise",
        "conservative": "only the first 30 have a promise",
        "none": "only the first in line has a promise",
    }[policy]
    starts = conservative_starts(state, fair_share_order(state), row.number, ESTIMATE_DEPTH)
    at_us = starts.get(row.number)
    if at_us is None:
        position = wait_summary_of(state).places[row.number]
        if position > ESTIMATE_DEPTH:
            return _unknown(f"{promised}, and the plan covers only the first {ESTIMATE_DEPTH} slices in line")
        reason = f"it is unknown when enough cubes come free{_unknown_ends_text(state, row, starts)}"
        if row.number == wait_summary_of(state).first:
            return _unknown(reason + _preemption_text(state, row, FOREVER))
        return _unknown(f"{reason} ({promised})")
    if policy == "none":  # no slice passes, so none starts before the slices ahead of it
        at_us = max(starts.values())
    if at_us <= state.now_us:  # the plan ignores that the first in line preempts research
        return _unknown(f"cubes are free now, but it {queue_order_reason(state, wait_summary_of(state))}")
    depends_on = _ends_before(state, at_us)
    reason = (
        f"an estimate: {promised} (scheduler.backfill {policy}); this is the conservative plan with the "
        f"{len(starts) - 1} slices ahead, if the estimates of {_slices(len(depends_on))} are right"
    )
    return ExpectedStart(at_us=at_us, basis="estimate", reason=reason, depends_on=depends_on)


def _unknown_ends_text(state: SchedulerState, row: Slice, before: Iterable[int]) -> str:
    """Why cubes have no known end: slices without an estimate that cannot be preempted, such slices ahead in
    line, and cubes out of use."""
    yielding = preemptable_by(state, row if row.number == wait_summary_of(state).first else None)
    holders = len(
        [
            placed
            for placed in placed_slices(state)
            if placed.ends_us is None and placed.number not in yielding
        ]
    )
    ahead = len([number for number in before if state.slices[number].estimate_us is None])
    out = len(state.unhealthy.keys() | state.drained.keys())
    causes = [
        f"{_slices(holders)} without an estimate {'has' if holders == 1 else 'have'} cubes"
        if holders
        else "",
        f"{_slices(ahead)} ahead in line {'has' if ahead == 1 else 'have'} no estimate" if ahead else "",
        f"{out} cube{' is' if out == 1 else 's are'} unhealthy or drained" if out else "",
    ]
    texts = " and ".join([part for part in causes if part])
    return f": {texts}" if texts else ""


def _ends_before(state: SchedulerState, at_us: int) -> tuple[str, ...]:
    """The slices on cubes that are expected to end by then, earliest first."""
    ends = [
        (row.ends_us, row.number)
        for row in placed_slices(state)
        if row.ends_us is not None and row.ends_us <= at_us and row.tier != "filler"
    ]
    return tuple([slice_name(state, number) for _, number in sorted(ends)])


def _slices(count: int) -> str:
    return f"{count} slice{'' if count == 1 else 's'}"
