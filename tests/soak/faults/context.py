"""The context of every fault action: the twin, and helpers with a bounded wait."""

import os
import signal
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from shared.runtimes.child_process import dies_with_parent
from tests.soak.operators import FloodClient
from tests.soak.whole_twin import WholeTwin

POLL_S = 0.1
COMMAND_S_MAX = 180.0
RETRY_S = 1.0
RUNNING_S_MAX = 60.0
"""Time within which the target of a fault must run."""
KILL_POLL_S = 0.02


class SoakEnded(Exception):
    """The soak ends during a fault."""


class TwinDeviated(Exception):
    """The twin deviates and can no longer be checked; `str()` is the problem."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The result of a command; `code` is minus the signal's number if a signal ended it."""

    words: tuple[str, ...]
    code: int
    stdout: str
    stderr: str

    def __str__(self) -> str:
        last = (self.stderr or self.stdout).strip().splitlines()[-1:] or ["no output"]
        return f"`lightwave {' '.join(self.words)}` exited with code {self.code}: {last[0]}"


@dataclass
class FaultContext:
    """The twin, and records of the faults.

    `problems` are problems that faults found, `missed` faults without effect, `floods` their clients, and
    `sent` the number of signals per process.
    """

    twin: WholeTwin
    problems: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    sent: Counter[tuple[str, signal.Signals]] = field(default_factory=Counter)
    floods: list[FloodClient] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)
    expect_stop: Callable[[bool], None] = lambda _: None
    """Call with True before a planned stop of the twin, and with False when it can continue."""
    upgraded: list[str] = field(default_factory=list)
    """Sites whose states the next version took over."""

    def hold(self, seconds: float) -> None:
        """Wait; SoakEnded if the soak ends meanwhile."""
        if self.ended.wait(seconds):
            raise SoakEnded

    def wait_until(self, found: Callable[[], bool], seconds: float = RUNNING_S_MAX) -> bool:
        """Wait until `found()` is true; False if that takes longer than `seconds`."""
        until_s = time.monotonic() + seconds
        while not found():
            if time.monotonic() > until_s:
                return False
            self.hold(POLL_S)
        return True

    def send(self, name: str, sign: signal.Signals) -> int | None:
        """Send a signal to a process of the twin; its pid, or None if it is just not running."""
        self.sent[name, sign] += 1  # first, for its end may be seen at once
        pid = self.twin.supervisor.send_signal(name, sign)
        if pid is None:
            self.sent[name, sign] -= 1
        return pid

    def signal(self, names: Sequence[str], sign: signal.Signals) -> list[int]:
        """Send a signal to the running processes among `names`, as soon as there is one; returns their pids.

        If none starts to run, that is a problem, because the twin had recovered before this burst."""
        pids: list[int] = []

        def met() -> bool:
            pids.extend(pid for name in names if (pid := self.send(name, sign)) is not None)
            return bool(pids)

        if not self.wait_until(met):
            self.problems.append(
                f"{sign.name} had no target: for {RUNNING_S_MAX:.0f} s none of {', '.join(names)} ran"
            )
        return pids

    def command(
        self,
        *words: str,
        kill_after_s: float | None = None,
        begun: Callable[[int], bool] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> CommandResult:
        """Run one `lightwave` command of the twin to its end, or kill it.

        It is killed `kill_after_s` after its start, or after `begun(pid)` became true."""
        with tempfile.TemporaryFile("w+") as stdout, tempfile.TemporaryFile("w+") as stderr:
            process = subprocess.Popen(
                [*self.twin.options.program, *words],
                env=os.environ | self.twin.environment | dict(environment or {}),
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                preexec_fn=dies_with_parent(),  # noqa: PLW1509 -- three system calls, no lock
            )
            try:
                if begun is not None:
                    self._await(process, COMMAND_S_MAX, begun)
                self._await(process, COMMAND_S_MAX if kill_after_s is None else kill_after_s)
            finally:
                process.kill()
                process.wait()
            stdout.seek(0)
            stderr.seek(0)
            return CommandResult(words, process.returncode, stdout.read(), stderr.read())

    def command_until_done(self, *words: str, environment: Mapping[str, str] | None = None) -> CommandResult:
        """Run a command, and retry while it fails, as an operator would. TwinDeviated if it keeps failing,
        although the servers run."""
        until_s = time.monotonic() + COMMAND_S_MAX
        while (done := self.command(*words, environment=environment)).code:
            if time.monotonic() > until_s:
                raise TwinDeviated(f"{done}, again and again for {COMMAND_S_MAX:.0f} s")
            self.hold(RETRY_S)
        return done

    def _await(
        self,
        process: "subprocess.Popen[bytes]",
        seconds: float,
        begun: Callable[[int], bool] = lambda _: False,
    ) -> None:
        """Wait until it exits or has begun, at most `seconds`."""
        until_s = time.monotonic() + seconds
        while process.poll() is None and time.monotonic() < until_s and not begun(process.pid):
            self.hold(min(KILL_POLL_S, max(0.0, until_s - time.monotonic())))
