"""What becomes of the circuits a slice was promised: made, trained, checked, better, worse, or refused.

A link that goes down ends the step of every job whose traffic it carries. One that is degraded carries it
still.
"""

from collections.abc import Iterable
from typing import Literal

from schemas.envelope import Envelope
from schemas.messages.ocs import CircuitsConnected, CircuitsRefused, OcsDown, OcsFreed, OcsHeld, OcsUp
from schemas.messages.scheduler import DisconnectCircuits, SchedulerBody, SliceEvicted, SliceRestored
from schemas.messages.transceivers import LinksChanged, LinksTrained
from schemas.names import number_of
from services.scheduler.cycle import cycle
from services.scheduler.lifecycle import (
    condition_of,
    degraded_message,
    end_slice,
    is_single_pod,
    needs_preflight,
    release_cubes,
    report_condition,
    slice_name,
    store_slice,
)
from services.scheduler.placement.degraded_speed import failed_part, slice_speed
from services.scheduler.queue.preflight_backoff import record_failed_preflight
from services.scheduler.recovery.recovery import decision_time_us, interrupt
from services.scheduler.state import SchedulerState, Slice, occupancy_of
from shared.basics.fast_replace import replace
from shared.engine.service import Output
from shared.models.jobs.progress import slowed

Condition = Literal["down", "degraded"]
Changes = dict[int, tuple[int, int]]
"""Slice number → change of its (down, degraded) link ends."""


def on_circuits_connected(state: SchedulerState, body: CircuitsConnected, _message: Envelope) -> list[Output]:
    """The mirrors have settled; what is missing stays wanted and shows as links that are down."""
    number = number_of(body.slice)
    pending_joins = state.pending_joins.get(number)
    if pending_joins:
        made = frozenset(body.joins)
        state.pending_joins[number] = tuple([join for join in pending_joins if join not in made])
    return []


def on_links_trained(state: SchedulerState, body: LinksTrained, message: Envelope) -> list[Output]:
    """When the last circuits are made and trained, they are checked; then the slice starts, or goes on after
    a swap."""
    number = number_of(body.slice)
    row = state.slices.get(number)
    if row is None:
        return []
    changes: Changes = {}
    if body.down or body.degraded:
        _mark(state, body.down, "down", changes, number)
        _mark(state, body.degraded, "degraded", changes, number)
    down, degraded_by = changes.get(number, (0, 0))
    if state.pending_joins.get(number) != ():
        return _planned(state, _tell(state, number, down, degraded_by, message.id))
    del state.pending_joins[number]
    row = _counted(row, down, degraded_by) if changes else row
    if number in state.interruptions or needs_preflight(state, row):
        return report_condition(state, row)
    return _checked(state, row, message.id) + cycle(state)


def preflights_end_us(state: SchedulerState) -> int | None:
    return min(state.preflights.values(), default=None)


def end_preflights(state: SchedulerState) -> list[Output]:
    """Those whose check is over start, or go on, unless a link of theirs failed it."""
    over = [number for number in sorted(state.preflights) if state.preflights[number] <= state.now_us]
    emitted: list[Output] = []
    for number in over:
        del state.preflights[number]
        row = replace(state.slices[number], links_checked=True)
        emitted += _checked(state, row, row.request)
    return emitted


def _checked(state: SchedulerState, row: Slice, cause: str) -> list[Output]:
    """A link that is down goes through the plan at once, as any other fault; else the slice starts."""
    if not row.links_down or state.placement.links_are_fixed:
        return report_condition(state, row)
    state.slices[row.number] = row
    record_failed_preflight(state, row)
    return interrupt(state, row, failed_part(state, row), cause, state.now_us) + cycle(state)


def on_ocs_down(state: SchedulerState, body: OcsDown | OcsHeld, _message: Envelope) -> list[Output]:
    """All links that are to be made through it will be down, of every cube the same: no other cube helps
    against that."""
    state.ocs_down.setdefault(body.ocs, state.now_us)
    state.ocs_down_causes[body.ocs] = state.ocs_down_causes.get(body.ocs, 0) + 1
    return _queued_anew(state)


def on_ocs_up(state: SchedulerState, body: OcsUp | OcsFreed, _message: Envelope) -> list[Output]:
    """Who waited outside of the lines for it takes its place there, unless it was both down and held."""
    left = state.ocs_down_causes.pop(body.ocs, 1) - 1
    if left:
        state.ocs_down_causes[body.ocs] = left
        return []
    state.ocs_down.pop(body.ocs, None)
    return _queued_anew(state)


