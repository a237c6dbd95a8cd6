"""Keyed draws: the same key gives the same number, others independent ones, distributed as stated."""

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.basics.keyed_random import (
    draw_bits,
    draw_exponential,
    draw_index,
    draw_lognormal,
    draw_normal,
    draw_uniform,
    draw_uniform_array,
)

KEYS = st.tuples(st.integers(0, 2**63 - 1), st.text(max_size=20), st.text(max_size=10))


@given(KEYS, st.integers(0, 2**40))
def test_array_and_scalar_draws_are_the_same_numbers(key: tuple[int, str, str], count: int) -> None:
    counts = np.array([count, count + 1], dtype=np.uint64)
    drawn = draw_uniform_array(*key, counts)
    assert drawn.tolist() == [draw_uniform(*key, count), draw_uniform(*key, count + 1)]


@given(KEYS, st.integers(0, 2**40), st.integers(1, 10**9))
def test_uniform_is_open_and_index_within(key: tuple[int, str, str], count: int, size: int) -> None:
    assert 0.0 < draw_uniform(*key, count) < 1.0
    assert 0 <= draw_index(*key, count, size) < size


def test_each_part_of_the_key_matters() -> None:
    drawn = {
        draw_bits(seed, entity, purpose, count)
        for seed in (0, 1)
        for entity in ("pod-0", "pod-1")
        for purpose in ("arrival", "duration")
        for count in range(100)
    }
    assert len(drawn) == 2 * 2 * 2 * 100


def test_the_first_numbers_never_change() -> None:
    # A change here makes every recorded log impossible to replay.
    assert f"{draw_bits(7, 'pod-0', 'arrival', 0):016x}" == PINNED


PINNED = "bd774a79b07975be"


@pytest.mark.integration
def test_draws_do_not_depend_on_the_hash_seed() -> None:
    code = "from shared.basics.keyed_random import draw_bits; print(draw_bits(7, 'pod-0', 'arrival', 3))"
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "12345")
    }
    assert printed == {f"{draw_bits(7, 'pod-0', 'arrival', 3)}\n"}


@pytest.mark.parametrize(
    ("name", "values", "mean", "deviation"),
    [
        ("uniform", [draw_uniform(1, "a", "u", n) for n in range(20_000)], 0.5, math.sqrt(1 / 12)),
        ("exponential", [draw_exponential(1, "a", "e", n, 3.0) for n in range(20_000)], 3.0, 3.0),
        ("normal", [draw_normal(1, "a", "n", n) for n in range(20_000)], 0.0, 1.0),
        (
            "lognormal",
            [draw_lognormal(1, "a", "l", n, 2.0, 0.5) for n in range(20_000)],
            2.0,
            2.0 * math.sqrt(math.exp(0.25) - 1),
        ),
    ],
)
def test_means_and_deviations(name: str, values: list[float], mean: float, deviation: float) -> None:
    error = 5 * deviation / math.sqrt(len(values))
    assert np.mean(values) == pytest.approx(mean, abs=error), name
    assert np.std(values) == pytest.approx(deviation, rel=0.05), name
