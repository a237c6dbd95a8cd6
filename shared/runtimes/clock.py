"""The port of the simulated clock of a living twin: asked for by people, kept by the sequencer; and how fast
simulated time really goes on."""

import math
from collections import deque
from dataclasses import dataclass
from typing import Protocol

from schemas.bounds import SPEED_MAX
from shared.basics.errors import InvalidInput
from shared.basics.units import US_PER_S

SPEED_WINDOW_S = 5.0
"""Wall time over which the achieved speed is measured."""
SPEED_STEP_S = 0.1
"""Readings that are closer together are not all kept."""
SPEED_SPAN_S_MIN = 0.05
"""Over less wall time no speed is told."""


@dataclass(frozen=True, slots=True)
class ClockState:
    """`now_us` is the simulated time up to which everything has been done; `speed` is what was asked for,
    `achieved_speed` what was held over the last seconds of wall time; `lag_us` how far the twin is behind."""

    now_us: int
    speed: float
    paused: bool
    achieved_speed: float
    lag_us: int


class Clock(Protocol):
    """What people may ask of a living twin's clock, and set."""

    def show(self) -> ClockState: ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def set_speed(self, speed: float) -> None:
        """Simulated over wall time, above 0; takes effect from the time that has been processed."""


def check_speed(speed: float) -> float:
    """The speed, if it is one; InvalidInput otherwise."""
    if not math.isfinite(speed) or not 0 < speed <= SPEED_MAX:
        raise InvalidInput(f"speed {speed:g}: not allowed; allowed: above 0 up to {SPEED_MAX:,.0f}")
    return speed


class SpeedMeter:
    """Simulated over wall time, over the last `SPEED_WINDOW_S`. Not safe to use from several threads."""

    def __init__(self) -> None:
        self._readings: deque[tuple[float, int]] = deque()

    @property
    def last(self) -> tuple[float, int] | None:
        """The last reading kept: wall seconds and simulated microseconds."""
        return self._readings[-1] if self._readings else None

    def measure(self, wall_s: float, now_us: int) -> float | None:
        """Take a reading; the speed since the first one of the window, None while there is none."""
        readings = self._readings
        if not readings or wall_s - readings[-1][0] >= SPEED_STEP_S:
            readings.append((wall_s, now_us))
        while len(readings) > 2 and wall_s - readings[0][0] > SPEED_WINDOW_S:
            readings.popleft()
        first_s, first_us = readings[0]
        if wall_s - first_s < SPEED_SPAN_S_MIN:
            return None
        return (now_us - first_us) / US_PER_S / (wall_s - first_s)

    def clear(self) -> None:
        """Begin anew: time was set, or goes at another speed."""
        self._readings.clear()
