"""When a waiting slice is expected to have its cubes, and how sure that is."""

from collections.abc import Iterable

from schemas.api.explain import ExpectedStart
from services.scheduler.explain.wait_reasons import queue_order_reason, wait_summary_of
from services.scheduler.lifecycle import slice_name
from services.scheduler.multislice.slice_status import pods_wait_reason
from services.scheduler.queue.backfill import conservative_starts
from services.scheduler.queue.order import fair_share_order
from services.scheduler.queue.preemption import preemptable_by, strength_of
from services.scheduler.recovery.recovery_plan import expected_left_us
from services.scheduler.state import SchedulerState, Slice, in_preflight_backoff, placed_slices, waits_for_ocs
from services.scheduler.structures.timeline import FOREVER
from shared.basics.time_format import format_time

ESTIMATE_DEPTH = 500
"""How far down the queue the plan reaches from which starts are estimated."""


def expected_start(state: SchedulerState, row: Slice) -> ExpectedStart:
    """When a slice that waits is expected to have its cubes: by its claim, its promise or the conservative
    plan."""
    for_pods = pods_wait_reason(state, row)
    if for_pods is not None:
        return _unknown(f"no pod knows when another has cubes: {for_pods}")
    if row.number in state.claims:
        return _by_claim(state, row)
    if waits_for_ocs(state, row):
        return _by_repair(state)
    if in_preflight_backoff(state, row):
        return _unknown("its preflights failed: nobody knows whether the next one will pass")
    if row.tier == "filler":
        return _unknown("filler is promised nothing: it takes what nobody else wants")
    if row.number in state.promises:
        return _by_promise(state, row)
    return _by_plan(state, row)


def _unknown(reason: str) -> ExpectedStart:
    return ExpectedStart(at_us=None, basis="unknown", reason=reason, depends_on=())


def _by_claim(state: SchedulerState, row: Slice) -> ExpectedStart:
    claim = state.claims[row.number]
    leaving = [number for number in claim.victims if number in state.notices]
    return ExpectedStart(
        at_us=max(claim.until_us, state.now_us),
        basis="claim",
        reason="its cubes are kept for it; who is on them has until then to write a checkpoint, and goes "
        "sooner if that is done",
        depends_on=tuple([slice_name(state, number) for number in leaving]),
    )


def _by_repair(state: SchedulerState) -> ExpectedStart:
    """When the last OCS that is down is expected back; what it waits for then is not known yet."""
    mean_us = state.expected_durations.ocs_repair_us
    left_us = [expected_left_us(mean_us, state.now_us - since_us) for since_us in state.ocs_down.values()]
    reason = (
        "an estimate: when the OCSes that are down are expected back, by the mean time of a repair; it takes "
        "its place in line then"
    )
    return ExpectedStart(at_us=state.now_us + max(left_us), basis="estimate", reason=reason, depends_on=())


def _by_promise(state: SchedulerState, row: Slice) -> ExpectedStart:
    at_us = state.promises[row.number]
    depends_on = _ends_before(state, at_us)
    reason = (
        f"promised: by the estimates of {_slices(len(depends_on))}, which may be wrong, if nothing breaks"
    )
    if preemptable_by(state, row if row.number == wait_summary_of(state).first else None):
        reason += f"; those whom it makes leave then have {state.config.grace_s} s for that"
    reason += _stronger(state, row, at_us)
    return ExpectedStart(at_us=at_us, basis="promise", reason=reason, depends_on=depends_on)


def _stronger(state: SchedulerState, row: Slice, before_us: int) -> str:
    """From when on the first in line may make research leave, if that is sooner than what it knows of."""
    if row.number != wait_summary_of(state).first:
        return ""
    grows = strength_of(state, row, placed_slices(state)).grows
    if grows is None or grows[0] >= before_us:
        return ""
    return f"; from {format_time(grows[0])} on it may make research leave"


def _by_plan(state: SchedulerState, row: Slice) -> ExpectedStart:
    """Nothing binds anybody to this: who comes later may be before it, and ends may be earlier or later."""
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
            return _unknown(f"{promised}, and nobody plans further than {ESTIMATE_DEPTH} slices ahead")
        reason = f"nobody knows when enough cubes come free{_endless(state, row, starts)}"
        if row.number == wait_summary_of(state).first:
            return _unknown(reason + _stronger(state, row, FOREVER))
        return _unknown(f"{reason} ({promised})")
    if policy == "none":  # nobody passes, so nobody starts before those before it
        at_us = max(starts.values())
    if at_us <= state.now_us:  # what the first in line takes from research is not in the plan
        return _unknown(
            f"there are cubes for it now, but {queue_order_reason(state, wait_summary_of(state))}"
        )
    depends_on = _ends_before(state, at_us)
    reason = (
        f"an estimate: {promised} (scheduler.backfill {policy}); this is the conservative plan over the "
        f"{len(starts) - 1} before it, by the estimates of {_slices(len(depends_on))}, which may be wrong"
    )
    return ExpectedStart(at_us=at_us, basis="estimate", reason=reason, depends_on=depends_on)


def _endless(state: SchedulerState, row: Slice, before: Iterable[int]) -> str:
    """Which cubes come free nobody knows when: those of slices without an estimate that it may not make
    leave, those that such slices before it in line will have, and those that are out of use."""
    yielding = preemptable_by(state, row if row.number == wait_summary_of(state).first else None)
    holders = len(
        [held for held in placed_slices(state) if held.ends_us is None and held.number not in yielding]
    )
    ahead = len([number for number in before if state.slices[number].estimate_us is None])
    out = len(state.unhealthy.keys() | state.drained.keys())
    found = [
        f"{_slices(holders)} without an estimate {'has' if holders == 1 else 'have'} cubes"
        if holders
        else "",
        f"{_slices(ahead)} before it in line {'has' if ahead == 1 else 'have'} no estimate" if ahead else "",
        f"{out} cube{' is' if out == 1 else 's are'} out of order or drained" if out else "",
    ]
    texts = " and ".join([part for part in found if part])
    return f": {texts}" if texts else ""


def _ends_before(state: SchedulerState, at_us: int) -> tuple[str, ...]:
    """The slices on cubes that end by then by their estimates, the first one first."""
    ends = [
        (row.ends_us, row.number)
        for row in placed_slices(state)
        if row.ends_us is not None and row.ends_us <= at_us and row.tier != "filler"
    ]
    return tuple([slice_name(state, number) for _, number in sorted(ends)])


def _slices(count: int) -> str:
    return f"{count} slice{'' if count == 1 else 's'}"
