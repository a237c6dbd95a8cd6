"""The simulated clock of a twin in one process: wall time × speed from an anchor."""

import json
import math
import threading
import time
from collections.abc import Callable
from pathlib import Path

from shared.basics.errors import OperationFailed
from shared.basics.units import US_PER_S
from shared.runtimes.clock import ClockState, SpeedMeter, check_speed
from shared.runtimes.files import replace_text


class EmbeddedClock:
    """Safe to use from several threads. `processed_us` answers up to which time all has been done; on a
    change of speed the clock goes on from there, so a lag is forgiven and never made up in a jump."""

    def __init__(
        self,
        *,
        speed: float,
        paused: bool = False,
        keep: Path | None = None,
        wall_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._lock = threading.RLock()
        self._wall_s = wall_s
        self._keep = keep
        self._speed = check_speed(speed)
        self._paused = paused
        self._anchor_us = 0
        self._anchor_s = wall_s()
        self._processed: Callable[[], int] | None = None
        self._meter = SpeedMeter()
        self.changed = threading.Event()
        """Set when somebody changed the clock; the loop clears it."""

    def start(self, processed_us: Callable[[int], int], at_us: int) -> None:
        """Begin at this simulated time. `processed_us` is given the clock's time and bounds it by what is
        due.
        """
        with self._lock:
            self._processed = lambda: processed_us(self.clock_us())
            self._anchor_us, self._anchor_s = at_us, self._wall_s()
            self._meter.clear()

    def clock_us(self) -> int:
        """Simulated time that the wall clock asks for."""
        with self._lock:
            if self._paused:
                return self._anchor_us
            return self._anchor_us + int((self._wall_s() - self._anchor_s) * self._speed * US_PER_S)

    def wall_s_until(self, sim_us: int) -> float:
        """Wall seconds until the clock reaches this simulated time; infinite while paused."""
        with self._lock:
            if self._paused:
                return math.inf
            return max(0.0, (sim_us - self.clock_us()) / (self._speed * US_PER_S))

    def show(self) -> ClockState:
        """One consistent reading. `now_us` is the time that has been processed, not the time asked for."""
        with self._lock:
            asked_us = self.clock_us()
            now_us = self._processed() if self._processed else asked_us
            achieved = self._meter.measure(self._wall_s(), now_us)
            return ClockState(
                now_us=now_us,
                speed=self._speed,
                paused=self._paused,
                achieved_speed=0.0 if self._paused else self._speed if achieved is None else achieved,
                lag_us=max(0, asked_us - now_us),
            )

    def pause(self) -> None:
        self._change(paused=True)

    def resume(self) -> None:
        self._change(paused=False)

    def set_speed(self, speed: float) -> None:
        self._change(speed=check_speed(speed))

    def sample(self) -> None:
        """Note how far the twin has come, for the speed achieved; called by the loop now and then."""
        with self._lock:
            if self._processed:
                self._meter.measure(self._wall_s(), self._processed())

    def _change(self, *, speed: float | None = None, paused: bool | None = None) -> None:
        with self._lock:
            self._anchor_us = self._processed() if self._processed else self.clock_us()
            self._anchor_s = self._wall_s()
            self._meter.clear()
            self._speed = self._speed if speed is None else speed
            self._paused = self._paused if paused is None else paused
            self.save()
        self.changed.set()

    def save(self) -> None:
        """Keep what was asked for, so that a twin that starts again goes on in the same way."""
        if self._keep is None:
            return
        now_us = self._processed() if self._processed else self._anchor_us
        text = json.dumps({"speed": self._speed, "paused": self._paused, "now_us": now_us})
        try:
            replace_text(self._keep, text)
        except OSError as error:
            raise OperationFailed(f"clock file {self._keep}: {error.strerror or error}") from None
