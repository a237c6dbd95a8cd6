"""The planted faults fit the code as it is now. `make mutations` checks that their tests catch them."""

import ast
from functools import cache
from pathlib import Path

import pytest

from tools.mutations import MUTATIONS, ROOT, mutated, places, sources


@cache
def product() -> dict[Path, str]:
    return sources(ROOT)


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_fits_one_place_and_leaves_valid_python(name: str) -> None:
    (path,) = places(product(), name)
    before = product()[path]
    after = mutated(name, before)
    assert after != before
    ast.parse(after)


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_names_a_test_that_exists(name: str) -> None:
    path, *_, test = MUTATIONS[name].caught_by.split("::")
    assert f"def {test.partition('[')[0]}(" in (ROOT / path).read_text()
