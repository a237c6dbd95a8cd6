"""The soak's own supervision: processes that are started again whenever they end, and that faults may strike.

A process is started by this one directly, so that a signal meets it and no supervisor in between.
"""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue

from ops.live.keep import RESTARTS
from shared.runtimes.child_process import dies_with_parent

LOOK_S = 0.05
WAIT_S = (0.2, 3.0)
"""Before a process is started again: at first, and at most, twice as long each time it does not last."""
LASTED_S = 10.0
STOP_S_MAX = 15.0


@dataclass(slots=True)
class Kept:
    """One process and its supervision; `exits` are the codes with which it ended, minus a signal's number."""

    name: str
    command: Sequence[str]
    log: Path
    process: "subprocess.Popen[bytes] | None" = None
    exits: list[int] = field(default_factory=list)
    wait_s: float = WAIT_S[0]
    began_s: float = 0.0
    again_s: float = 0.0

    @property
    def pid(self) -> int | None:
        """Its process while it runs."""
        process = self.process
        return process.pid if process is not None and process.returncode is None else None


class Supervisor:
    """Starts processes and starts them again, until `stop`. Safe to use from several threads."""

    def __init__(self, environment: Mapping[str, str], logs: Path) -> None:
        self._environment = dict(environment)
        self._logs = logs
        self._kept: dict[str, Kept] = {}
        self._lock = threading.RLock()
        self._ended = threading.Event()
        self._failed: SimpleQueue[OSError] = SimpleQueue()
        # A process dies with the thread that started it: this one starts them all, and ends last.
        self._thread = threading.Thread(target=self._run, name="supervisor", daemon=True)
        self._thread.start()

    def keep(self, name: str, command: Sequence[str]) -> None:
        """Start a command, and keep it running from now on."""
        with self._lock:
            self._kept[name] = Kept(name, command, self._logs / f"{name}.log")

    def drop(self, name: str) -> None:
        """End a process in good order, and keep it no longer."""
        with self._lock:
            kept = self._kept.pop(name)
        _end([kept])

    def lose(self, name: str) -> None:
        """Kill a process, and keep it no longer."""
        with self._lock:
            process = self._kept.pop(name).process
        if process is not None:
            process.kill()
            process.wait()

    def signal(self, name: str, sign: signal.Signals) -> int | None:
        """Send a signal to the process itself; its pid, or None if it is just not running."""
        with self._lock:
            kept = self._kept.get(name)
            pid = kept.pid if kept is not None else None
            if kept is None or kept.process is None or pid is None:
                return None
            kept.process.send_signal(sign)
            return pid

    def resume(self, pid: int) -> None:
        """End a pause, if that very process is still there."""
        with self._lock:
            for kept in self._kept.values():
                if kept.pid == pid and kept.process is not None:
                    kept.process.send_signal(signal.SIGCONT)

    @property
    def names(self) -> list[str]:
        with self._lock:
            return list(self._kept)

    def pids(self) -> dict[str, int | None]:
        with self._lock:
            return {name: kept.pid for name, kept in self._kept.items()}

    def exits(self) -> dict[str, list[int]]:
        """Process → the codes with which it ended, in order."""
        with self._lock:
            return {name: list(kept.exits) for name, kept in self._kept.items()}

    def check(self) -> None:
        """OSError if a process could not be started at all."""
        if not self._failed.empty():
            raise self._failed.get()

    def stop(self) -> None:
        """End all of them in good order, and killed where one does not follow."""
        with self._lock:
            kept, self._kept = list(self._kept.values()), {}
        _end(kept)
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(LOOK_S):
            with self._lock:
                for kept in self._kept.values():
                    self._attend(kept)

    def _attend(self, kept: Kept) -> None:
        now_s = time.monotonic()
        if kept.process is not None:
            code = kept.process.poll()
            if code is None:
                return
            kept.exits.append(code)
            kept.process = None
            lasted = now_s - kept.began_s > LASTED_S
            kept.wait_s = WAIT_S[0] if lasted else min(2 * kept.wait_s, WAIT_S[1])
            kept.again_s = now_s + kept.wait_s
        if now_s >= kept.again_s:
            try:
                kept.process = self._start(kept)
            except OSError as error:
                self._failed.put(error)
                kept.again_s = now_s + WAIT_S[1]
            kept.began_s = now_s

    def _start(self, kept: Kept) -> "subprocess.Popen[bytes]":
        with kept.log.open("ab") as log:
            return subprocess.Popen(  # noqa: S603 -- a command of ours, no shell
                list(kept.command),
                env=os.environ | self._environment | {RESTARTS: str(len(kept.exits))},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=dies_with_parent(),  # noqa: PLW1509 -- three system calls, no lock
            )


def _end(kept: Sequence[Kept]) -> None:
    running = [k.process for k in kept if k.process is not None]
    for process in running:
        process.send_signal(signal.SIGCONT)
        process.terminate()
    until_s = time.monotonic() + STOP_S_MAX
    for process in running:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, until_s - time.monotonic()))
        process.kill()
        process.wait()
