"""Seeds of swarms: a slice that rotates with the commit in the gate, all and random ones in `make test-all`.

`pytest` prints the slice and the random seed, so that every run can be repeated.
"""

import os
import random
import subprocess
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SLICES = 10
"""Ten commits in a row run about two thirds of a swarm; `make test-all` runs all of it."""
SLICE = "SWARM_SLICE"
"""Environment variable: the slice to run, 0 to 9, in place of the commit's."""
SEED = "TEST_SEED"
"""Environment variable: from it `make test-all` draws what it explores. Unset in the gate."""


@lru_cache(maxsize=1)
def commit() -> str:
    """The hash of the commit that is checked out; zeros without git."""
    command = ["git", "-C", str(ROOT), "rev-parse", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "0" * 40


def slice_number() -> int:
    """The slice of every swarm that this commit runs."""
    return turn(SLICES)


def turn(of: int) -> int:
    """Which of `of` parts this commit runs, 0 to `of` - 1."""
    chosen = os.environ.get(SLICE)
    return (int(commit()[:8], 16) if chosen is None else int(chosen)) % of


def sliced(count: int, first: int = 0, always: Sequence[int] = ()) -> list[int]:
    """This commit's tenth of the seeds `first` to `first + count - 1`, at least one of them; and `always`,
    the seeds that failed once."""
    step = min(SLICES, count)
    chosen = range(first + slice_number() % step, first + count, step)
    return [*chosen, *(seed for seed in always if seed not in chosen)]


def explored(count: int, name: str) -> list[int]:
    """New random seeds for the swarm `name`; none unless `make test-all` explores."""
    seed = os.environ.get(SEED)
    if seed is None:
        return []
    draw = random.Random(f"{name} {seed}")
    return [draw.randrange(1_000, 2**31) for _ in range(count)]


def in_words() -> str:
    """What `pytest` prints about the seeds."""
    seed = os.environ.get(SEED)
    explores = "no random seeds" if seed is None else f"random seeds from {SEED}={seed}"
    return f"swarms: slice {slice_number()} of {SLICES} by commit {commit()[:12]} ({SLICE}), {explores}"


def rotating(cases: Iterable[Any], why: str) -> list[Any]:
    """All cases of a test, for `parametrize`: those outside this commit's tenth are slow, for this reason."""
    slow = pytest.mark.slow(why)
    return [
        case
        if place % SLICES == slice_number()
        else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=slow)
        for place, case in enumerate(cases)
    ]
