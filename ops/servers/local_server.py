"""A server of the live twin as a child process: started, waited for, ended, and started again with what it
held.

It dies with the process that started it, and its folder is locked for as long as it runs.
"""

import contextlib
import errno
import fcntl
import random
import signal
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from shared.basics.errors import InvalidInput, OperationFailed
from shared.runtimes.child_process import dies_with_parent

START_S_MAX = 60.0
STOP_S_MAX = 10.0
LOCK_S_MAX = 5.0
"""How long the folder of a server that was killed a moment ago may stay locked."""
LINES_SHOWN = 3
ESTABLISHED = "01"
"""How /proc/net/tcp says it."""

PORT_MIN = 10_240
CLIENT_PORT_MIN = 32_768
PORTS_TRIED = 100


class LocalServer(ABC):
    """One server on one folder and port. Not started before `start`; may be started again and again."""

    name: str
    """As people call it: Kafka."""

    def __init__(self, folder: Path, host: str, port: int) -> None:
        self.folder = folder.resolve()
        self.host = host
        self.port = port
        self._process: subprocess.Popen[bytes] | None = None
        # The kernel ends the server when the *thread* that started it ends. This one lasts as long as `self`.
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="local-server")

    @abstractmethod
    def answers(self) -> bool:
        """Whether it can be worked with, asked of itself."""

    @abstractmethod
    def _prepare(self) -> list[str]:
        """Make the folder ready, and return the command that runs the server in it."""

    @property
    def address(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def log(self) -> Path:
        """What the server says."""
        return self.folder / f"{self.name.lower()}.log"

    def start(self, *, wait: bool = True) -> None:
        """Start it where it does not run; OperationFailed, with the end of its log, if it cannot."""
        if not self.runs:
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                with self._locked() as lock:
                    check_free(self.name, self.host, self.port)
                    command = self._prepare()
                    self._process = self._starter.submit(self._spawn, command, lock).result()
            except OSError as error:
                raise OperationFailed(f"{self.name} in {self.folder}: {error.strerror or error}") from None
        if wait:
            self.wait_ready()

    def wait_ready(self, seconds: float = START_S_MAX) -> None:
        """Until it answers; OperationFailed if it ends instead, or not within this time."""
        until = time.monotonic() + seconds
        while self.runs and time.monotonic() < until:
            if self.answers():
                return
            time.sleep(0.02)
        raise OperationFailed(f"{self.name} in {self.folder} did not start: {self.last_words()}")

    def wait_end(self) -> int:
        """Until it ends: its exit code, or minus the signal's number."""
        return self._process.wait() if self._process is not None else 0

    def terminate(self) -> None:
        """Ask it to end in good order."""
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)  # a stopped one would hear it later
            self._process.terminate()

    def stop(self) -> None:
        """End it in good order; killed if it does not follow."""
        if self._process is not None:
            self.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_S_MAX)
            self.kill()

    def kill(self) -> None:
        """SIGKILL; it is gone when this returns."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def pause(self) -> None:
        """SIGSTOP: it stands still, with its connections open."""
        if self._process is not None:
            self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """The end of a pause."""
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)

    def clients(self) -> int:
        """How many connections it has from others; 0 where the system does not tell."""
        found = 0
        for table in ("tcp", "tcp6"):
            with contextlib.suppress(OSError):
                rows = [line.split() for line in Path("/proc/net", table).read_text().splitlines()[1:]]
                places = [place for _, place, _, state, *_ in rows if state == ESTABLISHED]
                found += sum(int(place.rpartition(":")[2], 16) == self.port for place in places)
        return found

    def last_words(self) -> str:
        """The end of its log, on one line."""
        lines = self.log.read_text(errors="replace").strip().splitlines() if self.log.exists() else []
        return " | ".join(line.strip() for line in lines[-LINES_SHOWN:]) or "it said nothing"

    def _spawn(self, command: list[str], lock: int) -> "subprocess.Popen[bytes]":
        with self.log.open("ab") as log:
            return subprocess.Popen(  # noqa: S603 -- a command of ours, no shell
                command,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[lock],
                preexec_fn=dies_with_parent(),  # noqa: PLW1509 -- three system calls, no lock
            )

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """A lock of the folder that the server inherits: it is free again when the server has ended."""
        until = time.monotonic() + LOCK_S_MAX
        with (self.folder / "lock").open("w") as lock:
            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > until:
                        raise OperationFailed(
                            f"{self.name} in {self.folder}: another one runs in this folder; "
                            "end it, or set LIGHTWAVE_DATA to another folder"
                        ) from None
                    time.sleep(0.02)
            yield lock.fileno()


def check_free(name: str, host: str, port: int) -> None:
    """InvalidInput if a server cannot listen here: trying the same again would not help."""
    try:
        (family, kind, *_, place), *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(place)
    except (OSError, OverflowError) as error:
        used = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        why = "another process listens there" if used else getattr(error, "strerror", None) or error
        raise InvalidInput(
            f"{name} cannot listen at {host}:{port}: {why}; allowed: a free port of this machine"
        ) from None


def free_port(host: str = "127.0.0.1") -> int:
    """A port that nobody listens at, and that the system gives to no client.

    A client that tries to reach a server that is down, at a port out of the system's range for clients, is
    given that very port in the end, and talks to itself: the server could then not come back.
    """
    for port in random.sample(range(PORT_MIN, _first_client_port()), PORTS_TRIED):
        with contextlib.suppress(InvalidInput):
            check_free("a server", host, port)
            return port
    raise OperationFailed(f"no free port at {host}")


def _first_client_port() -> int:
    try:
        first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except (OSError, ValueError):
        return CLIENT_PORT_MIN
    return first if first >= PORT_MIN + PORTS_TRIED else CLIENT_PORT_MIN
