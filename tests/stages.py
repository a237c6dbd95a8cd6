"""The stages of `make test` and `make test-all`: their commands, their order and their time budgets.

    python -m tests.stages gate          what `make test` runs
    python -m tests.stages all           what `make test-all` runs
    python -m tests.stages unit compare  some stages

The gate runs two stages at a time, each in one process, so that a stage always runs its tests in the same
order. It prints a stage's output when the stage ends. The gate starts no further stage after one has failed;
`make test-all` runs all of them.
"""

import argparse
import os
import random
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

from tests.support import seeds
from tests.support.stage_run import CORES, Meter, Result, Stage, judged, run, write_lines

GOAL_S = 900.0
"""Goal for the gate on two idle cores, from a fresh clone, including the installation."""
TOTAL_S = 1_200.0
"""The gate fails if it takes longer."""
STAGES = (
    Stage(
        "types",
        "mypy, strict, over product, tests and tutorials",
        (("mypy",), ("mypy", "docs/tutorials/python")),
        budget_s=120,
    ),
    Stage(
        "lint",
        "ruff's rules and formatting",
        (("ruff", "check", "."), ("ruff", "format", "--check", ".")),
        budget_s=15,
    ),
    Stage("imports", "layers import one way; pure modules stay pure", (("lint-imports",),), budget_s=15),
    Stage(
        "unit",
        "rules with plain values, without processes; the tree is tidy",
        tests=("tests/unit", "-m", "not integration"),
        dist="load",
        budget_s=800,
    ),
    Stage(
        "live-test",
        "the contracts and one fault, on one real Kafka and Redis that all tests share",
        tests=("tests/contract", "tests/e2e", "-m", "live"),
        budget_s=330,
    ),
    Stage(
        "simulation",
        "the lab: determinism, invariants, this commit's slice of every swarm",
        tests=("tests/simulation",),
        dist="loadgroup",
        budget_s=350,
    ),
    Stage(
        "e2e",
        "the twin as people run it: the tour, a crash, bad input",
        tests=("tests/e2e", "-m", "not live"),
        dist="loadfile",
        budget_s=220,
    ),
    Stage(
        "integration",
        "parts that start processes, drive a whole twin or run labs",
        tests=("tests/unit", "tests/integration", "-m", "integration"),
        dist="loadfile",
        rotates=True,
        budget_s=250,
    ),
    Stage(
        "contract",
        "one test class per port, against every implementation but the live one",
        tests=("tests/contract", "-m", "not live"),
        dist="loadfile",
        budget_s=140,
    ),
    Stage("compare", "logs, schemas and output equal the stored files", tests=("tests/golden",), budget_s=70),
    Stage("secure", "a twin on Kafka and Redis with TLS, logins and few rights", tests=("tests/secure",)),
    Stage("browser", "the API page renders in a real browser", tests=("tests/browser",)),
    Stage(
        "advisories",
        "no advisory is about a locked package; not measured without a database",
        (("python", "-m", "tools.package_audit"),),
    ),
    Stage("ratios", "speed ratios, each measured in one run, reach their goals", tests=("tests/ratios",)),
    Stage(
        "mutations",
        "the gate's tests catch each of the faults that are planted into the code",
        (("python", "-m", "tools.mutations", "verify"),),
    ),
)
"""Ordered so that neither of two cores waits long at the end. The gate has the stages with a budget."""
BY_NAME = {stage.name: stage for stage in STAGES}
GATE = tuple(stage for stage in STAGES if stage.budget_s is not None)


def prepare(*, explore: bool) -> None:
    """Set the environment of all stages. `explore` draws a random seed, unless one is given."""
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    os.environ.pop(
        "PYTHONDONTWRITEBYTECODE", None
    )  # otherwise each of a thousand processes compiles the product
    os.environ["OPENBLAS_NUM_THREADS"] = (
        "1"  # as in every process of a twin; more threads only wait for each other
    )
    if explore:
        seed = os.environ.setdefault(seeds.SEED, str(random.SystemRandom().randrange(2**31)))
        write_lines(f"== random seed {seed}: repeat with {seeds.SEED}={seed}")
    else:
        os.environ.pop(seeds.SEED, None)
    os.environ["PYTHONHASHSEED"] = os.environ.get(seeds.SEED, "0")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.stages")
    parser.add_argument("names", nargs="+", choices=["gate", "all", *BY_NAME], metavar="STAGE")
    parser.add_argument("--slow", action="store_true", help="also run slow tests and random examples")
    parser.add_argument("--since", type=float, help="when `make` started, in seconds of the epoch")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    gate, everything = given.names == ["gate"], "all" in given.names
    stages = GATE if gate else STAGES if everything else tuple(BY_NAME[name] for name in given.names)
    slow = everything or given.slow
    if slow:  # budgets are for the gate's tests
        stages = tuple(replace(stage, budget_s=None) for stage in stages)
    before_s = 0.0 if given.since is None else time.time() - given.since
    prepare(explore=slow)
    meter, results = Meter(), list[Result]()
    for result in run(stages, slow=slow, together=CORES if gate else 1):
        write_lines(str(result))
        results.append(result)
    wall_s, cpu_s, others = meter.read()
    whole = Stage("all stages", "with the installation", budget_s=TOTAL_S if gate else None)
    results.append(judged(whole, before_s + wall_s, cpu_s, others))
    code = summary(stages, results)
    if gate and before_s + wall_s > GOAL_S:
        write_lines(f"== the goal is {GOAL_S:.0f} s, missed by {before_s + wall_s - GOAL_S:.0f} s")
    return code


def summary(stages: tuple[Stage, ...], results: list[Result]) -> int:
    """Print all times again, and all problems; return the exit code."""
    write_lines("== summary", *map(str, results))
    ran = {result.stage.name for result in results}
    problems = [f"{result.stage.name}: {problem}" for result in results for problem in result.problems]
    problems += [f"{stage.name}: did not run" for stage in stages if stage.name not in ran]
    write_lines(*(f"== FAILED {problem}" for problem in problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
