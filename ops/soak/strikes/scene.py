"""What every strike is given: the twin, and what it needs to come to an end."""

import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from ops.soak.flood import Flooder
from ops.soak.twin import WholeTwin
from shared.basics.errors import OperationFailed
from shared.runtimes.child_process import dies_with_parent

LOOK_S = 0.1
COMMAND_S_MAX = 180.0
AGAIN_S = 1.0


class SoakEnded(Exception):
    """The soak ends while a strike goes on."""


@dataclass(frozen=True, slots=True)
class Done:
    """A command that ended; minus a signal's number where one ended it."""

    words: tuple[str, ...]
    code: int
    told: str
    complained: str

    def __str__(self) -> str:
        last = (self.complained or self.told).strip().splitlines()[-1:] or ["said nothing"]
        return f"`lightwave {' '.join(self.words)}` ended with {self.code}: {last[0]}"


@dataclass
class Scene:
    """`problems` is what strikes find that must not be, `floods` the clients that they sent."""

    twin: WholeTwin
    problems: list[str] = field(default_factory=list)
    floods: list[Flooder] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    def hold(self, seconds: float) -> None:
        """Wait; SoakEnded if the soak ends meanwhile."""
        if self.ended.wait(seconds):
            raise SoakEnded

    def command(
        self, *words: str, kill_after_s: float | None = None, environment: Mapping[str, str] | None = None
    ) -> Done:
        """One `lightwave` command of the twin to its end, or killed so long after its start."""
        with tempfile.TemporaryFile("w+") as told, tempfile.TemporaryFile("w+") as complained:
            process = subprocess.Popen(  # noqa: S603 -- a command of ours, no shell
                [*self.twin.options.program, *words],
                env=os.environ | self.twin.environment | dict(environment or {}),
                stdin=subprocess.DEVNULL,
                stdout=told,
                stderr=complained,
                preexec_fn=dies_with_parent(),  # noqa: PLW1509 -- three system calls, no lock
            )
            try:
                self._await(process, COMMAND_S_MAX if kill_after_s is None else kill_after_s)
            finally:
                process.kill()
                process.wait()
            told.seek(0)
            complained.seek(0)
            return Done(words, process.returncode, told.read(), complained.read())

    def command_until_done(self, *words: str, environment: Mapping[str, str] | None = None) -> Done:
        """The same, again while it fails, as a person would who waits for Kafka and Redis."""
        until_s = time.monotonic() + COMMAND_S_MAX
        while (done := self.command(*words, environment=environment)).code:
            if time.monotonic() > until_s:
                raise OperationFailed(f"{done}, again and again for {COMMAND_S_MAX:.0f} s")
            self.hold(AGAIN_S)
        return done

    def _await(self, process: "subprocess.Popen[bytes]", seconds: float) -> None:
        until_s = time.monotonic() + seconds
        while process.poll() is None and time.monotonic() < until_s:
            self.hold(min(LOOK_S, max(0.0, until_s - time.monotonic())))
