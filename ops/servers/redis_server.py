"""A local Redis: Debian's, with an append-only file."""

import logging
import re
import shutil
import subprocess
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from ops.servers.tcp_server import TcpServer
from shared.basics.errors import OperationFailed
from shared.storage.files.own_files import open_own

log = logging.getLogger("lightwave.live")

ANSWER_S_MAX = 1.0
DURABLE_SETTINGS = {"save": "", "appendonly": "yes", "appendfsync": "everysec"}
"""Settings with which a confirmed write survives a kill. A power cut may lose the last second or two, of
states and positions alike. docker-compose.yml has the same."""


APPEND_ONLY = "appendonlydir"
TRANSACTION_BEGIN, TRANSACTION_END = b"*1\r\n$5\r\nMULTI\r\n", b"\r\n$4\r\nEXEC\r\n"
ANALYZED = re.compile(r"AOF analyzed: filename=(\S+\.incr\.aof), size=\d+, ok_up_to=(\d+),")


def cut_torn_transaction(checker: str, folder: Path) -> int:
    """Remove an incomplete transaction from the end of the append-only file; returns the number of bytes
    removed.

    Call before the server starts. The server itself reports any other damage. Redis 7.0 removes only the
    truncated command: at the second start, it would apply the rest of the transaction together with the next
    one.
    """
    (manifest, *_) = [*(folder / APPEND_ONLY).glob("*.manifest"), None]
    if manifest is None:
        return 0
    done = subprocess.run([checker, str(manifest)], capture_output=True, text=True, check=False)  # noqa: S603 -- its own path
    found = ANALYZED.findall(done.stdout)
    if not found:
        return 0
    name, sound = found[-1]
    with open_own(folder / APPEND_ONLY / name, "ab+") as file:
        file.seek(int(sound))
        rest = file.read()
        if not rest.startswith(TRANSACTION_BEGIN) or TRANSACTION_END in rest:
            return 0
        file.truncate(int(sound))
    return len(rest)


class LocalRedis(TcpServer):
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
            return False  # not started yet, or still loading its file

    def _command(self) -> list[str]:
        binary, checker = shutil.which("redis-server"), shutil.which("redis-check-aof")
        if binary is None or checker is None:
            raise OperationFailed("Redis is not installed; on Debian: apt-get install redis-server")
        half = cut_torn_transaction(checker, self.folder)
        if half:
            log.warning(
                "Redis in %s: removed an incomplete transaction of %d bytes from the end of its file",
                self.folder,
                half,
            )
        options = {"bind": self.host, "port": str(self.port), "dir": str(self.folder)} | DURABLE_SETTINGS
        return [binary, *(word for name, value in options.items() for word in (f"--{name}", value))]
