"""A server as a child process: start, wait, stop, and restart with its data.

It dies with the process that started it, and its folder is locked while it runs.
"""

import contextlib
import fcntl
import os
import signal
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import IO, ClassVar

from shared.basics.errors import OperationFailed
from shared.runtimes.child_process import dies_with_parent
from shared.runtimes.poll import poll_until
from shared.storage.files.own_files import open_own
from shared.storage.files.own_folders import check_no_links

STOP_S_MAX = 10.0
LOCK_S_MAX = 5.0
"""How long the folder of a killed server may stay locked."""
LINES_SHOWN = 3
LOG_TAIL_BYTES = 64 * 1024


class LocalServer(ABC):
    """One server on one folder; can be started repeatedly."""

    name: ClassVar[str]
    """The server's name for people, such as Kafka."""
    start_s_max: ClassVar[float] = 60.0
    """How long it may take to answer."""
    lock_advice: ClassVar[str] = "stop it"
    """What to do about another server in its folder."""

    def __init__(self, folder: Path) -> None:
        self._given = folder
        self.folder = folder.resolve()
        self._process: subprocess.Popen[bytes] | None = None
        # The kernel kills the server when the *thread* that started it ends: keep one as long as `self`.
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="local-server")

    @abstractmethod
    def answers(self) -> bool:
        """Whether the server answers."""

    @abstractmethod
    def _prepare(self) -> list[str]:
        """Prepare the folder, and return the command that runs the server in it."""

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def log(self) -> Path:
        """The server's log file."""
        return self.folder / f"{self.name.lower()}.log"

    def start(self, *, wait: bool = True) -> None:
        """Start it if it does not run; OperationFailed, with the end of its log, if it cannot start."""
        if not self.runs:
            try:
                # The server opens its files itself, and follows links.
                check_no_links(self._given.parent, (), files_too=[self._given.name])
                self.folder.mkdir(parents=True, exist_ok=True)
                with self._locked() as lock:
                    command = self._prepare()
                    self._process = self._starter.submit(self._spawn, command, lock).result()
            except OSError as error:
                raise self._failed(error) from None
        if wait:
            self.wait_ready()

    def _failed(self, error: OSError) -> OperationFailed:
        """An error of the operating system, with the file of this folder that caused it."""
        named = Path(str(error.filename or self.folder))
        about = "" if named in (self.folder, self._given) else f"{named.name}: "
        return OperationFailed(f"{self.name} in {self._given}: {about}{error.strerror or error}")

    def wait_ready(self, seconds: float | None = None) -> None:
        """Wait until it answers; OperationFailed if it exits, or does not answer in time."""
        limit_s = self.start_s_max if seconds is None else seconds
        is_ready = poll_until(lambda: not self.runs or self.answers(), limit_s)
        if not self.runs:
            raise OperationFailed(f"{self.name} in {self.folder} did not start: {self.log_tail()}")
        if not is_ready:
            raise OperationFailed(
                f"{self.name} in {self.folder} runs, but did not answer within {limit_s:g} s; the machine is "
                f"busy: try again (its log: {self.log_tail()})"
            )

    def wait_end(self) -> int:
        """Wait until it exits; returns its exit code, or minus the signal's number."""
        return self._process.wait() if self._process is not None else 0

    def terminate(self) -> None:
        """Send SIGTERM."""
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)  # a paused process would handle SIGTERM later
            self._process.terminate()

    def stop(self) -> None:
        """Stop it gracefully; kill it after a timeout."""
        if self._process is not None:
            self.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_S_MAX)
            self.kill()

    def kill(self) -> None:
        """SIGKILL; the server is gone on return."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def pause(self) -> None:
        """SIGSTOP: it hangs with open connections."""
        if self._process is not None:
            self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT after a pause."""
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)

    def log_tail(self) -> str:
        """The end of its log, on one line."""
        try:
            with open_own(self.log) as log:
                log.seek(max(0, os.fstat(log.fileno()).st_size - LOG_TAIL_BYTES))
                lines = log.read(LOG_TAIL_BYTES).decode(errors="replace").strip().splitlines()
        except OSError:
            lines = []
        return " | ".join(line.strip() for line in lines[-LINES_SHOWN:]) or "its log is empty"

    def _spawn(self, command: list[str], lock: int) -> "subprocess.Popen[bytes]":
        with open_own(self.log, "ab") as log:
            return subprocess.Popen(  # noqa: S603 -- our own command, no shell
                command,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[lock],
                restore_signals=False,  # SIGXFSZ stays ignored: a file size limit acts like a full disk
                preexec_fn=dies_with_parent(),  # noqa: PLW1509 -- three system calls, no lock
            )

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """A folder lock that the server inherits; the kernel releases it when the server exits."""
        with open_own(self.folder / "lock", "wb") as lock:
            if not poll_until(lambda: _is_locked(lock), LOCK_S_MAX):
                raise OperationFailed(
                    f"{self.name} in {self.folder}: another server runs in this folder; {self.lock_advice}"
                )
            yield lock.fileno()


def _is_locked(file: IO[bytes]) -> bool:
    """Whether this process has the lock of a file now."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
