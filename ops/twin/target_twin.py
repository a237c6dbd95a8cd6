"""Finds the twin that a command addresses, and its data folder."""

from dataclasses import dataclass
from pathlib import Path

from ops.client.http_client import Client, TwinSilent, url_from_environment
from shared.basics.errors import NotFound, TwinUnreachable

LIVE_BACKUP_HINT = "Kafka and Redis, which keep it, are backed up"


@dataclass(frozen=True, slots=True)
class TargetTwin:
    """A twin: `place` is its folder, or a live twin's name. `client` is None if the user gave a folder."""

    place: str
    client: Client | None = None
    is_live: bool = False

    def folder(self, live: str = LIVE_BACKUP_HINT) -> Path:
        """The data folder. Raises NotFound if the twin is live (`live` is the reason), or on another
        machine."""
        if self.client is None:
            return Path(self.place)
        if self.is_live:
            raise NotFound(
                f"twin at {self.client.url}: runs on Kafka and Redis, without a data folder; {live}"
            )
        if not Path(self.place).is_dir():
            raise NotFound(
                f"twin at {self.client.url}: its folder {self.place} is not on this machine; "
                "run the command there"
            )
        return Path(self.place)


def target_twin(data: Path | None) -> TargetTwin:
    """The twin in `data`, or else at LIGHTWAVE_URL, or else at the default URL.

    If LIGHTWAVE_URL is not set and no twin answers, the twin in the user's state folder.
    """
    from ops.twin.data_folder import default_data

    if data is not None:
        return TargetTwin(str(data))
    client = Client()
    try:
        about = client.resource("/v1/twin", "runtime", "place")
    except TwinUnreachable as error:
        if url_from_environment() is not None or isinstance(error, TwinSilent):
            raise
        return TargetTwin(str(default_data()))
    return TargetTwin(str(about["place"]), client, is_live=about["runtime"] == "live")


def target_folder(data: Path | None, live: str = LIVE_BACKUP_HINT) -> tuple[Path, Client | None]:
    """The addressed twin's folder and its client. Raises NotFound as in `TargetTwin.folder`."""
    meant = target_twin(data)
    return meant.folder(live), meant.client
