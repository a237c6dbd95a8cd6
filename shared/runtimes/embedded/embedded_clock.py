"""The simulated clock of a twin in one process: wall time × speed from an anchor."""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

from shared.basics.errors import OperationFailed
from shared.basics.units import US_PER_S
from shared.runtimes.operations_log import OperationsLog, new_operation
from shared.runtimes.simulated_clock import Clock, ClockChange, ClockState, Epoch, SpeedMeter, check_speed
from shared.storage.files.atomic_files import write_private_text

SAVED_FIELDS = ("speed", "paused", "now_us", "until_us", "run_speed")
"""Fields of a clock's file."""


class EmbeddedClock(Clock):
    """Thread-safe. A change starts from the processed time, so a lag is forgiven and never made up in a jump.
    `keep` is the file that stores the clock; `operations` records changes.

    It knows two processed times. Readers see the *committed* one. A change starts from the *reached* one,
    which includes what is not committed yet. So a paused twin commits nothing that is later than its clock.
    """

    def __init__(
        self,
        *,
        speed: float,
        paused: bool = False,
        keep: Path | None = None,
        operations: OperationsLog | None = None,
        wall_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._lock = threading.RLock()
        self._wall_s = wall_s
        self._keep = keep
        self._operations = operations
        self._epoch = Epoch(0, self._wall_us(), check_speed(speed), paused)
        self._processed: Callable[[], int] | None = None
        self._reached: Callable[[], int] | None = None
        self._meter = SpeedMeter()
        self.on_change: Callable[[], None] = lambda: None
        """Called after each change. It may wait until what was reached is committed."""

    def start(
        self,
        processed_us: Callable[[int], int],
        at_us: int,
        reached_us: Callable[[int], int] | None = None,
    ) -> None:
        """Start at this simulated time. `processed_us` receives the clock's time and limits it to what is
        committed; `reached_us` limits it to what is processed, and is the same if it is not given."""
        reached = reached_us or processed_us
        with self._lock:
            self._processed = lambda: processed_us(self.clock_us())
            self._reached = lambda: reached(self.clock_us())
            self._epoch = replace(self._epoch, anchor_us=at_us, wall_us=self._wall_us())
            self._meter.clear()

    def run_to(self, until_us: int, run_speed: float | None) -> None:
        """Continue a run to a time that an earlier process did not reach."""
        with self._lock:
            self._epoch = replace(self._epoch, paused=True, until_us=until_us, run_speed=run_speed)

    def clock_us(self) -> int:
        """The simulated time by the wall clock."""
        with self._lock:
            return self._epoch.clock_us(self._wall_us())

    def wall_s_until(self, sim_us: int) -> float:
        """Wall seconds until the clock reaches this simulated time; infinite if it never does."""
        with self._lock:
            return self._epoch.wall_s_until(sim_us, self._wall_us())

    def show(self) -> ClockState:
        """A consistent reading. `now_us` is the processed time, not the requested time."""
        with self._lock:
            now_us = self._now_us()
            achieved = self._meter.measure(self._wall_s(), now_us)
            speed = self._epoch.speed if achieved is None else achieved
            return self._epoch.state(now_us, self._wall_us(), speed)

    def change(self, request: ClockChange, who: str) -> Epoch:
        """Records the change first; OperationFailed if that fails, and nothing changes."""
        with self._lock:
            epoch = self._epoch.changed(request, self.reached_us(), self._wall_us())
            if self._operations is not None:
                self._operations.append(new_operation(epoch.body(), who))
            self._epoch = epoch
            self._meter.clear()
            self.save()
        self.on_change()
        return epoch

    def reached_us(self) -> int:
        """The simulated time up to which everything is processed, committed or not."""
        return self._reached() if self._reached else self.clock_us()

    def _now_us(self) -> int:
        return self._processed() if self._processed else self.clock_us()

    def _wall_us(self) -> int:
        return round(self._wall_s() * US_PER_S)

    def sample(self) -> None:
        """Measure the progress, for the achieved speed; the loop calls it now and then."""
        with self._lock:
            if self._processed:
                self._meter.measure(self._wall_s(), self._processed())

    def kept(self) -> dict[str, int | float | bool | None]:
        """The saved fields: reached time and setting. If a twin is killed before it commits what it has
        reached, it does the same again, up to this time."""
        with self._lock:
            kept = asdict(self._epoch) | {"now_us": self.reached_us()}
        return {name: kept[name] for name in SAVED_FIELDS}

    def save(self) -> None:
        """Save the setting, so that a restarted twin continues in the same way."""
        if self._keep is None:
            return
        text = json.dumps(self.kept())
        try:
            write_private_text(self._keep, text)
        except OSError as error:
            raise OperationFailed(f"clock file {self._keep}: {error.strerror or error}") from None
