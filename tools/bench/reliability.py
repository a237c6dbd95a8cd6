"""Group `reliability`: machine repair by the three forms of the kernel, compared with the same model in
SimPy."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from statistics import median
from typing import Any

import numpy as np

from shared.basics.errors import InvalidInput, OperationFailed
from shared.models.availability.machine_repair import machine_repair
from shared.models.reliability.compiled_kernel import compiled
from shared.models.reliability.down_counts import count_down
from shared.models.reliability.failure_kernel import FailureHistory, Loop, plain, simulate
from shared.models.reliability.repair_shop import machine_shop
from tools.bench.figure import BenchFigure

MACHINES, CREWS, FAILURE_RATE, REPAIR_RATE = 1_024, 12, 0.008, 1.0
"""On average two thirds of the crews work. The unit of time is the mean repair time."""
BEGIN = 8
"""Machines down at the start where only counts are kept: about the mean."""
ROUNDS = 7
SEED = 7
COUNTED = 4_000_000


@dataclass(frozen=True, slots=True)
class KernelForm:
    """A way to compute the mean number down: its function, and the events of one round."""

    name: str
    events: int
    run: Callable[[int], tuple[int, float]]
    """Requested number of events → (actual number of events, mean number down)."""


def measure_reliability(quick: bool) -> list[BenchFigure]:
    """Measure the events per second of each way, in turns. Failures and completed repairs are events."""
    share = 10 if quick else 1
    ways = (
        KernelForm("SimPy", 100_000 // share, _by_simpy()),
        KernelForm("identities", 400_000 // share, lambda events: _identities(events, plain)),
        KernelForm("identities, compiled", COUNTED // share, lambda events: _identities(events, compiled())),
        KernelForm("counts", COUNTED // share, _counts),
    )
    _check_equal(20_000)  # also compiles
    pace: dict[str, list[float]] = {way.name: [] for way in ways}
    down = {}
    for n in range(ROUNDS):
        for way in ways if n % 2 else ways[::-1]:
            began = time.perf_counter()
            events, down[way.name] = way.run(way.events)
            pace[way.name].append(events / (time.perf_counter() - began))
    expected = machine_repair(MACHINES, CREWS, FAILURE_RATE, REPAIR_RATE).mean_down
    off = abs(down["counts"] / expected - 1.0)
    return [*_figures(pace), _error(off, ways[-1].events)]


def _figures(pace: dict[str, list[float]]) -> Iterator[BenchFigure]:
    how = f"{MACHINES:,} machines, {CREWS} crews; median of {ROUNDS} rounds in turns, failures and repairs"
    for name, rates in pace.items():
        goal = "the peer" if name == "SimPy" else "-"
        yield BenchFigure(f"machine repair, {name}", round(median(rates)), "1/s", goal, how)
    for name, least in (("identities", 5), ("identities, compiled", 50), ("counts", 150)):
        ratios = [own / peer for own, peer in zip(pace[name], pace["SimPy"], strict=True)]
        yield BenchFigure(
            f"machine repair, {name} over SimPy",
            round(median(ratios), 1),
            "ratio",
            f"at least {least}",
            "median of the rounds' ratios",
        )


def _error(off: float, events: int) -> BenchFigure:
    how = f"mean number down of {events:,} events, against the birth-death chain's"
    return BenchFigure("machine repair, error of counts", round(100.0 * off, 3), "%", "below 0.3", how)


def _span(events: int) -> float:
    """Return the time that this many events take."""
    rate = machine_repair(MACHINES, CREWS, FAILURE_RATE, REPAIR_RATE).failures_per_time
    return events / (2.0 * rate)


def _history(events: int, loop: Loop) -> FailureHistory:
    shop = machine_shop(MACHINES, CREWS, FAILURE_RATE, REPAIR_RATE)
    return simulate(shop, SEED, _span(events), loop)


def _identities(events: int, loop: Loop) -> tuple[int, float]:
    found = _history(events, loop)
    return found.events, found.mean_down()


def _check_equal(events: int) -> None:
    """Check that both forms give the same bits."""
    slow, fast = _history(events, plain), _history(events, compiled())
    for name in ("part", "failed", "asked", "began", "mended"):
        if not np.array_equal(getattr(slow, name), getattr(fast, name), equal_nan=True):
            raise OperationFailed(f"the compiled kernel's {name} differ from the plain one's")


def _counts(events: int) -> tuple[int, float]:
    found = count_down(
        MACHINES,
        CREWS,
        FAILURE_RATE,
        REPAIR_RATE,
        seed=SEED,
        replications=4_000,
        events=events // 4_000,
        warm_up=300,
        begin=BEGIN,
    )
    return found.events, found.down


def _by_simpy() -> Callable[[int], tuple[int, float]]:
    """Return the peer: a process per machine, a resource of crews, and a list of events. Raises InvalidInput
    if SimPy is not installed."""
    try:
        import simpy
    except ImportError:
        raise InvalidInput(
            "--only reliability: SimPy, the peer, is not installed; run `pip install simpy`"
        ) from None

    def machine(env: Any, crews: Any, draws: Random, number: int, kept: list[tuple[float, ...]]) -> Any:
        while True:
            yield env.timeout(draws.expovariate(FAILURE_RATE))
            failed = env.now
            with crews.request() as request:
                yield request
                began = env.now
                yield env.timeout(draws.expovariate(REPAIR_RATE))
            kept.append((number, failed, began, env.now))

    def run(events: int) -> tuple[int, float]:
        env, draws, kept = simpy.Environment(), Random(SEED), list[tuple[float, ...]]()  # noqa: S311 -- the peer's draws
        crews = simpy.Resource(env, capacity=CREWS)
        for number in range(MACHINES):
            env.process(machine(env, crews, draws, number, kept))
        span = _span(events)
        env.run(until=span)
        return 2 * len(kept), sum(mended - failed for _, failed, _, mended in kept) / span

    return run
