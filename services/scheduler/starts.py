"""When a waiting slice is expected to have its cubes, and how sure that is."""

from schemas.api_answers import ExpectedStart
from services.scheduler.backfill import conservative_starts
from services.scheduler.lifecycle import slice_name
from services.scheduler.order import fair_share_order
from services.scheduler.preemption import stronger_us
from services.scheduler.recovery_plan import expected_left_us
from services.scheduler.state import SchedulerState, Slice, on_cubes, waits_for_ocs
from services.scheduler.why import waits_of
from shared.basics.times import moment

ESTIMATE_DEPTH = 500
"""How far down the queue the plan reaches from which starts are estimated."""


def expected_start(state: SchedulerState, row: Slice) -> ExpectedStart:
    """When a slice that waits is expected to have its cubes: by its claim, its promise or the conservative
    plan."""
    if row.number in state.claims:
        return _by_claim(state, row)
    if waits_for_ocs(state, row):
        return _by_repair(state)
    if row.tier == "filler":
        return _unknown("filler is promised nothing: it takes what nobody else wants")
    if row.number in state.promises:
        return _by_promise(state, row)
    return _by_plan(state, row)


def _unknown(because: str) -> ExpectedStart:
    return ExpectedStart(at_us=None, basis="unknown", because=because, leans_on=())


def _by_claim(state: SchedulerState, row: Slice) -> ExpectedStart:
    claim = state.claims[row.number]
    leaving = [number for number in claim.victims if number in state.notices]
    return ExpectedStart(
        at_us=max(claim.until_us, state.now_us),
        basis="claim",
        because="its cubes are kept for it; who is on them has until then to write a checkpoint, and goes "
        "sooner if that is done",
        leans_on=tuple([slice_name(state, number) for number in leaving]),
    )


def _by_repair(state: SchedulerState) -> ExpectedStart:
    """When the last OCS that is down is expected back; what it waits for then is not known yet."""
    mean_us = state.spans.ocs_repair_us
    left_us = [expected_left_us(mean_us, state.now_us - since_us) for since_us in state.ocs_down.values()]
    because = (
        "an estimate: when the OCSes that are down are expected back, by the mean time of a repair; it takes "
        "its place in line then"
    )
    return ExpectedStart(at_us=state.now_us + max(left_us), basis="estimate", because=because, leans_on=())


def _by_promise(state: SchedulerState, row: Slice) -> ExpectedStart:
    at_us = state.promises[row.number]
    leans_on = _ends_before(state, at_us)
    because = f"promised: by the estimates of {_slices(len(leans_on))}, which may be wrong, if nothing breaks"
    stronger = stronger_us(state, row) if row.number == waits_of(state).first else None
    if stronger is not None and stronger < at_us:
        because += f"; from {moment(stronger)} on it may make others leave"
    return ExpectedStart(at_us=at_us, basis="promise", because=because, leans_on=leans_on)


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
        position = waits_of(state).places[row.number]
        if position > ESTIMATE_DEPTH:
            return _unknown(f"{promised}, and nobody plans further than {ESTIMATE_DEPTH} slices ahead")
        return _unknown(
            f"nobody knows when enough cubes come free: who has them has no estimate ({promised})"
        )
    leans_on = _ends_before(state, at_us)
    because = (
        f"an estimate: {promised} (scheduler.backfill {policy}); this is the conservative plan over the "
        f"{len(starts) - 1} before it, by the estimates of {_slices(len(leans_on))}, which may be wrong"
    )
    return ExpectedStart(at_us=at_us, basis="estimate", because=because, leans_on=leans_on)


def _ends_before(state: SchedulerState, at_us: int) -> tuple[str, ...]:
    """The slices on cubes that end by then by their estimates, the first one first."""
    ends = [
        (row.ends_us, row.number)
        for row in on_cubes(state)
        if row.ends_us is not None and row.ends_us <= at_us and row.tier != "filler"
    ]
    return tuple([slice_name(state, number) for _, number in sorted(ends)])


def _slices(count: int) -> str:
    return f"{count} slice{'' if count == 1 else 's'}"
