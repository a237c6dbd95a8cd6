"""The possible outcomes of a condition, against all values that its undecided terms can take."""

import random
from itertools import product
from typing import Any

import pytest

from services.gateway.explain.condition_logic import ConditionTerm, Junction, Negation

SOURCE: Any = None
TERMS = 5


def drawn_condition(random_number: random.Random, values: dict[str, bool], depth: int) -> Any:
    """A random condition over a few terms with these values."""
    kind = random_number.choice(("term", "term", "not", "and", "or")) if depth else "term"
    if kind == "term":
        name = f"t{random_number.randrange(TERMS)}"
        return ConditionTerm(name, None, True, lambda _source: values[name], lambda _source: None)
    if kind == "not":
        return Negation(drawn_condition(random_number, values, depth - 1))
    sides = [drawn_condition(random_number, values, depth - 1) for _ in range(random_number.randint(2, 3))]
    return Junction(tuple(sides), needs_all=kind == "and")


def names_of(condition: Any) -> list[str]:
    if isinstance(condition, ConditionTerm):
        return [condition.text]
    if isinstance(condition, Negation):
        return names_of(condition.operand)
    return [name for side in condition.sides for name in names_of(side)]


@pytest.mark.parametrize("seed", range(300))
def test_outcomes_match_an_enumeration_of_the_undecided_terms(seed: int) -> None:
    """Exact if no term occurs twice; otherwise never narrower than the enumeration."""
    random_number = random.Random(seed)
    values = {f"t{n}": random_number.random() < 0.5 for n in range(TERMS)}
    condition = drawn_condition(random_number, values, 4)
    decided = {name for name in values if random_number.random() < 0.5}
    outcomes = condition.outcomes(SOURCE, lambda term: term.text in decided)
    free = [name for name in values if name not in decided]
    before, possible = dict(values), set()
    for choice in product((False, True), repeat=len(free)):
        values.update(zip(free, choice, strict=True))
        possible.add(condition(SOURCE))
    values.update(before)
    used = names_of(condition)
    assert condition(SOURCE) in outcomes
    assert possible <= outcomes
    if len(used) == len(set(used)):
        assert possible == outcomes
