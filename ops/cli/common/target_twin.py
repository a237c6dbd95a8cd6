"""Finds the twin that a command addresses, and its data folder."""

from dataclasses import dataclass
from pathlib import Path

from ops.client.http_client import Client, url_from_environment
from shared.basics.errors import NotFound, TwinUnreachable

LIVE_BACKUP_HINT = "Kafka and Redis, which keep it, are backed up"


@dataclass(frozen=True, slots=True)
class TargetTwin:
    """A twin: `place` is its folder, or the name of a live one; `client` reaches it, None of one that is
    named by its folder."""

    place: str
    client: Client | None = None
    is_live: bool = False

    def folder(self, live: str = LIVE_BACKUP_HINT) -> Path:
        """NotFound where it has none, for the reason that `live` says, or it is not on this machine."""
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
    """That of the folder that is given; without one, the twin that LIGHTWAVE_URL names, and without a word of
    it and where none answers, that of the user's folder."""
    from ops.twin.data_folder import default_data

    if data is not None:
        return TargetTwin(str(data))
    client = Client()
    try:
        about = client.resource("/v1/twin", "runtime", "place")
    except TwinUnreachable:
        if url_from_environment() is not None:
            raise
        return TargetTwin(str(default_data()))
    return TargetTwin(str(about["place"]), client, is_live=about["runtime"] == "live")


def target_folder(data: Path | None, live: str = LIVE_BACKUP_HINT) -> tuple[Path, Client | None]:
    """The folder of the twin that is meant, and who reaches it; NotFound as in `TwinMeant.folder`."""
    meant = target_twin(data)
    return meant.folder(live), meant.client
