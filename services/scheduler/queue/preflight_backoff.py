"""Slices whose preflights fail: consecutive failures, and until when each slice backs off."""

from collections import Counter
from dataclasses import replace

from services.scheduler.placement.degraded_speed import down_ends
from services.scheduler.state import SchedulerState, enqueue, queue_of
from services.scheduler.structures.preflight_failures import (
    PreflightFailures,
    after_backoff,
    after_failure,
    after_placement,
    after_start,
    after_stop,
)
from services.scheduler.structures.slice_record import Slice
from shared.models.superpod.wiring import link_end

NO_FAILURES = PreflightFailures()
"""The value for a slice without failed preflights."""


def preflight_failures_of(state: SchedulerState, row: Slice) -> PreflightFailures:
    return state.preflight_failures.get(row.number, NO_FAILURES)


def record_failed_preflight(state: SchedulerState, row: Slice) -> None:
    """Record a failed preflight of a slice on cubes."""
    note_stopped(state, row)
    ends = [link_end(number) for number in down_ends(state, row)]
    links = Counter([end.ocs for end in ends if end.is_plus])  # either end of a link is down, or both
    links |= Counter([end.ocs for end in ends if not end.is_plus])
    state.preflight_failures[row.number] = after_failure(
        preflight_failures_of(state, row), state.config, state.now_us, links
    )


def may_rewire(state: SchedulerState, row: Slice) -> bool:
    """Whether cubes of a slice may still be replaced for links that are down: only up to `preflight_tries`
    failures in a row."""
    return preflight_failures_of(state, row).failed <= state.config.preflight_tries


def keeps_cubes_until_us(state: SchedulerState, row: Slice) -> int | None:
    """Until when a slice that is no longer rewired keeps its cubes, in case its links come up by themselves;
    None if it does not keep them."""
    until_us = preflight_failures_of(state, row).keeps_cubes_until_us
    return until_us if until_us is not None and until_us > state.now_us else None


def note_placed(state: SchedulerState, row: Slice) -> None:
    """Record that a slice got cubes."""
    if row.number in state.preflight_failures:
        state.preflight_failures[row.number] = after_placement(state.preflight_failures[row.number])


def note_running(state: SchedulerState, row: Slice) -> None:
    """Record that a slice runs, perhaps again."""
    if row.number in state.preflight_failures:
        state.preflight_failures[row.number] = after_start(state.preflight_failures[row.number], state.now_us)


def note_stopped(state: SchedulerState, row: Slice) -> None:
    """Record that a slice stopped. If it ran long enough, its failures are forgotten."""
    failures = state.preflight_failures.pop(row.number, None)
    remaining = None if failures is None else after_stop(failures, state.config, state.now_us)
    if remaining is not None:
        state.preflight_failures[row.number] = remaining


def start_backoff(state: SchedulerState, row: Slice) -> PreflightFailures:
    """Start the backoff of a slice that leaves its cubes after failed preflights."""
    state.preflight_failures[row.number] = after_backoff(
        preflight_failures_of(state, row), state.config, state.now_us
    )
    return state.preflight_failures[row.number]


def preflight_backoffs_end_us(state: SchedulerState) -> int | None:
    """When the next backoff ends."""
    times = [
        failures.again_us for failures in state.preflight_failures.values() if failures.again_us is not None
    ]
    return min(times, default=None)


def end_preflight_backoffs(state: SchedulerState) -> None:
    """Put slices whose backoff is over back at their old place in line."""
    for number, failures in sorted(state.preflight_failures.items()):
        if failures.again_us is not None and failures.again_us <= state.now_us:
            queue_of(state)  # build the queue while the slice is still outside it
            state.preflight_failures[number] = replace(failures, again_us=None)
            enqueue(state, state.slices[number])


def failures_text(state: SchedulerState, row: Slice) -> str:
    """How many preflights of a slice failed in a row, and the links that failed in the last one."""
    failures = preflight_failures_of(state, row)
    links = f"{failures.links} link{'' if failures.links == 1 else 's'} down"
    worst = ", ".join([f"{state.fabric}/ocs-{ocs} ({count})" for ocs, count in failures.ocses])
    listed = sum([count for _, count in failures.ocses])
    others = f" and others ({failures.links - listed})" if listed < failures.links else ""
    return f"preflight {failures.failed} in a row found {links}: {worst}{others}"
