"""Events of a slice's links: circuits made, refused or trained, preflights, and links that change.

A link that goes down ends the step of every job whose traffic it carries. A degraded link still carries
traffic.
"""

from collections.abc import Iterable

from schemas.envelope import Envelope
from schemas.messages.ocs import CircuitsConnected, CircuitsRefused, OcsDown, OcsFreed, OcsHeld, OcsUp
from schemas.messages.repairs import RepairCompleted
from schemas.messages.scheduler import DisconnectCircuits, SchedulerBody, SliceEvicted, SliceRestored
from schemas.messages.transceivers import LinksChanged, LinksTrained
from schemas.names import number_of
from services.scheduler.cycle import cycle
from services.scheduler.lifecycle import (
    degraded_message,
    end_slice,
    is_single_pod,
    needs_preflight,
    release_cubes,
    report_condition,
    slice_name,
    store_slice,
)
from services.scheduler.placement.cube_ranking import on_repair_closed
from services.scheduler.placement.degraded_speed import failed_part, slice_speed
from services.scheduler.queue.preflight_backoff import after_failed_preflight
from services.scheduler.queue.start_pause import after_failed_attempt, shorten_start_pause
from services.scheduler.recovery.recovery import decision_time_us, interrupt
from services.scheduler.state import (
    SchedulerState,
    occupancy_of,
    put_slice,
    record_link_end,
    slices_in,
    starts_pause,
)
from services.scheduler.structures.link_faults import LinkCondition
from services.scheduler.structures.slice_record import Slice, condition_of
from shared.basics.fast_replace import replace
from shared.engine.service import Output
from shared.models.jobs.job_progress import slowed

Changes = dict[int, tuple[int, int]]
"""Slice number → change in its (down, degraded) link ends."""


def on_circuits_connected(state: SchedulerState, body: CircuitsConnected, _message: Envelope) -> list[Output]:
    """Record the joins that are made. Missing circuits stay wanted and show up as links that are down."""
    number = number_of(body.slice)
    row = state.slices.get(number)
    if row is not None and row.pending_joins:
        made = frozenset(body.joins)
        pending_joins = tuple([join for join in row.pending_joins if join not in made])
        put_slice(state, replace(row, pending_joins=pending_joins))
    return []


def on_links_trained(state: SchedulerState, body: LinksTrained, message: Envelope) -> list[Output]:
    """Start a preflight when the last circuits are made and trained. Then the slice starts, or continues
    after a swap."""
    number = number_of(body.slice)
    row = state.slices.get(number)
    if row is None:
        return []
    changes: Changes = {}
    if body.down or body.degraded:
        _record_condition(state, body.down, "down", changes, number)
        _record_condition(state, body.degraded, "degraded", changes, number)
    down, degraded_by = changes.get(number, (0, 0))
    if row.pending_joins != ():
        return _with_recovery(state, _update_slice(state, number, down, degraded_by, message.id))
    row = _with_link_changes(replace(row, pending_joins=None), down, degraded_by)
    if row.interruption is not None or needs_preflight(state, row):
        return report_condition(state, row)
    return _finish_preflight(state, row, message.id) + cycle(state)


def preflights_end_us(state: SchedulerState) -> int | None:
    ends_us = [row.preflight_until_us for row in slices_in(state, "preflight")]
    return min([until_us for until_us in ends_us if until_us is not None], default=None)


def end_preflights(state: SchedulerState) -> list[Output]:
    """Start or continue the slices whose preflight is over, unless one of their links failed it."""
    emitted: list[Output] = []
    for started in slices_in(state, "preflight"):
        row = state.slices.get(started.number)
        # The start of a slice before it in this loop may have moved it to other cubes.
        if row is not None and row.preflight_until_us is not None and row.preflight_until_us <= state.now_us:
            row = replace(row, preflight_until_us=None, links_checked=True)
            emitted += _finish_preflight(state, row, row.request)
    return emitted


def _finish_preflight(state: SchedulerState, row: Slice, cause: str) -> list[Output]:
    """Start the slice, or let recovery decide at once if one of its links is down."""
    if not row.links_down or state.placement.links_are_fixed:
        was_paused = starts_pause(state)
        emitted = report_condition(state, row)
        return emitted + cycle(state) if was_paused and not starts_pause(state) else emitted
    paused = after_failed_attempt(state, row)
    row = after_failed_preflight(state, row)
    put_slice(state, row)
    hit = interrupt(state, row, failed_part(state, row), cause, state.now_us)
    return [*paused, *hit, *cycle(state)]


def on_ocs_down(state: SchedulerState, body: OcsDown | OcsHeld, _message: Envelope) -> list[Output]:
    """Record that all links through this OCS will be down. The same links of every cube fail, so other cubes
    do not help."""
    state.ocs_down.setdefault(body.ocs, state.now_us)
    state.ocs_down_causes[body.ocs] = state.ocs_down_causes.get(body.ocs, 0) + 1
    return _rebuild_queue(state)


