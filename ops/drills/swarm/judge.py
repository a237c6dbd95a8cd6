"""Judges a combination: runs it in the lab, and reports what the product did wrong.

Problems are found in the log: broken invariants, starvation, and a drill that does not end. They are the same
in every run. An error of the product is a problem as well. The cost of the run is measured in CPU time, so it
differs from run to run; it is kept apart.
"""

import gc
import re
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from ops.drills.lab_run import AFTER_LEASE_US, LabDrill
from ops.drills.swarm.starvation import StarvationChecker
from ops.invariants import AllCheckers
from schemas.envelope import Envelope
from schemas.messages.drill_requests import RunDrill
from schemas.messages.drills import DrillEnded, DrillRefused
from services.fabric_kinds import services_of
from shared.basics.units import US_PER_HOUR
from shared.engine.site_driver import LabRequest
from shared.runtimes.lab import Lab

ProblemKind = Literal["invariant", "starved", "not-ended", "error", "cost"]
CALM_HOURS = 6
"""The calm hours are the last ones of the warm-up; with a shorter one, its second half."""
WINDOW_MESSAGES = 100
"""Hours of a drill are joined until they have this many messages, because single messages differ in cost."""
WINDOW_CPU_S = 0.1
"""Windows with less CPU time are not judged: the clock is too coarse."""
COST_RATIO_MAX = 10.0
"""A drill costs too much if a window costs more than this many times a calm hour, per message."""
PROBLEMS_MAX = 20
_NUMBER = re.compile(r"\d+")


class Stopped(Exception):
    """The run was stopped before its end."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What went wrong, in one sentence. `sign` is equal for problems of the same cause, as far as one can
    tell: the kind and the sentence without numbers."""

    kind: ProblemKind
    sentence: str

    @property
    def sign(self) -> str:
        return f"{self.kind}: {_NUMBER.sub('#', self.sentence)}"


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU seconds per message: of the calm hours, and of the most expensive window of the drill; None if no
    window was judged."""

    calm_s: float
    worst_s: float | None

    @property
    def ratio(self) -> float | None:
        """Worst by calm."""
        return None if self.worst_s is None or not self.calm_s else self.worst_s / self.calm_s


@dataclass(frozen=True, slots=True)
class Judgement:
    """The problems of a run, each sign once; how the drill ended; and the cost of the run."""

    problems: tuple[Problem, ...]
    status: str
    reason: str | None
    messages: int
    cost: Cost | None


@dataclass
class _Run:
    """The run of one drill: the messages since the last check, and what the checkers found."""

    plan: LabDrill
    stop: Callable[[], bool]
    invariants: AllCheckers
    fresh: list[Envelope] = field(default_factory=list)
    problems: dict[str, Problem] = field(default_factory=dict)
    ended: DrillEnded | DrillRefused | None = None
    messages: int = 0
    starvation: dict[str, StarvationChecker] = field(default_factory=dict)
    hours: list[tuple[int, float]] = field(default_factory=list)
    """(messages, CPU seconds) of each hour."""

    def observe(self, cascade: Sequence[Envelope]) -> None:
        self.fresh += cascade
        for message in cascade:
            if isinstance(message.body, DrillEnded | DrillRefused):
                self.ended = message.body

    def add(self, kind: ProblemKind, sentence: str) -> None:
        found = Problem(kind, sentence)
        if len(self.problems) < PROBLEMS_MAX:
            self.problems.setdefault(found.sign, found)

    def check(self) -> None:
        """Check the fresh messages."""
        for message in self.fresh:
            for sentence in self.invariants.see(message):
                self.add("invariant", sentence.partition(" ")[2])
            checker = self.starvation.setdefault(message.fabric, StarvationChecker())
            for sentence in checker.see(message):
                self.add("starved", f"{message.fabric}: {sentence}")
        self.messages += len(self.fresh)
        self.fresh = []


def judge(plan: LabDrill, stop: Callable[[], bool] = lambda: False) -> Judgement:
    """Run a drill in the lab to its end, and judge it. Raises Stopped if `stop` returns True meanwhile."""
    run = _Run(plan, stop, AllCheckers())
    calm_hours = 0
    try:
        with _no_gc():
            lab = Lab(plan.site.site, plan.site.fabrics, services_of, None, run.observe)
            _advance(run, lab, plan.warm_up_us - 1)
            calm_hours = len(run.hours)
            request = RunDrill(plan=plan.drill.plan, seed=plan.seed)
            _advance(run, lab, _last_us(plan), LabRequest(plan.warm_up_us, plan.drill.fabric, request, 1))
    except Stopped:
        raise
    except Exception as error:  # noqa: BLE001 -- any error of the product is a finding
        run.add("error", _error_sentence(error))
    else:
        if run.ended is None:
            run.add("not-ended", "the drill has not ended an hour after its lease and its last phase")
    ended = run.ended
    return Judgement(
        problems=tuple(run.problems.values()),
        status=ended.status if isinstance(ended, DrillEnded) else "none" if ended is None else "refused",
        reason=None if ended is None else ended.reason,
        messages=run.messages,
        cost=_cost(run.hours[:calm_hours], run.hours[calm_hours:]),
    )


def _last_us(plan: LabDrill) -> int:
    return plan.warm_up_us + plan.drill.plan.lease_us + plan.drill.plan.verify_us + AFTER_LEASE_US


def _advance(run: _Run, lab: Lab, until_us: int, request: LabRequest | None = None) -> None:
    """Run hour by hour until a time, or the end of the drill. Only the lab's own CPU time is measured."""
    at_us = lab.site.now_us if request is None else request.at_us
    requests = () if request is None else (request,)
    while at_us < until_us and run.ended is None:
        if run.stop():
            raise Stopped
        at_us = min(at_us + US_PER_HOUR, until_us)
        before_s = time.process_time()
        lab.run(at_us, requests, lambda: run.ended is not None)
        run.hours.append((len(run.fresh), time.process_time() - before_s))
        requests = ()
        run.check()


@contextmanager
def _no_gc() -> Iterator[None]:
    """Measure without garbage collection, which can hit any message."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _error_sentence(error: Exception) -> str:
    """The error with the place where it was raised."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = frame.filename.rpartition("/site-packages/")[2].split("/")[-3:]
    text = str(error).partition("\n")[0][:200]
    return f"{type(error).__name__} in {'/'.join(place)}, {frame.name}: {text}"


# --- cost ---------------------------------------------------------------------------------------------------

Hours = Sequence[tuple[int, float]]


def _cost(warm_up: Hours, drill: Hours) -> Cost | None:
    """The cost of the calm hours and of the most expensive window of the drill; None without calm hours."""
    calm = warm_up[-min(CALM_HOURS, max(1, len(warm_up) // 2)) :]
    messages = sum(count for count, _ in calm)
    if not messages:
        return None
    each = [cpu_s / count for count, cpu_s in windows(drill) if cpu_s >= WINDOW_CPU_S]
    return Cost(sum(cpu_s for _, cpu_s in calm) / messages, max(each, default=None))


def windows(hours: Hours) -> Iterator[tuple[int, float]]:
    """Join successive hours into windows of at least `WINDOW_MESSAGES`; a shorter rest is left out."""
    count, cpu_s = 0, 0.0
    for messages, seconds in hours:
        count, cpu_s = count + messages, cpu_s + seconds
        if count >= WINDOW_MESSAGES:
            yield count, cpu_s
            count, cpu_s = 0, 0.0
