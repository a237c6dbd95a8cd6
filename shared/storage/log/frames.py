"""Telemetry frames as files: the newest ones of every fabric, each an Arrow IPC stream."""

import logging
from pathlib import Path

from shared.basics.errors import OperationFailed, OutOfFiles
from shared.storage.log.lines import failure

FRAMES_MAX = 96
"""Frames kept of one fabric: a day at the default cadence."""

log = logging.getLogger("lightwave.log")


class TelemetryFolder:
    """`FOLDER/FABRIC/AT_US.arrows`. A frame written again is the same file: a redelivery is harmless.
    `problems` says of each fabric why its newest frame is lost, `lost` how many frames are."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lost = 0
        self._problems: dict[str, str] = {}

    @property
    def problems(self) -> list[str]:
        return [*self._problems.copy().values()]

    def keep(self, fabric: str, at_us: int, frame: bytes) -> None:
        """`put` for a twin, which goes on without a frame that cannot be written: nothing is made of frames.
        OutOfFiles as it is raised there, for another try will do."""
        try:
            self.put(fabric, at_us, frame)
        except OutOfFiles:
            raise
        except OperationFailed as error:
            self.lost += 1
            problem = f"{error}; telemetry frames are lost until they can be written"
            if self._problems.get(fabric) != problem:
                log.warning("%s", problem)
            self._problems[fabric] = problem
        else:
            self._problems.pop(fabric, None)

    def put(self, fabric: str, at_us: int, frame: bytes) -> None:
        """Write one frame and remove the oldest beyond FRAMES_MAX; OperationFailed if that is impossible."""
        place = self.folder / fabric
        try:
            place.mkdir(parents=True, exist_ok=True)
            (place / f"{at_us:020d}.arrows").write_bytes(frame)
            frames = sorted(place.glob("*.arrows"))
            for old in frames[:-FRAMES_MAX]:
                old.unlink(missing_ok=True)
        except OSError as error:
            raise failure(place, error, "telemetry folder") from None

    def latest(self, fabric: str) -> bytes | None:
        """The newest frame, or None; OperationFailed if it cannot be read."""
        place = self.folder / fabric
        try:
            frames = sorted(place.glob("*.arrows"))
            return frames[-1].read_bytes() if frames else None
        except OSError as error:
            raise failure(place, error, "telemetry folder") from None