def on_ocs_up(state: SchedulerState, body: OcsUp | OcsFreed, _message: Envelope) -> list[Output]:
    """Put the slices that waited for the OCS back in line, unless it is still held or down."""
    remaining = state.ocs_down_causes.pop(body.ocs, 1) - 1
    if remaining:
        state.ocs_down_causes[body.ocs] = remaining
        return []
    state.ocs_down.pop(body.ocs, None)
    return [*shorten_start_pause(state), *_rebuild_queue(state)]


def _rebuild_queue(state: SchedulerState) -> list[Output]:
    """Rebuild the queue: whether a slice is deferred depends on which OCSes are down."""
    state.queue = None
    return cycle(state)


def on_repair_completed(state: SchedulerState, body: RepairCompleted, message: Envelope) -> list[Output]:
    """Rank the cube as usual again, and shorten a pause of starts: the repair may have been the cause."""
    return [*on_repair_closed(state, body, message), *shorten_start_pause(state)]


def on_links_changed(state: SchedulerState, body: LinksChanged, message: Envelope) -> list[Output]:
    """Update every slice whose link ends changed, and make one plan for all slices that lost a link."""
    changes: Changes = {}
    _record_condition(state, body.up, None, changes)
    _record_condition(state, body.down, "down", changes)
    _record_condition(state, body.degraded, "degraded", changes)
    emitted = [
        emitted
        for number in sorted(changes)
        for emitted in _update_slice(state, number, *changes[number], message.id)
    ]
    return _with_recovery(state, emitted)


def _with_recovery(state: SchedulerState, emitted: list[Output]) -> list[Output]:
    """The emitted messages, with those of a cycle if any slice is interrupted."""
    return emitted + cycle(state) if slices_in(state, "recovering") else emitted


def _update_slice(
    state: SchedulerState, number: int, down: int, degraded_by: int, cause: str
) -> list[Output]:
    """Add to the down and degraded link ends of a slice, and emit its new condition if that changed. A
    running slice that loses a link is interrupted."""
    if not down and not degraded_by:
        return []
    row = _with_link_changes(state.slices[number], down, degraded_by)
    if condition_of(row) not in ("running", "degraded"):
        store_slice(state, replace(row, changed_us=state.now_us))
        return []
    if down > 0:
        put_slice(state, row)
        return interrupt(state, row, failed_part(state, row), cause, decision_time_us(state))
    row = replace(row, speed_ppm=slice_speed(state, row))
    if row.progress is not None and is_single_pod(row):
        row = replace(row, progress=slowed(row.progress, state.now_us, row.speed_ppm))
    condition = condition_of(row)
    store_slice(state, replace(row, phase=condition, changed_us=state.now_us))
    if condition == "degraded":
        return [degraded_message(state, row)]
    return [SliceRestored(slice=slice_name(state, number))]


def on_circuits_refused(state: SchedulerState, body: CircuitsRefused, _message: Envelope) -> list[Output]:
    """Evict the slice with the reason of the OCSes: they refused its circuits, so it cannot run."""
    row = state.slices.get(number_of(body.slice))
    if row is None or not row.cubes:
        return []
    bodies: list[SchedulerBody] = [*_disconnect_refused(state, row)]
    row = release_cubes(state, row)
    reason = f"{state.fabric}/ocs-{body.ocs}/{body.port}: {body.reason}"
    parted = end_slice(state, row, "evicted", reason)
    bodies += [SliceEvicted(slice=slice_name(state, row.number), reason=reason), *parted]
    return [*bodies, *cycle(state)]


def _disconnect_refused(state: SchedulerState, row: Slice) -> list[DisconnectCircuits]:
    """Disconnect the circuits of a slice after one of its commands was refused.

    The OCSes hold the confirmed joins. They hold none of the pending joins if there was only one command.
    After a swap there may have been several commands, so each pending join is disconnected separately; the
    OCSes refuse the ones that they do not hold, without harm.
    """
    name = slice_name(state, row.number)
    pending_joins = row.pending_joins or ()
    joins = state.placement.joins(row.shape, row.twisted, row.cubes)
    confirmed = tuple([join for join in joins if join not in pending_joins])
    emitted = [DisconnectCircuits(slice=name, joins=confirmed)] if confirmed else []
    if row.swaps:
        emitted += [DisconnectCircuits(slice=name, joins=(join,)) for join in pending_joins]
    return emitted


def _record_condition(
    state: SchedulerState,
    ends: Iterable[int],
    condition: LinkCondition | None,
    changes: Changes,
    only: int | None = None,
) -> None:
    """Record the condition of link ends (None: up), and add to the changes of their slices, or of slice
    `only`.

    If links are lit only for slices, link ends of no slice are ignored.
    """
    occupancy, placement = occupancy_of(state), state.placement
    for end in ends:
        number = placement.slice_at(occupancy, end)
        if only not in (None, number) or (number is None and not placement.links_are_fixed):
            continue
        before = state.bad_ends.get(end)
        record_link_end(state, end, condition)
        if number is None:
            continue
        down, degraded_by = changes.get(number, (0, 0))
        changes[number] = (
            down + (condition == "down") - (before == "down"),
            degraded_by + (condition == "degraded") - (before == "degraded"),
        )


def _with_link_changes(row: Slice, down: int, degraded_by: int) -> Slice:
    return replace(row, links_down=row.links_down + down, links_degraded=row.links_degraded + degraded_by)
