"""Progress and stop flag of a lab run's worker processes, in a small file that all of them map into
memory."""

import math
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread

import numpy as np
from numpy.typing import NDArray

POLL_S = 0.2
"""Seconds of wall time between two polls, both of the progress display and of a run's check of the stop
flag."""


@dataclass(frozen=True, slots=True)
class SharedProgress:
    """Slot n is the finished share of site n, 0 to 1; the last slot is the stop flag."""

    path: Path
    sites: int

    def publish(self, site: int, share: float) -> None:
        """Set the finished share of a site."""
        self._slots()[site] = share

    def share(self) -> float:
        """Return the finished share of all sites."""
        return float(self._slots()[:-1].mean())

    def stop(self) -> None:
        """Request that every site stops."""
        self._slots()[-1] = 1.0

    def stop_check(self) -> Callable[[], bool]:
        """Return a function that tells whether all sites must stop. It is cheap enough to call after every
        cascade, because it reads the flag only from time to time."""
        checked_s, stopped = -math.inf, False

        def poll() -> bool:
            nonlocal checked_s, stopped
            if not stopped and time.monotonic() - checked_s >= POLL_S:
                checked_s, stopped = time.monotonic(), bool(self._slots()[-1])
            return stopped

        return poll

    def _slots(self) -> NDArray[np.float64]:
        return np.memmap(self.path, np.float64, "r+", shape=(self.sites + 1,))


@contextmanager
def open_shared_progress(sites: int, progress: Callable[[float], None] | None) -> Iterator[SharedProgress]:
    """Open the shared progress of `sites` sites; `progress` receives the total while it is open."""
    with tempfile.TemporaryDirectory(prefix="lightwave-lab-") as folder:
        path = Path(folder) / "board"
        path.write_bytes(np.zeros(sites + 1).tobytes())
        board, ended = SharedProgress(path, sites), Event()

        def poll() -> None:
            while progress is not None and not ended.wait(POLL_S):
                progress(board.share())

        watcher = Thread(target=poll, daemon=True)
        watcher.start()
        try:
            yield board
        finally:
            ended.set()
            watcher.join()
            if progress is not None:
                progress(board.share())
