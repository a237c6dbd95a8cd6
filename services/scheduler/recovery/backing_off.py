"""Slices whose preflights fail: how often in a row, and until when each is left alone for that."""

from collections import Counter
from dataclasses import replace

from services.scheduler.recovery.setback import Setback, backed_off, failed_again, placed, runs, stopped
from services.scheduler.recovery.traffic import down_ends
from services.scheduler.state import SchedulerState, Slice, line_up, queue_of
from shared.models.superpod.wiring import link_end

NONE = Setback()
"""Of a slice whose preflights did not fail."""


def setback_of(state: SchedulerState, row: Slice) -> Setback:
    return state.setbacks.get(row.number, NONE)


def note_failed(state: SchedulerState, row: Slice) -> None:
    """A preflight of a slice on cubes found links that are down."""
    runs_no_more(state, row)
    ends = [link_end(number) for number in down_ends(state, row)]
    links = Counter([end.ocs for end in ends if end.is_plus])  # either end of a link is down, or both
    links |= Counter([end.ocs for end in ends if not end.is_plus])
    state.setbacks[row.number] = failed_again(setback_of(state, row), state.config, state.now_us, links)


def is_rewired(state: SchedulerState, row: Slice) -> bool:
    """Whether other cubes may still take the places of some for links that are down: not after so many failed
    preflights in a row."""
    return setback_of(state, row).failed <= state.config.preflight_tries


def stays_until_us(state: SchedulerState, row: Slice) -> int | None:
    """Until when a slice that is not wired again keeps its cubes, for links that come up by themselves; None
    if it does not."""
    until_us = setback_of(state, row).stays_until_us
    return until_us if until_us is not None and until_us > state.now_us else None


def placed_now(state: SchedulerState, row: Slice) -> None:
    """A slice was given cubes."""
    if row.number in state.setbacks:
        state.setbacks[row.number] = placed(state.setbacks[row.number])


def runs_now(state: SchedulerState, row: Slice) -> None:
    """A slice runs, perhaps again."""
    if row.number in state.setbacks:
        state.setbacks[row.number] = runs(state.setbacks[row.number], state.now_us)


def runs_no_more(state: SchedulerState, row: Slice) -> None:
    """A slice that may have run does not go on; if it ran for long enough it begins as at first."""
    setback = state.setbacks.pop(row.number, None)
    left = None if setback is None else stopped(setback, state.config, state.now_us)
    if left is not None:
        state.setbacks[row.number] = left


def rest(state: SchedulerState, row: Slice) -> Setback:
    """A slice that leaves its cubes for failed preflights wants none for a while."""
    state.setbacks[row.number] = backed_off(setback_of(state, row), state.config, state.now_us)
    return state.setbacks[row.number]


def rests_end_us(state: SchedulerState) -> int | None:
    """When the next slice has backed off for long enough."""
    times = [setback.again_us for setback in state.setbacks.values() if setback.again_us is not None]
    return min(times, default=None)


def end_rests(state: SchedulerState) -> None:
    """Who has backed off for long enough takes its old place in line."""
    for number, setback in sorted(state.setbacks.items()):
        if setback.again_us is not None and setback.again_us <= state.now_us:
            queue_of(state)  # made while it is outside still
            state.setbacks[number] = replace(setback, again_us=None)
            line_up(state, state.slices[number])


def failures_in_words(state: SchedulerState, row: Slice) -> str:
    """How often the preflights of a slice failed in a row, and by which links the last one did."""
    setback = setback_of(state, row)
    links = f"{setback.links} link{'' if setback.links == 1 else 's'} down"
    worst = ", ".join([f"{state.fabric}/ocs-{ocs} ({count})" for ocs, count in setback.ocses])
    told = sum([count for _, count in setback.ocses])
    others = f" and others ({setback.links - told})" if told < setback.links else ""
    return f"preflight {setback.failed} in a row found {links}, over {worst}{others}"
