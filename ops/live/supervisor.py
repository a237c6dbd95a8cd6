"""Restart supervision: commands that are started again when they end, more and more patiently.

A process is started by this one directly, so that a signal meets it and no shell or supervisor in between.
"""

import contextlib
import logging
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from shared.basics.errors import InvalidInput, OperationFailed
from shared.runtimes.child_process import RESTARTS, dies_with_parent, end_with_parent

WRONG_USAGE = 2
"""The exit code of a command that would end in the same way again."""

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
GOOD_EXIT_CODES = {0, -signal.SIGTERM, -signal.SIGINT, 128 + signal.SIGTERM, 128 + signal.SIGINT}
"""How a command ends that was asked to; some catch the signal and say its number."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RestartPolicy:
    """How patiently a command is started again: after `wait_s_min`, then twice as long each time, up to
    `wait_s_max`; the shortest again after it ran for `good_s_min`. One that is asked to end has
    `stop_s_max` to do so."""

    wait_s_min: float = 0.2
    wait_s_max: float = 10.0
    good_s_min: float = 30.0
    stop_s_max: float = 10.0

    def next_wait_s(self, wait_s: float, ran_s: float) -> float:
        """Before the next start, after the last wait (0: there was none) and how long the command ran."""
        if ran_s >= self.good_s_min or not wait_s:
            return self.wait_s_min
        return min(2 * wait_s, self.wait_s_max)


DEFAULT_RESTART_POLICY = RestartPolicy()

OnExit = Callable[[str], None]
"""Is told a sentence for people."""


def exit_text(code: int) -> str:
    """An exit code as people say it."""
    if code >= 0:
        return f"exit code {code}"
    with contextlib.suppress(ValueError):
        return signal.Signals(-code).name
    return f"signal {-code}"


class SupervisedProcess:
    """One command, running from `start` until `stop` or until it is given up. Safe to use from several
    threads. `exits` are the codes with which it ended, minus a signal's number.

    `environment` is added to this process's own; output goes to the file `output`, or where this process's
    goes. `restarting` and `given_up` are told, in another thread, each end with the wait that follows, and
    why the command is not tried again.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        given_up: OnExit,
        restarting: OnExit = lambda _: None,
        environment: Mapping[str, str] | None = None,
        output: Path | None = None,
        policy: RestartPolicy = DEFAULT_RESTART_POLICY,
    ) -> None:
        self.name = name
        self.exits: list[int] = []
        self._command = list(command)
        self._environment = dict(environment or {})
        self._output = output
        self._policy = policy
        self._given_up = given_up
        self._restarting = restarting
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._gone = threading.Event()
        """While no process of it is there."""
        self._gone.set()

    def start(self) -> None:
        """Once. `stop` may follow at any moment, even if an interrupt ends this halfway."""
        # A process dies with the thread that started it: this one ends after the last that it started.
        threading.Thread(target=self._run, name=f"supervise {self.name}", daemon=True).start()

    @property
    def pid(self) -> int | None:
        """Its process while it runs."""
        process = self._process
        return process.pid if process is not None and process.returncode is None else None

    def send_signal(self, sign: signal.Signals) -> int | None:
        """Send a signal to the process itself; its pid, or None if it is just not running."""
        process, pid = self._process, self.pid
        if process is None or pid is None:
            return None
        process.send_signal(sign)
        return pid

    def ask_to_stop(self, sign: signal.Signals = signal.SIGTERM) -> None:
        """Let the process end, and start none again; `wait_stopped` is to follow."""
        self._stopping.set()
        with self._lock:  # none is just being started
            self.send_signal(signal.SIGCONT)  # one that stands still would hear it later
            self.send_signal(sign)

    def wait_stopped(self, seconds: float) -> int | None:
        """Until it has ended, killed if that takes longer: its last exit code; None if it did not run."""
        process = self._process
        if not self._gone.wait(seconds):
            log.warning(
                "%s: did not end within %.0f s of SIGTERM, killed", self.name, self._policy.stop_s_max
            )
            self.send_signal(signal.SIGKILL)
            self._gone.wait()
        return None if process is None else process.returncode

    def stop(self) -> int | None:
        """End it in good order, and killed if it does not follow: its exit code, None if it did not run."""
        self.ask_to_stop()
        return self.wait_stopped(self._policy.stop_s_max)

    def _run(self) -> None:
        """The thread: start, wait for the end, wait before the next start."""
        wait_s = 0.0
        while not self._stopping.wait(wait_s):
            began_s = time.monotonic()
            try:
                process = self._start()
            except (OSError, subprocess.SubprocessError) as error:
                why = getattr(error, "strerror", None) or error
                self._given_up(f"{self.name}: {self._command[0]}: {why}")
                return
            if process is None:
                return
            code = process.wait()
            self._gone.set()
            if self._stopping.is_set():
                return
            ran_s = time.monotonic() - began_s
            self._process = None
            self.exits.append(code)
            if code == WRONG_USAGE:
                self._given_up(f"{self.name}: exit code 2 after {ran_s:.1f} s, which is not tried again")
                return
            wait_s = self._policy.next_wait_s(wait_s, ran_s)
            self._restarting(
                f"{self.name}: {exit_text(code)} after {ran_s:.1f} s; "
                f"restart {len(self.exits)} in {wait_s:.1f} s"
            )

    def _start(self) -> "subprocess.Popen[bytes] | None":
        """None if it is to stop already."""
        with self._lock:
            if self._stopping.is_set():
                return None
            with contextlib.ExitStack() as stack:
                output = None if self._output is None else stack.enter_context(self._output.open("ab"))
                self._process = subprocess.Popen(  # noqa: S603 -- the caller's own command, no shell
                    self._command,
                    env=os.environ | self._environment | {RESTARTS: str(len(self.exits))},
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    preexec_fn=dies_with_parent(),  # noqa: PLW1509 -- three system calls, no lock
                )
            self._gone.clear()
            return self._process


