"""Telemetry frames as files: the newest ones of every fabric, each an Arrow IPC stream."""

from pathlib import Path

from shared.storage.log.lines import failure

FRAMES_MAX = 96
"""Frames kept of one fabric: a day at the default cadence."""


class TelemetryFolder:
    """`FOLDER/FABRIC/AT_US.arrows`. A frame written again is the same file: a redelivery is harmless."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

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
