"""Runs a swarm: draws, judges and shrinks the combinations of many seeds, in several processes."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from signal import SIG_IGN

from joblib import Parallel, delayed

from ops.drills.swarm.combination import Combination, lab_drill_of
from ops.drills.swarm.draw import draw_combination
from ops.drills.swarm.judge import COST_RATIO_MAX, Judgement, Problem, Stopped, judge
from ops.drills.swarm.shrink import Shrunk, shrink
from ops.lab.shared_progress import SharedProgress, open_shared_progress
from shared.runtimes.process_pool import worker_death_reported
from shared.runtimes.stop_signals import signals_handled_by

TRIES_MAX = 150
"""Runs that shrinking one combination may take."""
COST_TRIES_MAX = 25
"""The same for a combination that costs too much, each of whose tries takes long."""


@dataclass(frozen=True, slots=True)
class SwarmPlan:
    """The seeds, the wall time in seconds, and how many processes run them."""

    seeds: range
    budget_s: float
    jobs: int = 1
    shrinks: bool = True
    judges_cost: bool = True


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem, and the smallest combination that shows it. `ratio` is the measured cost of one message in
    calm hours, for problems of cost only."""

    problem: Problem
    shrunk: Shrunk
    ratio: float | None = None


@dataclass(frozen=True, slots=True)
class SeedResult:
    """What one seed showed. `status` is that of its drill; None if the swarm ended before."""

    seed: int
    status: str | None
    messages: int = 0
    ratio: float | None = None
    findings: tuple[Finding, ...] = ()


@dataclass
class SwarmResult:
    """What a swarm showed. `ended_by` is `budget` or `signal` if not all seeds ran."""

    seeds_planned: int
    seeds_run: int = 0
    messages: int = 0
    ended_by: str | None = None
    stop_signal: int | None = None
    statuses: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    worst_ratio: float | None = None

    def add(self, one: SeedResult) -> list[Finding]:
        """Add the result of a seed; return its findings whose sign is new."""
        if one.status is None:
            return []
        self.seeds_run += 1
        self.messages += one.messages
        self.statuses[one.status] += 1
        self.worst_ratio = max([r for r in (self.worst_ratio, one.ratio) if r is not None], default=None)
        known = {finding.problem.sign for finding in self.findings}
        fresh = [finding for finding in one.findings if finding.problem.sign not in known]
        self.findings += fresh
        return fresh


def run_swarm(plan: SwarmPlan, seen: Callable[[SwarmResult, SeedResult, list[Finding]], None]) -> SwarmResult:
    """Run a swarm until all seeds have run, the budget is over, or the first stop signal arrives. Calls
    `seen` after each seed, in order of the seeds, with the findings that are new."""
    result = SwarmResult(len(plan.seeds))
    deadline_s = time.monotonic() + plan.budget_s
    with worker_death_reported(), open_shared_progress(1, None) as board:
        with signals_handled_by(SIG_IGN):  # workers ignore Ctrl-C, which reaches them too
            results = _results(plan, deadline_s, board)
        with _stopping(board, result):
            for one in results:
                seen(result, one, result.add(one))
    if result.seeds_run < result.seeds_planned:
        result.ended_by = "budget" if result.stop_signal is None else "signal"
    return result


def _results(plan: SwarmPlan, deadline_s: float, board: SharedProgress) -> Iterator[SeedResult]:
    if plan.jobs == 1:
        return (run_seed(seed, plan, deadline_s, board) for seed in plan.seeds)
    found: Iterator[SeedResult] = Parallel(n_jobs=plan.jobs, return_as="generator")(
        delayed(run_seed)(seed, plan, deadline_s, board) for seed in plan.seeds
    )
    return found


@contextmanager
def _stopping(board: SharedProgress, result: SwarmResult) -> Iterator[None]:
    """The first stop signal ends the swarm with what it has found; the second one ends the process."""

    def stop(number: int, _frame: object) -> None:
        if result.stop_signal is not None:
            raise KeyboardInterrupt
        result.stop_signal = number
        board.stop()

    with signals_handled_by(stop):
        yield


def run_seed(seed: int, plan: SwarmPlan, deadline_s: float, board: SharedProgress) -> SeedResult:
    """Draw, judge and shrink the combination of a seed. After the deadline it returns at once."""
    is_stopped = board.stop_check()

    def stop() -> bool:
        return time.monotonic() > deadline_s or is_stopped()

    if stop():
        return SeedResult(seed, None)
    combination = draw_combination(seed)
    try:
        judged = judge(lab_drill_of(combination), stop)
    except Stopped:
        return SeedResult(seed, None)
    findings = [_shrunk(combination, problem, stop, plan) for problem in judged.problems]
    ratio = cost_ratio(judged)
    if plan.judges_cost and ratio is not None and ratio > COST_RATIO_MAX:
        findings += _costly(combination, ratio, stop, plan)
    return SeedResult(seed, judged.status, judged.messages, ratio, tuple(findings))


def cost_ratio(judged: Judgement) -> float | None:
    """The cost of the most expensive window in calm hours; None if none was judged."""
    return None if judged.cost is None else judged.cost.ratio


def _shrunk(combination: Combination, problem: Problem, stop: Callable[[], bool], plan: SwarmPlan) -> Finding:
    """The finding with the smallest combination that shows a problem of the same sign."""

    def still_fails(one: Combination) -> bool | None:
        try:
            found = judge(lab_drill_of(one), stop)
        except Stopped:
            return None
        return any(other.sign == problem.sign for other in found.problems)

    if not plan.shrinks:
        return Finding(problem, Shrunk(combination, 0, is_minimal=False))
    return Finding(problem, shrink(combination, still_fails, TRIES_MAX))


def _costly(
    combination: Combination, ratio: float, stop: Callable[[], bool], plan: SwarmPlan
) -> Sequence[Finding]:
    """A finding of cost, if a second run confirms it: CPU time varies, and a first run also pays for what
    later ones find in caches. Shrinking keeps what is too expensive in both of two runs."""

    def least(one: Combination) -> float | None:
        ratios = [cost_ratio(judge(lab_drill_of(one), stop)) for _ in range(2)]
        return min([0.0 if found is None else found for found in ratios])

    def still_fails(one: Combination) -> bool | None:
        try:
            found = least(one)
        except Stopped:
            return None
        return found is not None and found > COST_RATIO_MAX

    try:
        confirmed = cost_ratio(judge(lab_drill_of(combination), stop))
    except Stopped:
        return ()
    if confirmed is None or confirmed <= COST_RATIO_MAX:
        return ()
    problem = Problem("cost", "a message costs more than ten times one of a calm hour")
    start = Shrunk(combination, 0, is_minimal=False)
    found = shrink(combination, still_fails, COST_TRIES_MAX) if plan.shrinks else start
    return (replace(Finding(problem, found), ratio=min(ratio, confirmed)),)
