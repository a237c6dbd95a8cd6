"""How far the worker processes of a lab run are, and whether they shall stop: numbers in one small file that
all of them map into memory."""

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
"""Wall time between two looks: of whoever shows the progress, and of a run at whether it shall stop."""


@dataclass(frozen=True, slots=True)
class SharedProgress:
    """Slot n holds the share of site n that is done, 0 to 1; the last one is set when all shall stop."""

    path: Path
    sites: int

    def publish(self, site: int, share: float) -> None:
        """Say how far a site is."""
        self._slots()[site] = share

    def share(self) -> float:
        """The share of all sites that is done."""
        return float(self._slots()[:-1].mean())

    def stop(self) -> None:
        """Let every site stop where it is."""
        self._slots()[-1] = 1.0

    def stop_check(self) -> Callable[[], bool]:
        """Whether all shall stop: may be asked after every cascade, and is looked up now and then."""
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
    """A board for so many sites, of which `progress` is told while it is open."""
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
