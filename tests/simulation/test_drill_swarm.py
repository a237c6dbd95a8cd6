"""Drills of the swarm: drawn from seeds, they show no fault of the product."""

from collections import Counter

import pytest

from ops.drills.swarm.combination import lab_drill_of
from ops.drills.swarm.draw import draw_combination
from ops.drills.swarm.judge import judge
from tests.support.seeds import explored, sliced

SEEDS, GATE = 100, 10
EXPLORED = 20
"""Random seeds of `make test-all`."""
COMPLETED_MIN = 80


def problems(seed: int, statuses: Counter[str]) -> list[str]:
    """The problems of a seed, without those of cost, which is a measured time."""
    found = judge(lab_drill_of(draw_combination(seed)))
    statuses[found.status] += 1
    return [f"{problem.kind}: {problem.sentence}" for problem in found.problems]


@pytest.mark.parametrize("seed", [*sliced(GATE), *explored(EXPLORED, "drills")])
def test_a_seed_of_this_commit_shows_no_fault(seed: int) -> None:
    assert problems(seed, Counter()) == []


@pytest.mark.slow("a hundred drills, about a CPU second each")
@pytest.mark.timeout(2700)
def test_no_seed_shows_a_fault() -> None:
    statuses: Counter[str] = Counter()
    assert {seed: found for seed in range(SEEDS) if (found := problems(seed, statuses))} == {}
    # A swarm whose drills fail at their first step proves nothing.
    assert statuses["completed"] >= COMPLETED_MIN
