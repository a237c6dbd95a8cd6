"""The port of a living twin's simulated clock, and the measurement of its speed.

Operators set the clock; the sequencer keeps it.
"""

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
"""Minimum wall time between two stored samples."""
SPEED_SPAN_S_MIN = 0.05
"""Minimum wall time for a measured speed."""
ANONYMOUS = "anonymous"
"""Recorded as the author of a change if no name is known."""


@dataclass(frozen=True, slots=True)
class ClockState:
    """A reading of the clock."""

    now_us: int
    """The simulated time up to which everything is processed."""
    speed: float
    """The requested speed."""
    paused: bool
    achieved_speed: float
    """The speed over the last seconds of wall time."""
    lag_us: int
    """How far the twin is behind."""
    until_us: int | None = None
    """When time will stop; None if that is not set or has passed."""
    run_until_us: int | None = None
    """The time that the last run was to reach, reached or not; None if another change ended that run."""


@dataclass(frozen=True, slots=True)
class ClockChange:
    """A requested change of the clock; None leaves a field unchanged.

    `until_us` lets time run to that time and stop there; `for_us` does the same relative to now. The run has
    speed `run_speed`, or is as fast as possible. A later pause, resume or anchor cancels it.
    """

    speed: float | None = None
    paused: bool | None = None
    until_us: int | None = None
    for_us: int | None = None
    run_speed: float | None = None


@dataclass(frozen=True, slots=True)
class Epoch:
    """The setting of a clock. Simulated time is `anchor_us` at the wall time `wall_us`, and advances at
    `speed` unless paused. With `until_us` it advances to that time at `run_speed` (None: immediately, and the
    twin follows as fast as it can). Then it stops; `paused` is already True."""

    anchor_us: int
    wall_us: int
    speed: float
    paused: bool
    until_us: int | None = None
    run_speed: float | None = None

    def clock_us(self, wall_us: int) -> int:
        """The simulated time at this wall time."""
        if self.until_us is None:
            return self.anchor_us if self.paused else self._running_us(self.speed, wall_us)
        if self.run_speed is None:
            return self.until_us
        return min(self.until_us, self._running_us(self.run_speed, wall_us))

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
        """A reading, if everything up to `now_us` is processed."""
        runs_to = self.until_us if self.until_us is not None and now_us < self.until_us else None
        is_stopped = self.paused and runs_to is None
        return ClockState(
            now_us=now_us,
            speed=self.speed,
            paused=is_stopped,
            achieved_speed=0.0 if is_stopped else achieved_speed,
            lag_us=self.lag_us(now_us, wall_us),
            until_us=runs_to,
            run_until_us=self.until_us,
        )

    def lag_us(self, now_us: int, wall_us: int) -> int:
        """How far a twin at `now_us` is behind; 0 while it runs as fast as possible."""
        if self.until_us is not None and self.run_speed is None:
            return 0
        return max(0, self.clock_us(wall_us) - now_us)

    def changed(
        self, request: ClockChange, now_us: int, wall_us: int, furthest_us: int | None = None
    ) -> "Epoch":
        """The epoch after a change, if everything up to `now_us` is processed and no fabric is beyond
        `furthest_us` (None: `now_us`).

        Time stops at `now_us`, and continues from `furthest_us`. So a lag of all fabrics is forgiven and
        never made up in a jump, and a fabric that is ahead does not wait for the clock. InvalidInput for a
        time that has passed.
        """
        from_us = now_us if furthest_us is None else max(now_us, furthest_us)
        speed = self.speed if request.speed is None else check_speed(request.speed)
        if request.until_us is not None or request.for_us is not None:
            until_us = request.until_us if request.until_us is not None else from_us + (request.for_us or 0)
            run_speed = None if request.run_speed is None else check_speed(request.run_speed)
            _check_until(until_us, now_us)
            return Epoch(from_us, wall_us, speed, True, until_us, run_speed)
        continues_run = self.until_us is not None and now_us < self.until_us and request.paused is None
        if not continues_run:
            paused = self.paused if request.paused is None else request.paused
            return Epoch(now_us if paused else from_us, wall_us, speed, paused)
        run_speed = self.run_speed if request.speed is None else speed
        return Epoch(from_us, wall_us, speed, True, self.until_us, run_speed)

    def body(self) -> ClockChanged:
        """The change for the operations log."""
        return ClockChanged(
            speed=self.speed,
            paused=self.paused,
            anchor_us=self.anchor_us,
            until_us=self.until_us,
            run_speed=self.run_speed,
        )

    def _running_us(self, speed: float, wall_us: int) -> int:
        return self.anchor_us + max(0, int((wall_us - self.wall_us) * speed))


class Clock(abc.ABC):
    """Reads and sets a living twin's clock. Two concurrent changes both take effect."""

    @abc.abstractmethod
    def show(self) -> ClockState: ...

    @abc.abstractmethod
    def change(self, request: ClockChange, who: str) -> Epoch:
        """Change the clock, starting from the processed time; recorded on the operations log with its author.
        Returns the new setting. InvalidInput for an invalid speed or time."""

    def pause(self, who: str = ANONYMOUS) -> None:
        self.change(ClockChange(paused=True), who)

    def resume(self, who: str = ANONYMOUS) -> None:
        self.change(ClockChange(paused=False), who)

    def set_speed(self, speed: float, who: str = ANONYMOUS) -> None:
        """Set simulated over wall time, above 0."""
        self.change(ClockChange(speed=speed), who)


def check_speed(speed: float) -> float:
    """Return the speed if it is valid, else raise InvalidInput."""
    if not math.isfinite(speed) or not 0 < speed <= SPEED_MAX:
        raise InvalidInput(f"speed: {speed:g} is not allowed; must be above 0 and at most {SPEED_MAX:,.0f}")
    return speed


def _check_until(until_us: int, now_us: int) -> None:
    if not now_us <= until_us <= COUNT_MAX:
        raise InvalidInput(
            f"until: {format_time_ms(until_us)} ({until_us} us) is not allowed; must not be before now, "
            f"{format_time_ms(now_us)} ({now_us} us), or after {format_time_ms(COUNT_MAX)}"
        )


class SpeedMeter:
    """Measures simulated over wall time in the last `SPEED_WINDOW_S`. Not thread-safe."""

    def __init__(self) -> None:
        self._readings: deque[tuple[float, int]] = deque()

    @property
    def last(self) -> tuple[float, int] | None:
        """The last stored sample: wall seconds and simulated microseconds."""
        return self._readings[-1] if self._readings else None

    def measure(self, wall_s: float, now_us: int) -> float | None:
        """Add a sample; returns the speed since the first sample of the window, or None if that is too short.
        If time went back (a clock held at its start, a rebuild), the measurement restarts."""
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
        """Restart the measurement: time was set, or the speed changed."""
        self._readings.clear()
