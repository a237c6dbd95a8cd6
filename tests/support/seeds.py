"""Seeds of swarms. The gate runs a slice that rotates with the commit; `make test-all` runs all and some
random ones.

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
"""Ten successive commits run about two thirds of a swarm; `make test-all` runs all of it."""
SLICE = "SWARM_SLICE"
"""Environment variable with the slice to run, 0 to 9, instead of the commit's."""
SEED = "TEST_SEED"
"""Environment variable with the seed for the random cases of `make test-all`. Unset in the gate."""


@lru_cache(maxsize=1)
def commit() -> str:
    """Return the hash of the current commit; zeros without git."""
    command = ["git", "-C", str(ROOT), "rev-parse", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "0" * 40


def slice_number() -> int:
    """Return the slice of every swarm that this commit runs."""
    return turn(SLICES)


def turn(of: int) -> int:
    """Return which of `of` parts this commit runs, 0 to `of` - 1."""
    chosen = os.environ.get(SLICE)
    return (int(commit()[:8], 16) if chosen is None else int(chosen)) % of


def sliced(count: int, first: int = 0, always: Sequence[int] = ()) -> list[int]:
    """Return this commit's tenth of the seeds `first` to `first + count - 1`, at least one, plus `always`,
    the seeds that failed before."""
    step = min(SLICES, count)
    chosen = range(first + slice_number() % step, first + count, step)
    return [*chosen, *(seed for seed in always if seed not in chosen)]


def explored(count: int, name: str) -> list[int]:
    """Return new random seeds for the swarm `name`; none unless `make test-all` explores."""
    seed = os.environ.get(SEED)
    if seed is None:
        return []
    draw = random.Random(f"{name} {seed}")
    return [draw.randrange(1_000, 2**31) for _ in range(count)]


def in_words() -> str:
    """Return the line about seeds that `pytest` prints."""
    seed = os.environ.get(SEED)
    explores = "no random seeds" if seed is None else f"random seeds from {SEED}={seed}"
    return f"swarms: slice {slice_number()} of {SLICES} by commit {commit()[:12]} ({SLICE}), {explores}"


def rotating(cases: Iterable[Any], why: str) -> list[Any]:
    """Return all cases of a test for `parametrize`. Those outside this commit's tenth are marked slow, for
    this reason."""
    slow = pytest.mark.slow(why)
    return [
        case
        if place % SLICES == slice_number()
        else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=slow)
        for place, case in enumerate(cases)
    ]
