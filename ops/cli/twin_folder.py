"""Which twin's data folder a command means."""

from pathlib import Path

from ops.common.client import Client
from ops.common.twin_url import named_url
from shared.basics.errors import NotFound, TwinUnreachable


def folder_meant(data: Path | None) -> tuple[Path, Client | None]:
    """The folder that is given; without one, that of the twin that LIGHTWAVE_URL names, with who reaches
    that, and without a word of it and where none answers, the user's. NotFound where a twin has none,
    or it is not on this machine."""
    from ops.twin.data import default_data

    if data is not None:
        return data, None
    client = Client()
    try:
        about = client.thing("/v1/twin", "runtime", "place")
    except TwinUnreachable:
        if named_url() is not None:
            raise
        return default_data(), None
    place = Path(str(about["place"]))
    if about["runtime"] != "embedded":
        raise NotFound(
            f"twin at {client.url}: is live, without a data folder; Kafka and Redis, which keep it, are "
            "backed up"
        )
    if not place.is_dir():
        raise NotFound(f"twin at {client.url}: is kept in {place}, which is not on this machine; do it there")
    return place, client
