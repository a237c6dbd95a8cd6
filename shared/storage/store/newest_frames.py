"""The newest telemetry frames in Redis: of every name one, whoever rendered it and wherever it is asked for.

Those of before are files (`shared.storage.log.telemetry_frames`), and on Kafka in a live twin. A frame is no
part of a
commit: nothing is made of it, so that one that comes twice, or late, does no harm.
"""

from collections.abc import Callable

from shared.storage.log.telemetry_frames import TelemetryFolder
from shared.storage.store.redis_store import RedisStore


def newest_frame_reader(store: RedisStore, folder: TelemetryFolder) -> Callable[[str], bytes | None]:
    """The newest frame of a name: the one that Redis has, and until it has one (its states were made again,
    or it was emptied) the newest file."""

    def newest(name: str) -> bytes | None:
        return store.frame(name) or folder.latest(name)

    return newest
