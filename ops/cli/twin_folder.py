"""Which twin a command means, and where its data folder is."""

from dataclasses import dataclass
from pathlib import Path

from ops.common.client import Client
from ops.common.twin_url import named_url
from shared.basics.errors import NotFound, TwinUnreachable

KEPT_LIVE = "Kafka and Redis, which keep it, are backed up"


@dataclass(frozen=True, slots=True)
class TwinMeant:
    """A twin: `place` is its folder, or the name of a live one; `client` reaches it, None of one that is
    named by its folder."""

    place: str
    client: Client | None = None
    is_live: bool = False

    def folder(self, live: str = KEPT_LIVE) -> Path:
        """NotFound where it has none, for the reason that `live` says, or it is not on this machine."""
        if self.client is None:
            return Path(self.place)
        if self.is_live:
            raise NotFound(f"twin at {self.client.url}: is live, without a data folder; {live}")
        if not Path(self.place).is_dir():
            raise NotFound(
                f"twin at {self.client.url}: is kept in {self.place}, which is not on this machine; "
                "do it there"
            )
        return Path(self.place)


def twin_meant(data: Path | None) -> TwinMeant:
    """That of the folder that is given; without one, the twin that LIGHTWAVE_URL names, and without a word of
    it and where none answers, that of the user's folder."""
    from ops.twin.data import default_data

    if data is not None:
        return TwinMeant(str(data))
    client = Client()
    try:
        about = client.thing("/v1/twin", "runtime", "place")
    except TwinUnreachable:
        if named_url() is not None:
            raise
        return TwinMeant(str(default_data()))
    return TwinMeant(str(about["place"]), client, is_live=about["runtime"] == "live")


def folder_meant(data: Path | None, live: str = KEPT_LIVE) -> tuple[Path, Client | None]:
    """The folder of the twin that is meant, and who reaches it; NotFound as in `TwinMeant.folder`."""
    meant = twin_meant(data)
    return meant.folder(live), meant.client
