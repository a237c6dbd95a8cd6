"""The port of the simulated clock of a living twin: asked for by people, kept by the sequencer; and how fast
simulated time really goes on."""

import abc
import math
from collections import deque
from dataclasses import dataclass

from schemas.files.operations_log import ClockChanged
from schemas.limits import COUNT_MAX, SPEED_MAX
from shared.basics.errors import InvalidInput
from shared.basics.time_format import format_time_ms
from shared.basics.units import US_PER_S

SPEED_WINDOW_S = 5.0
"""Wall time over which the achieved speed is measured."""
SPEED_STEP_S = 0.1
"""Readings that are closer together are not all kept."""
SPEED_SPAN_S_MIN = 0.05
"""Over less wall time no speed is told."""
DEFAULT_OPERATOR = "operator"
"""Who changed a clock, where nobody knows more."""


@dataclass(frozen=True, slots=True)
class ClockState:
    """`now_us` is the simulated time up to which everything has been done; `speed` is what was asked for,
    `achieved_speed` what was held over the last seconds of wall time; `lag_us` how far the twin is behind.
    `until_us` is the moment at which time will stand still, None if no such moment is ahead."""

    now_us: int
    speed: float
    paused: bool
    achieved_speed: float
    lag_us: int
    until_us: int | None = None


@dataclass(frozen=True, slots=True)
class ClockChange:
    """What somebody asks of a clock, as one change; None leaves it as it is.

    `until_us` lets time run to that moment, where it stands still; `for_us` so much further from now. It runs
    at `run_speed`, or as fast as the twin can where none is given. Whoever pauses, resumes or anchors
    meanwhile ends that.
    """

    speed: float | None = None
    paused: bool | None = None
    until_us: int | None = None
    for_us: int | None = None
    run_speed: float | None = None


@dataclass(frozen=True, slots=True)
class Epoch:
    """What a clock was set to. Simulated time is `anchor_us` at the wall time `wall_us`, and goes on at
    `speed` unless it is paused. With `until_us` it goes on to that moment at `run_speed` (at once, where that
    is None: the twin follows as fast as it can), and then it stands still: `paused` is True by then."""

    anchor_us: int
    wall_us: int
    speed: float
    paused: bool
    until_us: int | None = None
    run_speed: float | None = None

    def clock_us(self, wall_us: int) -> int:
        """Simulated time that this wall time asks for."""
        if self.until_us is None:
            return self.anchor_us if self.paused else self._gone_us(self.speed, wall_us)
        if self.run_speed is None:
            return self.until_us
        return min(self.until_us, self._gone_us(self.run_speed, wall_us))

    def wall_s_until(self, sim_us: int, wall_us: int) -> float:
        """Wall seconds from this wall time until the clock reaches a simulated time; infinite if it never
        does."""
        ahead_us = max(0, sim_us - self.clock_us(wall_us))
        if self.until_us is None:
            return math.inf if self.paused else ahead_us / (self.speed * US_PER_S)
        if sim_us > self.until_us:
            return math.inf
        return 0.0 if self.run_speed is None else ahead_us / (self.run_speed * US_PER_S)

    def state(self, now_us: int, wall_us: int, achieved_speed: float) -> ClockState:
        """A reading, where everything up to `now_us` has been done."""
        runs_to = self.until_us if self.until_us is not None and now_us < self.until_us else None
        stands = self.paused and runs_to is None
        return ClockState(
            now_us=now_us,
            speed=self.speed,
            paused=stands,
            achieved_speed=0.0 if stands else achieved_speed,
            lag_us=self.lag_us(now_us, wall_us),
            until_us=runs_to,
        )

    def lag_us(self, now_us: int, wall_us: int) -> int:
        """How far behind the twin is that has come to `now_us`; one that goes as fast as it can is not."""
        if self.until_us is not None and self.run_speed is None:
            return 0
        return max(0, self.clock_us(wall_us) - now_us)

    def changed(
        self, request: ClockChange, now_us: int, wall_us: int, furthest_us: int | None = None
    ) -> "Epoch":
        """The epoch after a change, where everything up to `now_us` has been done and no fabric has come
        further than `furthest_us` (that far, too, where None is given). Time stands still at the one and goes
        on from the other: a lag that all share is forgiven and never made up in a jump, and a fabric that is
        ahead does not stand still until the clock has come to it. InvalidInput for a moment that has passed.
        """
        from_us = now_us if furthest_us is None else max(now_us, furthest_us)
        speed = self.speed if request.speed is None else check_speed(request.speed)
        if request.until_us is not None or request.for_us is not None:
            until_us = request.until_us if request.until_us is not None else from_us + (request.for_us or 0)
            run_speed = None if request.run_speed is None else check_speed(request.run_speed)
            _check_until(until_us, now_us)
            return Epoch(from_us, wall_us, speed, True, until_us, run_speed)
        goes_on = self.until_us is not None and now_us < self.until_us and request.paused is None
        if not goes_on:
            paused = self.paused if request.paused is None else request.paused
            return Epoch(now_us if paused else from_us, wall_us, speed, paused)
        run_speed = self.run_speed if request.speed is None else speed
        return Epoch(from_us, wall_us, speed, True, self.until_us, run_speed)

    def body(self) -> ClockChanged:
        """As the operations log has it."""
        return ClockChanged(
            speed=self.speed,
            paused=self.paused,
            anchor_us=self.anchor_us,
            until_us=self.until_us,
            run_speed=self.run_speed,
        )

    def _gone_us(self, speed: float, wall_us: int) -> int:
        return self.anchor_us + max(0, int((wall_us - self.wall_us) * speed))


