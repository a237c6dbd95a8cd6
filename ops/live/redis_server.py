"""A local Redis: Debian's, with an append-only file."""

import shutil
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from ops.live.local_server import LocalServer
from shared.errors import OperationFailed

ANSWER_S_MAX = 1.0
LASTING = {"save": "", "appendonly": "yes", "appendfsync": "everysec"}
"""What makes a confirmed write outlive a kill; a power cut may take the last second or two, of states and
positions together. docker-compose.yml has the same."""


class LocalRedis(LocalServer):
    """One Redis on one folder and port."""

    name = "Redis"

    def __init__(self, folder: Path, host: str = "127.0.0.1", port: int = 6379) -> None:
        super().__init__(folder, host, port)

    @property
    def url(self) -> str:
        return f"redis://{self.address}/0"

    def answers(self) -> bool:
        client = redis.Redis(
            self.host, self.port, socket_timeout=ANSWER_S_MAX, protocol=2, retry=Retry(NoBackoff(), 0)
        )
        try:
            with client:
                return bool(client.ping())
        except redis.RedisError:
            return False  # not there yet, or still reading its file

    def _prepare(self) -> list[str]:
        binary = shutil.which("redis-server")
        if binary is None:
            raise OperationFailed("Redis is not installed; on Debian: apt-get install redis-server")
        options = {"bind": self.host, "port": str(self.port), "dir": str(self.folder)} | LASTING
        return [binary, *(word for name, value in options.items() for word in (f"--{name}", value))]
