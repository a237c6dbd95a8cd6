"""Requests and releases, and jobs that have kept what they did before they leave.

Both are idempotent: a slice that is known already is not requested again, and one that has ended is not
released again.
"""

from typing import Literal

from schemas.envelope import Envelope
from schemas.limits import TRACE_ROWS_MAX
from schemas.messages.jobs import JobCheckpointed
from schemas.messages.scheduler import SliceCompleted
from schemas.messages.workload import SliceReleased, SliceRequested
from schemas.names import number_of
from services.scheduler.cycle import cycle, is_settled, place_filler
from services.scheduler.lifecycle import end_slice, refuse, slice_name, store_slice, vacate, withdraw
from services.scheduler.multislice.gang_hold import add_member
from services.scheduler.placement.holdback import most_cubes
from services.scheduler.recovery.drain_moves import finish_move
from services.scheduler.recovery.preemption_notices import leave_preempted
from services.scheduler.state import SchedulerState, Slice, deferred_slices, enqueue, queue_of
from services.scheduler.structures.waiting_lines import FILLER, TIERS
from shared.basics.errors import InvalidInput
from shared.engine.service import Output
from shared.models.superpod.shapes import chips_of, cubes_of, several_pods_hint, shape_text


def on_slice_requested(state: SchedulerState, body: SliceRequested, message: Envelope) -> list[Output]:
    """Place the slice if it fits, let it wait if not; refuse it if it never can, or if too many of its owner
    wait."""
    number = number_of(body.slice)
    if number in state.slices or number in state.ended:
        return []
    row = Slice(
        number=number,
        owner=body.owner,
        tier=body.tier,
        shape=body.shape,
        twisted=body.twisted,
        chips=chips_of(body.shape),
        priority=body.priority,
        request=message.id,
        requested_us=state.now_us,
        state="queued",
        changed_us=state.now_us,
        duration_us=body.duration_us,
        estimate_us=body.estimate_us,
        terms=body.job,
        recovery=body.recovery,
    )
    emitted = add_member(state, row, body.multislice)
    try:
        state.placement.check(body.shape, body.twisted, state.cubes)
        _check_reserve(state, row)
    except InvalidInput as refusal:
        return [*emitted, *refuse(state, row, f"{refusal}{several_pods_hint(body.shape, state.cubes)}")]
    _wait(state, row)
    emitted += place_filler(state) if row.tier == TIERS[FILLER] and is_settled(state) else cycle(state)
    row = state.slices[number]
    waiting, most = _waiting(state, row.owner), _queue_max(state, body)
    if row.state == "queued" and number not in state.claims and waiting > most:
        withdraw(state, row)
        reason = f"{waiting - 1} slices of {row.owner} wait, of {most} that may (scheduler.queue_max)"
        emitted += refuse(state, row, reason) + cycle(state)
    return emitted


def _check_reserve(state: SchedulerState, row: Slice) -> None:
    """InvalidInput for a slice that would wait for ever for cubes that are kept in reserve."""
    cubes, most = cubes_of(row.shape), most_cubes(state, row.tier)
    if cubes > most:
        raise InvalidInput(
            f"shape {shape_text(row.shape)}: it takes {cubes} cubes, and of {state.cubes} at most {most} are "
            "to be had beside those in reserve (scheduler.hold_back, scheduler.hot_spares)"
        )


def _waiting(state: SchedulerState, owner: str) -> int:
    """How many slices of an owner wait without a claim."""
    waiting = queue_of(state).waiting(owner)
    return waiting + sum([row.owner == owner for row in deferred_slices(state)])


def _queue_max(state: SchedulerState, body: SliceRequested) -> int:
    """How many slices of an owner may wait. A recorded trace may do so as a whole: it is never longer than
    what a log may hold."""
    return TRACE_ROWS_MAX if body.requested_by == "trace" else state.config.queue_max


def on_slice_released(state: SchedulerState, body: SliceReleased, _message: Envelope) -> list[Output]:
    """Its owner is done with the slice: take its circuits away, and see who can use its cubes."""
    row = state.slices.get(number_of(body.slice))
    if row is None:
        return []
    return complete(state, row, body.reason) + cycle(state)


def complete(state: SchedulerState, row: Slice, reason: Literal["finished", "operator"]) -> list[Output]:
    """Its owner is done with a slice, wherever it is."""
    emitted: list[Output] = []
    if row.state == "queued":
        withdraw(state, row)
    else:
        emitted += vacate(state, row)
    if row.state == "queued" and not row.restarts:
        return emitted + refuse(state, row, f"withdrawn while it waited ({reason})")
    parted = end_slice(state, row, "finished" if reason == "finished" else "released", reason)
    return [*emitted, SliceCompleted(slice=slice_name(state, row.number), reason=reason), *parted]


def on_job_checkpointed(state: SchedulerState, body: JobCheckpointed, _message: Envelope) -> list[Output]:
    """A job that was told to leave has kept what it did: its slice leaves at once."""
    number = number_of(body.slice)
    notice = state.notices.get(number)
    if notice is None:
        return []
    leaves = leave_preempted if notice.why == "preempted" else finish_move
    return leaves(state, number) + cycle(state)


def _wait(state: SchedulerState, row: Slice) -> None:
    enqueue(state, row)
    state.queued += 1
    store_slice(state, row)
    state.changed_documents.add(("summaries", f"{state.fabric}/scheduler"))
