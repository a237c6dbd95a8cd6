"""Slice requests, releases, and checkpoints that jobs write before they leave.

Requests and releases are idempotent: known slices are not admitted again, and ended slices are not released
again.
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
from services.scheduler.state import SchedulerState, deferred_slices, enqueue, queue_of
from services.scheduler.structures.slice_record import Slice
from services.scheduler.structures.waiting_lines import FILLER, TIERS
from shared.basics.errors import InvalidInput
from shared.engine.service import Output
from shared.models.superpod.shapes import chips_of, cubes_of, several_pods_hint, shape_text


def on_slice_requested(state: SchedulerState, body: SliceRequested, message: Envelope) -> list[Output]:
    """Place the slice if it fits, else queue it. Refuse it if it can never fit, or if its owner has too many
    waiting slices."""
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
        phase="queued",
        changed_us=state.now_us,
        duration_us=body.duration_us,
        estimate_us=body.estimate_us,
        terms=body.job,
        recovery=body.recovery,
    )
    row, emitted = add_member(state, row, body.multislice)
    try:
        state.placement.check(body.shape, body.twisted, state.cubes)
        _check_reserve(state, row)
    except InvalidInput as error:
        return [*emitted, *refuse(state, row, f"{error}{several_pods_hint(body.shape, state.cubes)}")]
    _enqueue_new(state, row)
    emitted += place_filler(state) if row.tier == TIERS[FILLER] and is_settled(state) else cycle(state)
    row = state.slices[number]
    waiting, limit = _waiting_count(state, row.owner), _queue_max(state, body)
    if row.state == "queued" and row.claim is None and waiting > limit:
        withdraw(state, row)
        queued = f"{waiting - 1} of at most {limit} slices in the queue"
        reason = f"{row.owner} already has {queued} (scheduler.queue_max)"
        emitted += refuse(state, row, reason) + cycle(state)
    return emitted


def _check_reserve(state: SchedulerState, row: Slice) -> None:
    """Raise InvalidInput if the slice needs cubes that are always kept in reserve."""
    cubes, limit = cubes_of(row.shape), most_cubes(state, row.tier)
    if cubes > limit:
        raise InvalidInput(
            f"shape: {shape_text(row.shape)} needs {cubes} cubes; must be at most {limit} of {state.cubes}, "
            "because the rest is reserved (scheduler.hold_back, scheduler.hot_spares)"
        )


def _waiting_count(state: SchedulerState, owner: str) -> int:
    """The number of waiting slices of an owner that have no claim."""
    waiting = queue_of(state).waiting(owner)
    return waiting + sum([row.owner == owner for row in deferred_slices(state)])


def _queue_max(state: SchedulerState, body: SliceRequested) -> int:
    """How many slices of an owner may wait. A recorded trace may queue all its rows at once; its length is
    limited by TRACE_ROWS_MAX."""
    return TRACE_ROWS_MAX if body.requested_by == "trace" else state.config.queue_max


def on_slice_released(state: SchedulerState, body: SliceReleased, _message: Envelope) -> list[Output]:
    """End the slice and place waiting slices on its cubes."""
    row = state.slices.get(number_of(body.slice))
    if row is None:
        return []
    return complete(state, row, body.reason) + cycle(state)


def complete(state: SchedulerState, row: Slice, reason: Literal["finished", "operator"]) -> list[Output]:
    """End a slice that its owner no longer needs, whether it waits or runs."""
    emitted: list[Output] = []
    if row.state == "queued":
        withdraw(state, row)
    else:
        row, bodies = vacate(state, row)
        emitted += bodies
    if row.state == "queued" and not row.restarts:
        return emitted + refuse(state, row, f"withdrawn before it started ({reason})")
    parted = end_slice(state, row, "finished" if reason == "finished" else "released", reason)
    return [*emitted, SliceCompleted(slice=slice_name(state, row.number), reason=reason), *parted]


def on_job_checkpointed(state: SchedulerState, body: JobCheckpointed, _message: Envelope) -> list[Output]:
    """Release the cubes of a slice that has written its checkpoint after a notice to leave."""
    number = number_of(body.slice)
    row = state.slices.get(number)
    if row is None or row.notice is None:
        return []
    leaves = leave_preempted if row.notice.why == "preempted" else finish_move
    return leaves(state, number) + cycle(state)


def _enqueue_new(state: SchedulerState, row: Slice) -> None:
    enqueue(state, row)
    state.queued += 1
    store_slice(state, row)
    state.changed_documents.add(("summaries", f"{state.fabric}/scheduler"))