def _queued_anew(state: SchedulerState) -> list[Output]:
    """Whom an OCS keeps waiting is in line or not by which of them are down."""
    state.queue = None
    return cycle(state)


def on_links_changed(state: SchedulerState, body: LinksChanged, message: Envelope) -> list[Output]:
    """Tell every slice whose link ends changed, unless it is not running anyway; one plan for all that lost
    a link."""
    changes: Changes = {}
    _mark(state, body.up, None, changes)
    _mark(state, body.down, "down", changes)
    _mark(state, body.degraded, "degraded", changes)
    emitted = [
        emitted
        for number in sorted(changes)
        for emitted in _tell(state, number, *changes[number], message.id)
    ]
    return _planned(state, emitted)


def _planned(state: SchedulerState, emitted: list[Output]) -> list[Output]:
    """What is said, and what is decided of those that were hit."""
    return emitted + cycle(state) if state.interruptions else emitted


def _tell(state: SchedulerState, number: int, down: int, degraded_by: int, cause: str) -> list[Output]:
    """Note how many link ends more a slice has down and degraded, and say how it stands if that changed. What
    runs and loses a link does not run on."""
    if not down and not degraded_by:
        return []
    row = _counted(state.slices[number], down, degraded_by)
    if condition_of(state, row) not in ("running", "degraded"):
        store_slice(state, replace(row, changed_us=state.now_us))
        return []
    if down > 0:
        state.slices[number] = row
        return interrupt(state, row, failed_part(state, row), cause, decision_time_us(state))
    row = replace(row, speed_ppm=slice_speed(state, row))
    if row.progress is not None and is_single_pod(state, row):
        row = replace(row, progress=slowed(row.progress, state.now_us, row.speed_ppm))
    condition = condition_of(state, row)
    store_slice(state, replace(row, state=condition, changed_us=state.now_us))
    if condition == "degraded":
        return [degraded_message(state, row)]
    return [SliceRestored(slice=slice_name(state, number))]


def on_circuits_refused(state: SchedulerState, body: CircuitsRefused, _message: Envelope) -> list[Output]:
    """The OCSes will not do what was asked: the slice cannot run, so it is evicted with their reason."""
    row = state.slices.get(number_of(body.slice))
    if row is None or not row.cubes:
        return []
    bodies: list[SchedulerBody] = [*_take_back(state, row)]
    release_cubes(state, row)
    reason = f"{state.fabric}/ocs-{body.ocs}/{body.port}: {body.reason}"
    parted = end_slice(state, row, "evicted", reason)
    bodies += [SliceEvicted(slice=slice_name(state, row.number), reason=reason), *parted]
    return [*bodies, *cycle(state)]


def _take_back(state: SchedulerState, row: Slice) -> list[DisconnectCircuits]:
    """Disconnect what the OCSes hold of a slice that one of its commands was refused for.

    Joins that were confirmed are held. Of those awaited none is, if there was but one command; after a swap
    there may have been several, so each is taken back by itself; those not held are refused, without harm.
    """
    name = slice_name(state, row.number)
    pending_joins = state.pending_joins.get(row.number, ())
    joins = state.placement.joins(row.shape, row.twisted, row.cubes)
    held = tuple([join for join in joins if join not in pending_joins])
    emitted = [DisconnectCircuits(slice=name, joins=held)] if held else []
    if row.swaps:
        emitted += [DisconnectCircuits(slice=name, joins=(join,)) for join in pending_joins]
    return emitted


def _mark(
    state: SchedulerState,
    ends: Iterable[int],
    condition: Condition | None,
    changes: Changes,
    only: int | None = None,
) -> None:
    """Note the condition of link ends (None: up), and add to the changes of the slices that they belong to,
    or of `only` one. Where links are lit only for a slice, other ends are none of ours."""
    occupancy, placement = occupancy_of(state), state.placement
    for one in ends:
        number = placement.slice_at(occupancy, one)
        if only not in (None, number) or (number is None and not placement.links_are_fixed):
            continue
        before = state.bad_ends.get(one)
        if condition is None:
            state.bad_ends.pop(one, None)
        else:
            state.bad_ends[one] = condition
        if number is None:
            continue
        down, degraded_by = changes.get(number, (0, 0))
        changes[number] = (
            down + (condition == "down") - (before == "down"),
            degraded_by + (condition == "degraded") - (before == "degraded"),
        )


def _counted(row: Slice, down: int, degraded_by: int) -> Slice:
    return replace(row, links_down=row.links_down + down, links_degraded=row.links_degraded + degraded_by)
