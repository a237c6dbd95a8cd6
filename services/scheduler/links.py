"""What becomes of the circuits a slice was promised: made, trained, better, worse, or refused."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from schemas.envelope import Envelope
from schemas.names import number_of
from schemas.ocs import CircuitsConnected, CircuitsRefused
from schemas.scheduler import DisconnectCircuits, SchedulerBody, SliceEvicted, SliceRestored
from schemas.transceivers import LinksChanged, LinksTrained
from services.scheduler.cycle import cycle
from services.scheduler.lifecycle import (
    condition_of,
    degraded,
    end,
    put,
    release_cubes,
    settle,
    slice_name,
)
from services.scheduler.state import SchedulerState, Slice, occupancy_of
from shared.engine.service import Output

Condition = Literal["down", "degraded"]
Changes = dict[int, tuple[int, int]]
"""Slice number → change of its (down, degraded) link ends."""


def on_circuits_connected(state: SchedulerState, body: CircuitsConnected, _message: Envelope) -> list[Output]:
    """The mirrors have settled; what is missing stays wanted and shows as links that are down."""
    number = number_of(body.slice)
    awaited = state.awaited.get(number)
    if awaited:
        made = frozenset(body.joins)
        state.awaited[number] = tuple([join for join in awaited if join not in made])
    return []


def on_links_trained(state: SchedulerState, body: LinksTrained, _message: Envelope) -> list[Output]:
    """When the last circuits are made and trained, the slice starts, or goes on after a swap."""
    number = number_of(body.slice)
    row = state.slices.get(number)
    if row is None:
        return []
    changes: Changes = {}
    if body.down or body.degraded:
        _mark(state, body.down, "down", changes, number)
        _mark(state, body.degraded, "degraded", changes, number)
    down, degraded_by = changes.get(number, (0, 0))
    if state.awaited.get(number) != ():
        return _tell(state, number, down, degraded_by)
    del state.awaited[number]
    return settle(state, _counted(row, down, degraded_by) if changes else row)


def on_links_changed(state: SchedulerState, body: LinksChanged, _message: Envelope) -> list[Output]:
    """Tell every slice whose link ends changed, unless it is recovering or programming anyway."""
    changes: Changes = {}
    _mark(state, body.up, None, changes)
    _mark(state, body.down, "down", changes)
    _mark(state, body.degraded, "degraded", changes)
    return [said for number in sorted(changes) for said in _tell(state, number, *changes[number])]


def _tell(state: SchedulerState, number: int, down: int, degraded_by: int) -> list[Output]:
    """Note how many link ends more a slice has down and degraded, and say how it stands if that changed."""
    if not down and not degraded_by:
        return []
    row = _counted(state.slices[number], down, degraded_by)
    condition = condition_of(state, row)
    put(state, replace(row, state=condition, changed_us=state.now_us))
    if condition == "degraded":
        return [degraded(state, row)]
    return [SliceRestored(slice=slice_name(state, number))] if condition == "running" else []


def on_circuits_refused(state: SchedulerState, body: CircuitsRefused, _message: Envelope) -> list[Output]:
    """The OCSes will not do what was asked: the slice cannot run, so it is evicted with their reason."""
    row = state.slices.get(number_of(body.slice))
    if row is None or not row.cubes:
        return []
    bodies: list[SchedulerBody] = [*_take_back(state, row)]
    release_cubes(state, row)
    reason = f"{state.fabric}/ocs-{body.ocs}/{body.port}: {body.reason}"
    end(state, row, "evicted", reason)
    bodies.append(SliceEvicted(slice=slice_name(state, row.number), reason=reason))
    return [*bodies, *cycle(state)]


def _take_back(state: SchedulerState, row: Slice) -> list[DisconnectCircuits]:
    """Disconnect what the OCSes hold of a slice that one of its commands was refused for.

    Joins that were confirmed are held. Of those awaited none is, if there was but one command; after a swap
    there may have been several, so each is taken back by itself; those not held are refused, without harm.
    """
    name = slice_name(state, row.number)
    awaited = state.awaited.get(row.number, ())
    joins = state.placement.joins(row.shape, row.twisted, row.cubes)
    held = tuple([join for join in joins if join not in awaited])
    said = [DisconnectCircuits(slice=name, joins=held)] if held else []
    if row.swaps:
        said += [DisconnectCircuits(slice=name, joins=(join,)) for join in awaited]
    return said


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
    for link_end in ends:
        number = placement.slice_at(occupancy, link_end)
        if only not in (None, number) or (number is None and not placement.links_stay):
            continue
        before = state.bad_ends.get(link_end)
        if condition is None:
            state.bad_ends.pop(link_end, None)
        else:
            state.bad_ends[link_end] = condition
        if number is None:
            continue
        down, degraded_by = changes.get(number, (0, 0))
        changes[number] = (
            down + (condition == "down") - (before == "down"),
            degraded_by + (condition == "degraded") - (before == "degraded"),
        )


def _counted(row: Slice, down: int, degraded_by: int) -> Slice:
    return replace(row, links_down=row.links_down + down, links_degraded=row.links_degraded + degraded_by)
