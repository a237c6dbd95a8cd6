"""Requests and releases, and which waiting slice is next.

The queue goes by (priority, highest first; number). Until the first in it has waited `backfill_patience_h`,
whatever fits may pass it; for as long again cubes are kept for it, and only meshes that find room in cubes
that are partly used anyway still pass; and so on in turn.
"""

from schemas.envelope import Envelope
from schemas.names import number_of
from schemas.scheduler import SliceCompleted
from schemas.workload import SliceReleased, SliceRequested
from services.scheduler.cycle import cycle
from services.scheduler.lifecycle import end, leave, put, refuse, slice_name
from services.scheduler.state import SchedulerState, Slice, queue_of
from shared.basics.errors import InvalidInput
from shared.engine.service import Output
from shared.models.superpod.shapes import chips_of


def on_slice_requested(state: SchedulerState, body: SliceRequested, message: Envelope) -> list[Output]:
    """Place the slice if it fits, let it wait if not; refuse it if it never can, or the queue is full."""
    row = Slice(
        number=number_of(body.slice),
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
    )
    try:
        state.placement.check(body.shape, body.twisted, state.cubes)
    except InvalidInput as refusal:
        return refuse(state, row, str(refusal))
    _wait(state, row)
    said = cycle(state)
    if state.queued > state.queue_max and state.slices[row.number].state == "queued":
        _withdraw(state, row)
        waiting, most = state.queued, state.queue_max
        said += refuse(state, row, f"queue full: {waiting} of {most} slices wait (scheduler.queue_max)")
    return said


def on_slice_released(state: SchedulerState, body: SliceReleased, _message: Envelope) -> list[Output]:
    """Its owner is done with the slice: take its circuits away, and see who can use its cubes."""
    row = state.slices.get(number_of(body.slice))
    if row is None:
        return []
    if row.state == "queued":
        _withdraw(state, row)
        said = refuse(state, row, f"withdrawn while it waited ({body.reason})")
    else:
        said = [*leave(state, row)]
        end(state, row, "completed", body.reason)
        said.append(SliceCompleted(slice=slice_name(state, row.number), reason=body.reason))
    return said + cycle(state)


def _wait(state: SchedulerState, row: Slice) -> None:
    queue_of(state).add(row.shape, row.priority, row.number)
    state.queued += 1
    put(state, row)
    state.touched.add(("summaries", f"{state.fabric}/scheduler"))


def _withdraw(state: SchedulerState, row: Slice) -> None:
    queue_of(state).remove(row.shape, row.priority, row.number)
    state.queued -= 1