class Clock(abc.ABC):
    """What people may ask of a living twin's clock, and set. Two changes at once both hold."""

    @abc.abstractmethod
    def show(self) -> ClockState: ...

    @abc.abstractmethod
    def change(self, request: ClockChange, who: str) -> None:
        """Takes effect from the time that has been processed; noted on the operations log with who did it.
        InvalidInput for a speed or a moment that may not be."""

    def pause(self, who: str = DEFAULT_OPERATOR) -> None:
        self.change(ClockChange(paused=True), who)

    def resume(self, who: str = DEFAULT_OPERATOR) -> None:
        self.change(ClockChange(paused=False), who)

    def set_speed(self, speed: float, who: str = DEFAULT_OPERATOR) -> None:
        """Simulated over wall time, above 0."""
        self.change(ClockChange(speed=speed), who)


def check_speed(speed: float) -> float:
    """The speed, if it is one; InvalidInput otherwise."""
    if not math.isfinite(speed) or not 0 < speed <= SPEED_MAX:
        raise InvalidInput(f"speed {speed:g}: not allowed; allowed: above 0 up to {SPEED_MAX:,.0f}")
    return speed


def _check_until(until_us: int, now_us: int) -> None:
    if not now_us <= until_us <= COUNT_MAX:
        raise InvalidInput(
            f"until {format_time_ms(until_us)} ({until_us} us): not allowed; allowed: from now, "
            f"{format_time_ms(now_us)} ({now_us} us), up to {format_time_ms(COUNT_MAX)}"
        )


class SpeedMeter:
    """Simulated over wall time, over the last `SPEED_WINDOW_S`. Not safe to use from several threads."""

    def __init__(self) -> None:
        self._readings: deque[tuple[float, int]] = deque()

    @property
    def last(self) -> tuple[float, int] | None:
        """The last reading kept: wall seconds and simulated microseconds."""
        return self._readings[-1] if self._readings else None

    def measure(self, wall_s: float, now_us: int) -> float | None:
        """Take a reading; the speed since the first one of the window, None while there is none. Time that
        went back was set back (a clock held at its beginning, a rebuild): it is measured anew."""
        readings = self._readings
        if readings and now_us < readings[-1][1]:
            readings.clear()
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