class Supervisor:
    """Several processes under one policy, until `stop`; what each says is in `NAME.log` in the folder `logs`.
    Safe to use from several threads."""

    def __init__(
        self, environment: Mapping[str, str], logs: Path, policy: RestartPolicy = DEFAULT_RESTART_POLICY
    ) -> None:
        self._environment = dict(environment)
        self._logs = logs
        self._policy = policy
        self._processes: dict[str, SupervisedProcess] = {}
        self._dropped: dict[str, list[int]] = {}
        """Name → how processes of it ended by themselves that are kept no longer."""
        self._lock = threading.Lock()
        self._given_up: SimpleQueue[str] = SimpleQueue()

    def keep(self, name: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        """Start a command, and keep it running from now on; `environment` goes over that of all."""
        process = SupervisedProcess(
            name,
            command,
            given_up=self._given_up.put,
            environment=self._environment | dict(environment or {}),
            output=self._logs / f"{name}.log",
            policy=self._policy,
        )
        with self._lock:
            self._processes[name] = process  # first, so that `stop` ends it whatever happens meanwhile
            process.start()

    def drop(self, name: str, sign: signal.Signals = signal.SIGTERM) -> None:
        """End a process, in good order unless `sign` is SIGKILL, and keep it no longer."""
        with self._lock:
            process = self._processes.pop(name)
        self._end([process], sign)
        with self._lock:
            self._dropped.setdefault(name, []).extend(process.exits)

    def send_signal(self, name: str, sign: signal.Signals) -> int | None:
        """Send a signal to the process itself; its pid, or None if it is just not running."""
        with self._lock:
            process = self._processes.get(name)
        return None if process is None else process.send_signal(sign)

    def resume(self, pid: int) -> None:
        """End a pause, if that very process is still there."""
        with self._lock:
            for process in self._processes.values():
                if process.pid == pid:
                    process.send_signal(signal.SIGCONT)

    @property
    def names(self) -> list[str]:
        with self._lock:
            return list(self._processes)

    def pids(self) -> dict[str, int | None]:
        with self._lock:
            return {name: process.pid for name, process in self._processes.items()}

    def exits(self) -> dict[str, list[int]]:
        """Process → the codes with which it ended, in order, also of what was dropped; not the end by which
        it was."""
        with self._lock:
            found = {name: list(codes) for name, codes in self._dropped.items()}
            for name, process in self._processes.items():
                found[name] = [*found.get(name, ()), *process.exits]
            return found

    def check(self) -> None:
        """OperationFailed if a process was given up: it cannot be started, or is used wrongly."""
        if not self._given_up.empty():
            raise OperationFailed(self._given_up.get())

    def stop(self) -> None:
        """End all of them in good order, and killed where one does not follow."""
        with self._lock:
            processes, self._processes = list(self._processes.values()), {}
        self._end(processes, signal.SIGTERM)

    def _end(self, processes: Sequence[SupervisedProcess], sign: signal.Signals) -> None:
        for process in processes:
            process.ask_to_stop(sign)
        until_s = time.monotonic() + self._policy.stop_s_max
        for process in processes:
            process.wait_stopped(max(0.0, until_s - time.monotonic()))


def supervise(
    name: str,
    command: Sequence[str],
    *,
    with_parent: bool = False,
    policy: RestartPolicy = DEFAULT_RESTART_POLICY,
) -> int:
    """Run `command` in the foreground until SIGTERM or SIGINT, which end it too: 0 if it ended in good order.

    2, a wrong use that it refuses, is not tried again and is returned. InvalidInput if there is no such
    command. Called in the main thread. With `with_parent` the end of the process that called this one counts
    as a SIGTERM.
    """
    if with_parent:
        end_with_parent()
    with _stop_signals() as ends:
        process = SupervisedProcess(
            name, command, given_up=ends.put, restarting=lambda text: log.warning("%s", text), policy=policy
        )
        process.start()
        given_up = ends.get()
        code = process.stop()
    if given_up is None:
        return 0 if code is None or code in GOOD_EXIT_CODES else code if code > 0 else 128 - code
    if process.exits[-1:] == [WRONG_USAGE]:
        log.error("%s", given_up)
        return WRONG_USAGE
    raise InvalidInput(f"supervise {given_up}; must be a command that can be run")


@contextmanager
def _stop_signals() -> Iterator["SimpleQueue[str | None]"]:
    """A queue that gets None for every SIGTERM and SIGINT that comes meanwhile."""
    ends: SimpleQueue[str | None] = SimpleQueue()  # the one queue that a signal's handler may put into
    before = {sign: signal.signal(sign, lambda *_: ends.put(None)) for sign in STOP_SIGNALS}
    try:
        yield ends
    finally:
        for sign, handler in before.items():
            signal.signal(sign, handler)
