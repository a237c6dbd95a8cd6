"""Restart supervision: restart commands when they exit, with exponential back-off.

This process starts each command directly, so that signals reach the command and not a shell in between.
"""

import contextlib
import logging
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from shared.basics.errors import InvalidInput, OperationFailed
from shared.runtimes.child_process import RESTARTS, dies_with_parent, end_with_parent
from shared.runtimes.stop_signals import STOP_SIGNALS, signals_handled_by

WRONG_USAGE = 2
"""Exit code of a command that would fail in the same way again."""

GOOD_EXIT_CODES = {0, *(code for number in STOP_SIGNALS for code in (-number, 128 + number))}
"""Exit codes after a requested stop; some commands catch the signal and return its number."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RestartPolicy:
    """Back-off of restarts: `wait_s_min`, then twice as long each time, up to `wait_s_max`.

    The back-off resets after a run of `good_s_min`. A command that does not stop is killed after
    `stop_s_max`.
    """

    wait_s_min: float = 0.2
    wait_s_max: float = 10.0
    good_s_min: float = 30.0
    stop_s_max: float = 10.0

    def next_wait_s(self, wait_s: float, ran_s: float) -> float:
        """Wait before the next start, from the last wait (0: none) and the duration of the run."""
        if ran_s >= self.good_s_min or not wait_s:
            return self.wait_s_min
        return min(2 * wait_s, self.wait_s_max)


DEFAULT_RESTART_POLICY = RestartPolicy()

OnExit = Callable[[str], None]
"""Receives a sentence for people."""


def exit_text(code: int) -> str:
    """An exit code as text."""
    if code >= 0:
        return f"exit code {code}"
    with contextlib.suppress(ValueError):
        return signal.Signals(-code).name
    return f"signal {-code}"


class SupervisedProcess:
    """One command that runs from `start` until `stop` or until it is given up. Thread-safe.

    `exits` are its exit codes; a signal counts as minus its number. `environment` is added to this process's
    own. Output goes to the file `output`, or to this process's output. In another thread, `restarting`
    receives each exit with the wait that follows, and `given_up` the reason why the command is not restarted.
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
        """Set while no process of this command exists."""
        self._gone.set()

    def start(self) -> None:
        """Start; call once. `stop` may follow at any time, even if an interrupt ends this call halfway."""
        # A process dies with the thread that started it: this one ends after the last that it started.
        threading.Thread(target=self._run, name=f"supervise {self.name}", daemon=True).start()

    @property
    def pid(self) -> int | None:
        """The process id while it runs, else None."""
        process = self._process
        return process.pid if process is not None and process.returncode is None else None

    def send_signal(self, sign: signal.Signals) -> int | None:
        """Send a signal to the process; returns its pid, or None if it does not run now."""
        process, pid = self._process, self.pid
        if process is None or pid is None:
            return None
        process.send_signal(sign)
        return pid

    def ask_to_stop(self, sign: signal.Signals = signal.SIGTERM) -> None:
        """Ask the process to stop, and do not restart it; call `wait_stopped` afterwards."""
        self._stopping.set()
        with self._lock:  # no start is in progress
            self.send_signal(signal.SIGCONT)  # a paused process would receive the next signal later
            self.send_signal(sign)

    def wait_stopped(self, seconds: float) -> int | None:
        """Wait until it has exited, and kill it after `seconds`. Returns its exit code; None if it did not
        run."""
        process = self._process
        if not self._gone.wait(seconds):
            log.warning(
                "%s: did not stop within %.0f s of SIGTERM; killed it", self.name, self._policy.stop_s_max
            )
            self.send_signal(signal.SIGKILL)
            self._gone.wait()
        return None if process is None else process.returncode

    def stop(self) -> int | None:
        """Stop it, and kill it if it does not stop in time. Returns its exit code; None if it did not run."""
        self.ask_to_stop()
        return self.wait_stopped(self._policy.stop_s_max)

    def _run(self) -> None:
        """The thread: start, wait for the exit, wait before the next start."""
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
                self._given_up(f"{self.name}: exit code 2 after {ran_s:.1f} s, will not restart it")
                return
            wait_s = self._policy.next_wait_s(wait_s, ran_s)
            self._restarting(
                f"{self.name}: {exit_text(code)} after {ran_s:.1f} s; "
                f"restart {len(self.exits)} in {wait_s:.1f} s"
            )

    def _start(self) -> "subprocess.Popen[bytes] | None":
        """Start the process; None if `stop` was called."""
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
    """Several processes under one policy, until `stop`. Each writes to `NAME.log` in the folder `logs`.
    Thread-safe."""

    def __init__(
        self, environment: Mapping[str, str], logs: Path, policy: RestartPolicy = DEFAULT_RESTART_POLICY
    ) -> None:
        self._environment = dict(environment)
        self._logs = logs
        self._policy = policy
        self._processes: dict[str, SupervisedProcess] = {}
        self._dropped: dict[str, list[int]] = {}
        """Name → exit codes of dropped processes."""
        self._lock = threading.Lock()
        self._given_up: SimpleQueue[str] = SimpleQueue()

    def keep(self, name: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        """Start a command and keep it running; `environment` overrides the common one."""
        process = SupervisedProcess(
            name,
            command,
            given_up=self._given_up.put,
            environment=self._environment | dict(environment or {}),
            output=self._logs / f"{name}.log",
            policy=self._policy,
        )
        with self._lock:
            self._processes[name] = process  # first, so that a concurrent `stop` includes it
            process.start()

    def drop(self, name: str, sign: signal.Signals = signal.SIGTERM) -> None:
        """Stop a process with `sign`, and do not restart it."""
        with self._lock:
            process = self._processes.pop(name)
        self._end([process], sign)
        with self._lock:
            self._dropped.setdefault(name, []).extend(process.exits)

    def send_signal(self, name: str, sign: signal.Signals) -> int | None:
        """Send a signal to the process; returns its pid, or None if it does not run now."""
        with self._lock:
            process = self._processes.get(name)
        return None if process is None else process.send_signal(sign)

    def resume(self, pid: int) -> None:
        """Resume a paused process, if that process still runs."""
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
        """Process → its exit codes in order, including dropped processes, without the exit due to the
        drop."""
        with self._lock:
            found = {name: list(codes) for name, codes in self._dropped.items()}
            for name, process in self._processes.items():
                found[name] = [*found.get(name, ()), *process.exits]
            return found

    def check(self) -> None:
        """Raise OperationFailed if a process was given up: it cannot be started, or its usage is wrong."""
        if not self._given_up.empty():
            raise OperationFailed(self._given_up.get())

    def stop(self) -> None:
        """Stop all processes; kill each that does not stop in time."""
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
    beside: Callable[[SupervisedProcess], AbstractContextManager[object]] = nullcontext,
) -> int:
    """Run `command` in the foreground until SIGTERM, SIGINT or SIGHUP, which also stop it; 0 if it stopped as
    requested.

    Exit code 2 (wrong usage) is returned without a restart. Raises InvalidInput if the command cannot be run.
    Call in the main thread. With `with_parent`, the exit of the parent process counts as a SIGTERM. `beside`
    is entered while the process is supervised.
    """
    if with_parent:
        end_with_parent()
    with _stop_signals() as ends:
        process = SupervisedProcess(
            name, command, given_up=ends.put, restarting=lambda text: log.warning("%s", text), policy=policy
        )
        process.start()
        with beside(process):
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
    """A queue that receives None for every stop signal."""
    ends: SimpleQueue[str | None] = SimpleQueue()  # the only queue that a signal handler may use
    with signals_handled_by(lambda *_: ends.put(None)):
        yield ends
