"""Runs test stages side by side, measures them, and compares their times with their budgets."""

import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import IO

from tests.support import seeds
from tests.support.processes import busy_s, end, marked, tree_s, words_of

CORES = 2
"""Idle cores of the machine that budgets assume, and the number of stages that the gate runs at a time."""
IDLE_CORES = 0.25
"""If the machine's other processes use more cores than this, wall time says nothing about a stage."""
LEFT_S_MAX = 10.0
"""How long the processes of a stage may outlive it."""
POLL_S = 0.05
NOT_MEASURED = 77
"""Exit code of a command that could not measure what its stage proves. The stage does not fail, and its line
says so."""
MARK = "TEST_STAGE"
"""Environment variable that marks the processes of a stage."""
SLOWER = "TEST_SLOWER"
"""Environment variable that multiplies all budgets, for a slower machine."""
PYTEST = ("pytest", "--durations=5", "--durations-min=5")
PARALLEL = ("--numprocesses", str(CORES), "--no-loadscope-reorder", "--dist")


@dataclass(frozen=True)
class Stage:
    """Commands, or arguments of `pytest`. `budget_s` is the wall time of the stage in the gate.

    `dist` is how xdist distributes its tests to two processes when the stage runs alone. A stage that
    `rotates` runs only this commit's share of its files in the gate.
    """

    name: str
    proves: str
    commands: tuple[tuple[str, ...], ...] = ()
    tests: tuple[str, ...] = ()
    dist: str | None = None
    rotates: bool = False
    budget_s: float | None = None

    def lines(self, *, alone: bool, slow: bool) -> list[list[str]]:
        """Return the commands to run, one after another."""
        if not self.tests:
            return [list(command) for command in self.commands]
        words = [*PYTEST, *self.tests]
        if alone and self.dist is not None:
            words += [*PARALLEL, self.dist]
        if self.rotates and not (alone or slow):
            words.append("--rotate")
        if slow:
            words += ["--slow", "--hypothesis-profile=explore", f"--hypothesis-seed={os.environ[seeds.SEED]}"]
        return [words]


@dataclass(frozen=True)
class Result:
    """The result of a stage. `others` is the number of cores that the machine's other processes used
    meanwhile."""

    stage: Stage
    wall_s: float
    cpu_s: float
    others: float
    problems: tuple[str, ...]
    is_measured: bool = True

    def __str__(self) -> str:
        budget = "" if self.stage.budget_s is None else f" of {self.stage.budget_s * scale():.0f} s"
        line = f"== {self.stage.name}: {self.wall_s:.1f} s{budget}, CPU {self.cpu_s:.1f} s"
        if self.others > IDLE_CORES:
            line += f", other processes used {self.others:.1f} cores"
        return "; ".join([line, *([] if self.is_measured else ["NOT MEASURED"]), *self.problems])


class Meter:
    """Measures, since its creation, wall time, CPU time of our processes, and cores that others used."""

    def __init__(self) -> None:
        self._start = self._now()

    def read(self) -> tuple[float, float, float]:
        wall_s, own_s, all_s = (now - start for now, start in zip(self._now(), self._start, strict=True))
        return wall_s, own_s, max(0.0, all_s - own_s) / max(wall_s, POLL_S)

    def _now(self) -> tuple[float, float, float]:
        return time.monotonic(), tree_s(), busy_s()


@dataclass
class _Running:
    """A stage that runs, and its remaining commands."""

    stage: Stage
    lines: list[list[str]]
    output: IO[bytes] | None
    process: "subprocess.Popen[bytes]" = field(init=False)
    cpu_s: float = 0.0

    def __post_init__(self) -> None:
        self.meter = Meter()
        self.start_next()

    def start_next(self) -> None:
        self.process = subprocess.Popen(
            self.lines.pop(0),
            env=os.environ | {MARK: self.stage.name},
            stdin=subprocess.DEVNULL,
            stdout=self.output,
            stderr=self.output,
        )

    def exit_code(self) -> int | None:
        """Return the exit code of the current command; None while it runs."""
        pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
        if pid == 0:
            return None
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.cpu_s += usage.ru_utime + usage.ru_stime
        return self.process.returncode

    def result(self) -> Result:
        wall_s, _, others = self.meter.read()
        code = self.process.returncode
        failed = code not in (0, NOT_MEASURED)
        problems = [f"exit code {code} of {shlex.join(self.process.args)}"] if failed else []  # type: ignore[arg-type]  # a list of words
        if left := _left_behind(self.stage):
            problems.append(f"left processes behind: {', '.join(left)}")
        found = judged(self.stage, wall_s, self.cpu_s, others, problems)
        return replace(found, is_measured=code != NOT_MEASURED)

    def print_output(self) -> None:
        if self.output is not None:
            self.output.seek(0)
            write_lines(self.output.read().decode(errors="replace").rstrip())
            self.output.close()


def run(stages: Sequence[Stage], *, slow: bool, together: int) -> Iterator[Result]:
    """Run the stages in order, `together` at a time; without slow tests, start no more after a failure."""
    waiting, running = list(stages), list[_Running]()
    try:
        while running or waiting:
            while waiting and len(running) < together:
                running.append(_started(waiting.pop(0), slow=slow, alone=together == 1))
            time.sleep(POLL_S)
            for stage_run in list(running):
                code = stage_run.exit_code()
                if code == 0 and stage_run.lines:
                    stage_run.start_next()
                elif code is not None:
                    running.remove(stage_run)
                    stage_run.print_output()
                    result = stage_run.result()
                    if result.problems and not slow:
                        waiting.clear()
                    yield result
    finally:
        for stage_run in running:
            end(stage_run.process.pid)


def judged(stage: Stage, wall_s: float, cpu_s: float, others: float, problems: Sequence[str] = ()) -> Result:
    """Return the result of a stage, with one more problem if it took too long."""
    late = None
    if stage.budget_s is not None:
        late = over_budget(stage.budget_s * scale(), wall_s, cpu_s, others, cores=os.cpu_count() or 1)
    return Result(stage, wall_s, cpu_s, others, (*problems, *([late] if late else ())))


def over_budget(budget_s: float, wall_s: float, cpu_s: float, others: float, *, cores: int) -> str | None:
    """Return why a stage took too long, or None.

    On an otherwise idle machine, wall time counts. If other processes used the machine, or if it has fewer
    cores than budgets assume, only CPU time counts: at most the budget on every core.
    """
    if cpu_s > CORES * budget_s:
        return f"over its budget: more CPU time than {CORES} × {budget_s:.0f} s"
    if wall_s > budget_s and others <= IDLE_CORES and cores >= CORES:
        return f"over its budget of {budget_s:.0f} s"
    return None


def scale() -> float:
    """Return the factor by which this machine is slower than the one that budgets assume."""
    return float(os.environ.get(SLOWER, "1"))


def write_lines(*lines: str) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _started(stage: Stage, *, slow: bool, alone: bool) -> _Running:
    write_lines(f"== {stage.name} starts: {stage.proves}")
    return _Running(stage, stage.lines(alone=alone, slow=slow), None if alone else tempfile.TemporaryFile())


def _left_behind(stage: Stage) -> list[str]:
    """Kill the processes of the stage that still run; return them with their command lines."""
    mark, until_s = f"{MARK}={stage.name}", time.monotonic() + LEFT_S_MAX
    while (pids := marked(mark)) and time.monotonic() < until_s:
        time.sleep(POLL_S)
    names = [f"{pid} {words_of(pid)}" for pid in pids]
    for pid in pids:
        end(pid)
    return names
