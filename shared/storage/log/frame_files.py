"""Telemetry frames as files: the newest ones of every fabric, each an Arrow IPC stream."""

import contextlib
import logging
import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from shared.basics.errors import OperationFailed, OutOfFileDescriptors
from shared.storage.files.atomic_files import write_atomically
from shared.storage.files.file_errors import file_error
from shared.storage.files.own_files import read_own
from shared.storage.files.own_folders import is_own_folder, make_own_folders

FRAMES_MAX = 96
"""Frames kept of one fabric: a day at the default cadence."""

SHARE_MAX = 0.1
"""Default share of wall time that rendering frames may take. Beyond that, frames are skipped."""
COPY_SHARE_MAX = 0.02
"""Share of wall time that copies for frames to render later may take, for all names together."""
PAUSE_S_MAX = 0.5
"""Longest pause between two frames, per name. Limits the pause after the machine itself stalled."""
FREE_RENDER_S = 0.0005
"""A frame that renders faster never causes a skip. At 150,000 times real time, a name has 166 frames a
second."""

KeepFrame = Callable[[str, int, bytes], None]
"""Receives the name, the simulated time in microseconds and the content of a rendered frame."""

_NAME = re.compile(r"[0-9]{20}\.arrows")
"""Other files in the folder are ignored."""

log = logging.getLogger("lightwave.log")


class TelemetryFolder:
    """`FOLDER/FABRIC/AT_US.arrows`. Writing a frame again writes the same file, so redelivery is harmless.
    `newest` also receives each rendered frame, with its name."""

    def __init__(
        self,
        folder: Path,
        share_max: float = SHARE_MAX,
        newest: Callable[[str, bytes], object] | None = None,
    ) -> None:
        self.folder = folder
        self._share_max = share_max
        self._newest = newest
        self.lost = 0
        """Frames that could not be written."""
        self.not_rendered = 0
        """Frames skipped for lack of time."""
        self._next_s: dict[str, float] = {}
        self._next_copy_s: dict[str, float] = {}
        self._deferred: dict[str, tuple[int, Callable[[], bytes | None]]] = {}
        """The newest skipped frame by name: its time, and how to render it."""
        self._problems: dict[str, str] = {}

    @property
    def problems(self) -> list[str]:
        """Why the newest frame of a fabric is lost, one sentence per fabric."""
        return [*self._problems.copy().values()]

    def make(
        self,
        fabric: str,
        at_us: int,
        render: Callable[[], bytes | None],
        *,
        is_last_due: bool = False,
        freeze: Callable[[], Callable[[], bytes | None]] | None = None,
        keep: KeepFrame | None = None,
    ) -> None:
        """Render and keep a frame, or skip both if recent frames took so long that they would slow down the
        twin. No state depends on frames, and at 50,000 times real time nobody could view them all.

        A frame that `is_last_due` by the clock is never skipped, so that the newest readings are those that
        are due. Of skipped frames, `freeze` copies what the frame needs if there is time for that, and
        `render_deferred` renders the newest one. `keep` receives the frame, in place of the method `keep`.
        """
        began_s = time.perf_counter()
        if began_s < self._next_s.get(fabric, 0.0) and not is_last_due:
            self.not_rendered += 1
            self._defer(fabric, at_us, freeze)
            return
        self._deferred.pop(fabric, None)
        frame = render()
        if frame is not None:
            (keep or self.keep)(fabric, at_us, frame)
        took_s = time.perf_counter() - began_s
        if took_s > FREE_RENDER_S:
            names = len(self._next_s.keys() | {fabric})
            pause_s = min(took_s * (names / self._share_max - 1.0), PAUSE_S_MAX * names)
            self._next_s[fabric] = began_s + took_s + pause_s

    def _defer(
        self, fabric: str, at_us: int, freeze: Callable[[], Callable[[], bytes | None]] | None
    ) -> None:
        began_s = time.perf_counter()
        if freeze is None or began_s < self._next_copy_s.get(fabric, 0.0):
            return
        self._deferred[fabric] = at_us, freeze()
        now_s = time.perf_counter()
        names = len(self._next_s.keys() | {fabric})
        self._next_copy_s[fabric] = now_s + (now_s - began_s) * names / COPY_SHARE_MAX

    def render_deferred(self) -> None:
        """Render and keep the newest skipped frame of each name, if it was copied."""
        while self._deferred:
            fabric, (at_us, render) = self._deferred.popitem()
            self.not_rendered -= 1
            frame = render()
            if frame is not None:
                self.keep(fabric, at_us, frame)

    def keep(self, fabric: str, at_us: int, frame: bytes) -> None:
        """`put` for a running twin: a failed write loses the frame and is logged, because no state depends on
        frames. OutOfFileDescriptors is raised, because a retry may succeed."""
        try:
            self.put(fabric, at_us, frame)
            if self._newest is not None:
                self._newest(fabric, frame)
        except OutOfFileDescriptors:
            raise
        except OperationFailed as error:
            self.lost += 1
            problem = f"{error}; telemetry frames are lost until writes succeed"
            if self._problems.get(fabric) != problem:
                log.warning("%s", problem)
            self._problems[fabric] = problem
        else:
            self._problems.pop(fabric, None)

    def put(self, fabric: str, at_us: int, frame: bytes) -> None:
        """Write one frame atomically. Removes the oldest frames beyond FRAMES_MAX first, so that a full disk
        gets room. OperationFailed if that fails."""
        place = self.folder / fabric
        path = place / f"{at_us:020d}.arrows"
        try:
            make_own_folders(self.folder, place)
            before = [old for old in self._frames(place) if old != path.name]
            for old in before[: max(len(before) + 1 - FRAMES_MAX, 0)]:
                (place / old).unlink(missing_ok=True)
            write_atomically(path, frame)
        except OSError as error:
            raise file_error(place, error, "telemetry folder") from None

    def _frames(self, place: Path) -> list[str]:
        """The names of the frames in a folder, the oldest first. OSError if it, or that of all frames, is a
        link."""
        if not (is_own_folder(self.folder) and is_own_folder(place)):
            return []
        names = os.listdir(place)  # noqa: PTH208 -- 96 Paths take longer than a write
        return sorted(name for name in names if _NAME.fullmatch(name))

    def after(
        self, fabric: str, after_us: int, until_us: int | None = None, *, newest_first: bool = False
    ) -> Iterator[tuple[int, bytes]]:
        """(time, frame) of the stored frames after one time and up to another, oldest or newest first. Skips
        frames that are removed meanwhile. OperationFailed if one cannot be read."""
        place = self.folder / fabric
        try:
            frames = self._frames(place)
            for name in reversed(frames) if newest_first else frames:
                at_us = int(name.partition(".")[0])
                if after_us < at_us and (until_us is None or at_us <= until_us):
                    with contextlib.suppress(FileNotFoundError):
                        yield at_us, read_own(place / name)
        except OSError as error:
            raise file_error(place, error, "telemetry folder") from None

    def latest(self, fabric: str) -> bytes | None:
        """The newest frame, or None; OperationFailed if it cannot be read."""
        place = self.folder / fabric
        try:
            frames = self._frames(place)
            return read_own(place / frames[-1]) if frames else None
        except OSError as error:
            raise file_error(place, error, "telemetry folder") from None
