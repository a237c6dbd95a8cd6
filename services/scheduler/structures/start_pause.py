"""The pause of starts in a pod whose preflights all fail: a circuit breaker, as pure functions.

One slice whose preflights fail backs off by itself (`queue/preflight_backoff.py`). If slice after slice does,
other slices and other cubes do not help either. So after `PAUSE_AFTER` slices have backed off without a start
in between, no slice of whole cubes starts for a while. Then a single one tries. If its preflight fails too,
the next pause is twice as long; if it runs, all may start.
"""

from dataclasses import dataclass
from dataclasses import replace as replace_fields

from schemas.config.scheduler import SchedulerConfig
from shared.basics.units import US_PER_S

PAUSE_AFTER = 6
"""Slices in a row that back off before starts pause. Choice: twice as many as in a pod whose cameras are
nearly blind, where preflights fail because mirrors need minutes to align."""


@dataclass(frozen=True, slots=True)
class StartPause:
    """The slices of a pod that backed off since one of whole cubes last started to run, and what follows."""

    failed: int = 0
    """Slices that backed off in a row, with at least half of their links down."""
    pauses: int = 0
    """Pauses in a row; 0 if slices start as usual."""
    until_us: int | None = None
    """When the current pause ends; None if there is none, or if it is over and a slice may try."""
    attempt: int | None = None
    """The slice that tries; None if none does."""

    @property
    def stops_starts(self) -> bool:
        """Whether a waiting slice of whole cubes gets no cubes: during a pause, and while another tries."""
        return self.pauses > 0 and (self.until_us is not None or self.attempt is not None)


NO_PAUSE = StartPause()


def starts_must_pause(pause: StartPause) -> bool:
    """Whether the first pause starts, because enough slices in a row have backed off."""
    return not pause.pauses and pause.failed >= PAUSE_AFTER


def is_failed_attempt(pause: StartPause, number: int) -> bool:
    """Whether a failed preflight of this slice leads to the next pause. During a pause, and while another
    slice tries, it does not: its slice had its cubes before."""
    return pause.pauses > 0 and pause.until_us is None and pause.attempt in (None, number)


def next_pause(pause: StartPause, config: SchedulerConfig, now_us: int) -> StartPause:
    """The first pause, or the next one after a failed attempt, from now on."""
    return StartPause(pause.failed, pause.pauses + 1, now_us + pause_us(pause.pauses, config), None)


def pause_us(pauses: int, config: SchedulerConfig) -> int:
    """The length of a pause after this many others in a row: `preflight_backoff_s`, doubled each time up to
    `preflight_backoff_max_s`."""
    max_s = max(config.preflight_backoff_max_s, config.preflight_backoff_s)
    return min(config.preflight_backoff_s << min(pauses, max_s.bit_length()), max_s) * US_PER_S


def pause_after_repair(pause: StartPause, config: SchedulerConfig, now_us: int) -> StartPause:
    """After a part was repaired: the pause ends within `preflight_backoff_s`."""
    if pause.until_us is None:
        return pause
    until_us = min(pause.until_us, now_us + config.preflight_backoff_s * US_PER_S)
    return pause if until_us == pause.until_us else replace_fields(pause, until_us=until_us)
