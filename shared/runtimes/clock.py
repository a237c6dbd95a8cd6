"""The port of the simulated clock of a living twin: asked for by people, kept by the sequencer."""

import math
from dataclasses import dataclass
from typing import Protocol

from shared.basics.errors import InvalidInput
from shared.basics.grammar import SPEED_MAX


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
