"""Pauses the starts of a pod whose preflights all fail, and resumes them (`structures/start_pause.py`)."""

from dataclasses import replace as replace_fields

from schemas.messages.scheduler import SchedulerBody, StartsPaused, StartsResumed
from services.scheduler.state import (
    SchedulerState,
    invalidate_wait_summary,
    put_slice,
    slices_in,
    starts_pause,
    waits_for_start_pause,
)
from services.scheduler.structures.slice_record import Slice, as_waiting, in_preflight_backoff
from services.scheduler.structures.start_pause import (
    NO_PAUSE,
    StartPause,
    is_failed_attempt,
    next_pause,
    pause_after_repair,
    starts_must_pause,
)
from shared.basics.fast_replace import replace
from shared.basics.time_format import format_time
from shared.engine.service import Output
from shared.models.superpod.shapes import is_mesh
from shared.models.superpod.wiring import DIMENSIONS, FACE_LINKS

LINKS_PER_CUBE = DIMENSIONS * FACE_LINKS
"""Links of a slice of whole cubes for each of its cubes: every link joins two ends."""


def count_backoff(state: SchedulerState, row: Slice, links: int) -> None:
    """Count a slice that backs off because its last preflight found at least half of its links down. With
    fewer, other cubes may do, and the back-off of the slice alone is enough."""
    if 2 * links < LINKS_PER_CUBE * len(row.cubes):
        return
    pause = state.start_pause or NO_PAUSE
    state.start_pause = replace_fields(pause, failed=pause.failed + 1)


def begin_start_pause(state: SchedulerState) -> list[Output]:
    """Pause starts if enough slices in a row have backed off."""
    pause = state.start_pause
    return [] if pause is None or not starts_must_pause(pause) else [_pause_again(state, pause)]


def after_failed_attempt(state: SchedulerState, row: Slice) -> list[Output]:
    """Pause starts again if the slice whose preflight failed is the one that tries."""
    pause = state.start_pause
    if pause is None or not is_failed_attempt(pause, row.number):
        return []
    return [_pause_again(state, pause)]


def _pause_again(state: SchedulerState, pause: StartPause) -> StartsPaused:
    after = next_pause(pause, state.config, state.now_us)
    _set_pause(state, after)
    return _paused_message(after)


def note_start(state: SchedulerState, row: Slice) -> list[SchedulerBody]:
    """Forget the slices that backed off, because one of whole cubes runs. After a pause, slices that back off
    are back in line: the fault was not theirs."""
    if state.start_pause is None or is_mesh(row.shape):
        return []
    was_paused = starts_pause(state)
    state.start_pause = None
    if not was_paused:
        return []
    for other in slices_in(state, "backing-off"):
        if in_preflight_backoff(other):
            put_slice(state, as_waiting(replace(other, preflight_failures=None)))
    _requeue_all(state)
    return [StartsResumed(slice=f"{state.fabric}/slice-{row.number}")]


def note_attempt(state: SchedulerState, row: Slice) -> None:
    """After a pause, the first slice of whole cubes that gets cubes, or a claim on some, is the one that
    tries. The others wait for its preflight."""
    pause = state.start_pause
    if pause is not None and pause.pauses and not pause.stops_starts and not is_mesh(row.shape):
        _set_pause(state, replace_fields(pause, attempt=row.number))


def settle_attempt(state: SchedulerState) -> None:
    """Let another slice try if the one that tried left, or waits for the repair of a cube."""
    pause = state.start_pause
    if pause is None or pause.attempt is None:
        return
    row = state.slices.get(pause.attempt)
    if row is None or row.phase not in ("reserved", "holding", "programming", "preflight"):
        _set_pause(state, replace_fields(pause, attempt=None))


def end_start_pause(state: SchedulerState) -> None:
    """Let one slice try if the pause is over."""
    pause = state.start_pause
    if pause is not None and pause.until_us is not None and pause.until_us <= state.now_us:
        _set_pause(state, replace_fields(pause, until_us=None))


def start_pause_ends_us(state: SchedulerState) -> int | None:
    """When the pause of starts ends; None if there is none."""
    return None if state.start_pause is None else state.start_pause.until_us


def shorten_start_pause(state: SchedulerState) -> list[Output]:
    """End the pause soon, because a part was repaired or returned."""
    if state.start_pause is None:
        return []
    pause = pause_after_repair(state.start_pause, state.config, state.now_us)
    if pause is state.start_pause:
        return []
    _set_pause(state, pause)
    return [_paused_message(pause)]


def _paused_message(pause: StartPause) -> StartsPaused:
    return StartsPaused(until_us=pause.until_us or 0, slices=pause.failed)


def is_kept_from_claim(state: SchedulerState, row: Slice) -> bool:
    """Whether a slice with a claim goes back to the queue, because starts pause and another slice tries."""
    pause = state.start_pause
    return waits_for_start_pause(state, row) and pause is not None and pause.attempt != row.number


def start_pause_text(state: SchedulerState) -> str:
    """Why starts pause, and when the next slice tries."""
    pause = state.start_pause or NO_PAUSE
    failed = f"the last {pause.failed} slices that got whole cubes of {state.fabric} failed their preflights"
    if pause.until_us is not None:
        tries = f"one slice tries again at {format_time(pause.until_us)}"
    else:
        tries = f"waits for the preflight of {state.fabric}/slice-{pause.attempt}"
    return f"{tries}: {failed} (scheduler.preflight_backoff_s)"


def _set_pause(state: SchedulerState, pause: StartPause) -> None:
    state.start_pause = pause
    _requeue_all(state)


def _requeue_all(state: SchedulerState) -> None:
    """Rebuild the queue, whose slices depend on the pause, and the reasons of all that wait."""
    state.queue = None
    invalidate_wait_summary(state)
