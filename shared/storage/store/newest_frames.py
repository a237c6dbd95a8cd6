"""The newest telemetry frame of every name, in Redis.

Older frames are files (`shared.storage.log.frame_files`), and on Kafka in a live twin. Frames are not
part of a commit. No state depends on them, so a repeated or late frame does no harm.
"""

from collections.abc import Callable

from shared.storage.log.frame_files import TelemetryFolder
from shared.storage.store.redis_store import RedisStore


def newest_frame_reader(store: RedisStore, folder: TelemetryFolder) -> Callable[[str], bytes | None]:
    """Returns a function that reads the newest frame of a name from Redis. If Redis has none (after a rebuild
    or a flush), it reads the newest file."""

    def newest(name: str) -> bytes | None:
        return store.frame(name) or folder.latest(name)

    return newest
