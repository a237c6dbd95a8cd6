"""`lightwave live keep`: run a command, and run it again when it ends, more and more patiently."""

import contextlib
import logging
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shared.basics.errors import InvalidInput
from shared.runtimes.child_process import dies_with_parent, end_with_parent

RESTARTS = "LIGHTWAVE_RESTARTS"
"""How often the command was started again, for the command itself to tell."""
WAIT_S_MIN = 0.2
WAIT_S_MAX = 10.0
GOOD_S_MIN = 30.0
"""A command that ran for this long ran well: the next wait is the shortest again."""
STOP_S_MAX = 10.0
WRONG_USAGE = 2
"""The exit code of a command that would end in the same way again."""

ENDING = {signal.SIGTERM, signal.SIGINT}
GOOD_ENDS = {0, -signal.SIGTERM, -signal.SIGINT, 128 + signal.SIGTERM, 128 + signal.SIGINT}
"""How a command ends that was asked to; some catch the signal and say its number."""

log = logging.getLogger(__name__)


def keep(
    name: str,
    command: Sequence[str],
    ready: Callable[[], object] | None = None,
    *,
    with_parent: bool = False,
) -> int:
    """Run `command` until SIGTERM or SIGINT, which end it too: 0 if it ended in good order.

    2, a wrong use that it refuses, is not tried again and is returned. Blocks the signals that it waits for,
    so a process that calls this does nothing else. `ready` is waited for before the first start; with
    `with_parent` the end of the process that called this one counts as a SIGTERM.
    """
    if with_parent:
        end_with_parent()
    if ready is not None:
        ready()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING | {signal.SIGCHLD})
    try:
        return _Keeper(name, list(command)).run()
    finally:
        while signal.sigtimedwait(ENDING | {signal.SIGCHLD}, 0):
            pass  # asked more than once: it has ended
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def next_wait_s(wait_s: float, ran_s: float) -> float:
    """How long to wait before the next start, after the last wait and how long the command ran since."""
    if ran_s >= GOOD_S_MIN or not wait_s:
        return WAIT_S_MIN
    return min(2 * wait_s, WAIT_S_MAX)


def how_it_ended(code: int) -> str:
    """An exit code as people say it."""
    if code >= 0:
        return f"exit code {code}"
    with contextlib.suppress(ValueError):
        return signal.Signals(-code).name
    return f"signal {-code}"


@dataclass
class _Keeper:
    """One command, and how often it was started again."""

    name: str
    command: list[str]
    restarts: int = 0
    wait_s: float = 0.0

    def run(self) -> int:
        while True:
            began = time.monotonic()
            with self._start() as process:
                code = self._attend(process)
                if code is None:
                    return self._end(process)
            ran_s = time.monotonic() - began
            if code == WRONG_USAGE:
                log.error("%s: exit code 2 after %.1f s, which is not tried again", self.name, ran_s)
                return code
            self.wait_s = next_wait_s(self.wait_s, ran_s)
            self.restarts += 1
            log.warning(
                "%s: %s after %.1f s; restart %d in %.1f s",
                *(self.name, how_it_ended(code), ran_s, self.restarts, self.wait_s),
            )
            if signal.sigtimedwait(ENDING, self.wait_s):
                return 0

    def _start(self) -> "subprocess.Popen[bytes]":
        tie = dies_with_parent()

        def at_fork() -> None:
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            if tie is not None:
                tie()

        try:
            return subprocess.Popen(  # noqa: S603 -- the caller's own command, no shell
                self.command,
                stdin=subprocess.DEVNULL,
                env=os.environ | {RESTARTS: str(self.restarts)},
                preexec_fn=at_fork,  # noqa: PLW1509 -- four system calls, and this process has one thread
            )
        except OSError as error:
            raise InvalidInput(
                f"keep {self.name}: {self.command[0]}: {error.strerror}; allowed: a command that can be run"
            ) from None

    def _attend(self, process: "subprocess.Popen[bytes]") -> int | None:
        """Until the command ends, its exit code; None if this process is to end instead."""
        while (code := process.poll()) is None:
            if signal.sigwait(ENDING | {signal.SIGCHLD}) in ENDING:
                return None
        return code

    def _end(self, process: "subprocess.Popen[bytes]") -> int:
        """End the command, in good order if it follows; the exit code to end with."""
        process.send_signal(signal.SIGCONT)
        process.terminate()
        try:
            code = process.wait(STOP_S_MAX)
        except subprocess.TimeoutExpired:
            log.warning("%s: did not end within %.0f s of SIGTERM, killed", self.name, STOP_S_MAX)
            process.kill()
            code = process.wait()
        if code in GOOD_ENDS:
            return 0
        return code if code > 0 else 128 - code
