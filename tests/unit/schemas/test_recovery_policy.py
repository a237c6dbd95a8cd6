"""Recovery policies as people write them."""

import re
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.recovery_policy import (
    CHOICES,
    TAX_MAX_PPM,
    Choice,
    RecoveryPolicy,
    format_recovery_policy,
    parse_recovery_policy,
)

SOME: list[tuple[Choice, ...]] = [some for n in range(1, 6) for some in permutations(CHOICES, n)]


@given(st.sampled_from(SOME), st.none() | st.integers(0, TAX_MAX_PPM))
def test_written_text_is_read_back_unchanged(choices: tuple[Choice, ...], tax_max_ppm: int | None) -> None:
    policy = RecoveryPolicy(choices=choices, tax_max_ppm=tax_max_ppm if "route" in choices else None)
    assert parse_recovery_policy(format_recovery_policy(policy)) == policy


def test_a_tolerance_is_a_share_of_a_step() -> None:
    policy = parse_recovery_policy("swap, route:2.5%, wait")
    assert policy == RecoveryPolicy(choices=("swap", "route", "wait"), tax_max_ppm=25_000)
    assert format_recovery_policy(policy) == "swap,route:2.5%,wait"
    assert parse_recovery_policy("route:0%").tax_max_ppm == 0


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "'' is not allowed; must be some of spare, swap, route, wait and evict"),
        ("swop,wait", "'swop' is not allowed; must be some of spare"),
        ("swap,,wait", "'' is not allowed"),
        ("route:2", "'route:2' is not allowed"),
        ("route:-2%", "'route:-2%' is not allowed"),
        ("swap:2%", "'swap:2%' is not allowed"),
        ("route:101%", "'route:101%' is not allowed; must be at most 100%; the nearest is route:100%"),
        ("route,route:2%", "route is named twice; leave one of them out"),
        ("x" * 5_000, f"'{'x' * 40}' is not allowed"),
    ],
)
def test_an_invalid_text_is_reported_with_the_allowed_values(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(problem)}"):
        parse_recovery_policy(text)
